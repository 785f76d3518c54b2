import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareDraftPositions } from '../../src/core/log/draft-position.ts';
import { MAX_PROGRESS_LENGTH } from '../../src/core/log/progress.ts';
import { DraftList } from '../../src/stores/draft-list.ts';
import type { DraftRow } from '../../src/stores/shell/backend.ts';

const START = { fence: -1, n: 0 };
const LIMITED = ['call', 'other call'];

const chunk: fc.Arbitrary<DraftRow> = fc
  .record({
    fence: fc.integer({ min: 1, max: 3 }),
    n: fc.integer({ min: 1, max: 12 }),
    draftId: fc.constantFrom('text', ...LIMITED),
    length: fc.constantFrom(1, 10, MAX_PROGRESS_LENGTH / 3, MAX_PROGRESS_LENGTH / 2, MAX_PROGRESS_LENGTH + 1),
  })
  .map((row) => ({ ...row, data: '{}' }));

/** The rules, as a list: each position once, in order; limited drafts keep their newest chunks, and at least one. */
function added(
  list: readonly DraftRow[],
  chunks: readonly DraftRow[],
  limited: readonly string[],
): readonly DraftRow[] {
  let all = [...list];
  for (const each of chunks) {
    if (!all.some((known) => compareDraftPositions(known, each) === 0)) all.push(each);
  }
  all.sort(compareDraftPositions);
  for (const draftId of limited) {
    const own = all.filter((each) => each.draftId === draftId);
    while (own.length > 1 && own.reduce((sum, { length }) => sum + length, 0) > MAX_PROGRESS_LENGTH) {
      const oldest = own.shift();
      all = all.filter((each) => each !== oldest);
    }
  }
  return all;
}

type Step = { readonly add: readonly DraftRow[] } | { readonly end: readonly string[] };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.array(chunk, { maxLength: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ end: fc.subarray(['text', 'call', 'other call']) }) },
);

test('D62, D74: the list of drafts stores and returns the same as the rules of the stores', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.array(chunk, { maxLength: 3 }), (steps, places) => {
      const list = new DraftList();
      let expected: readonly DraftRow[] = [];
      for (const each of steps) {
        if ('add' in each) {
          const draftIds = LIMITED.filter((id) => each.add.some(({ draftId }) => draftId === id));
          list.add(each.add, { draftIds, maxLength: MAX_PROGRESS_LENGTH });
          expected = added(expected, each.add, draftIds);
        } else {
          list.end(each.end);
          expected = expected.filter(({ draftId }) => !each.end.includes(draftId));
        }
        expect(list.read({ after: START, draftId: undefined, limit: undefined })).toEqual(expected);
        for (const { fence, n, draftId: own } of places) {
          const after = { fence, n };
          for (const draftId of [undefined, own]) {
            for (const limit of [undefined, 1, 2]) {
              const left = expected.filter((each) => compareDraftPositions(each, after) > 0);
              const found = left.filter((each) => draftId === undefined || each.draftId === draftId);
              expect(list.read({ after, draftId, limit })).toEqual(found.slice(0, limit));
            }
          }
        }
      }
    }),
  );
});
