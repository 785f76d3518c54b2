import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_PROGRESS_LENGTH } from '../../src/core/log/progress.ts';
import type { DraftChunk } from '../../src/ports/store.ts';
import { DraftList } from '../../src/stores/draft-list.ts';
import { addChunks, selectChunks } from '../../src/stores/draft-rules.ts';

const chunk: fc.Arbitrary<DraftChunk> = fc
  .record({
    fence: fc.integer({ min: 1, max: 3 }),
    n: fc.integer({ min: 1, max: 12 }),
    draftId: fc.constantFrom('text', 'call', 'other call'),
    length: fc.constantFrom(1, 10, MAX_PROGRESS_LENGTH / 3, MAX_PROGRESS_LENGTH / 2, MAX_PROGRESS_LENGTH + 1),
  })
  .map(({ length, draftId, ...position }) => ({
    ...{ ...position, draftId, evaluationId: 'ev', turn: 1, attempt: 1, blockId: 'b', delta: 'x'.repeat(length) },
    ...(draftId !== 'text' && { kind: 'progress' as const }),
  }));

type Step = { readonly add: readonly DraftChunk[] } | { readonly end: readonly string[] };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: fc.array(chunk, { maxLength: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ end: fc.subarray(['text', 'call', 'other call']) }) },
);

test('D62, D74: the list of drafts stores and returns the same as the rules of the stores', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.array(chunk, { maxLength: 3 }), (steps, places) => {
      const list = new DraftList();
      let expected: readonly DraftChunk[] = [];
      for (const each of steps) {
        if ('add' in each) {
          list.add(each.add);
          expected = addChunks(expected, each.add);
        } else {
          list.end(each.end);
          expected = expected.filter(({ draftId }) => !each.end.includes(draftId));
        }
        expect(list.read({})).toEqual(expected);
        for (const { fence, n, draftId } of places) {
          const after = { fence, n };
          for (const options of [{ after }, { after, limit: 2 }, { draftId }, { after, draftId, limit: 1 }]) {
            expect(list.read(options)).toEqual(selectChunks(expected, options));
          }
        }
      }
    }),
  );
});
