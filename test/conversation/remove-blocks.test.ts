/** Removed blocks leave the list as it would be without them, at a cost that does not grow with its length. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConversationBlock,
  type ConversationEvent,
  createConversationState,
  pendingBlocks,
  reduceConversation,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import { removed, stateAfter, text, upsert } from './builders.ts';

describe('removing blocks', () => {
  const step = fc.record({
    remove: fc.boolean(),
    id: fc.nat(60),
    status: fc.constantFrom('pending', 'complete') satisfies fc.Arbitrary<ConversationBlock['status']>,
  });

  test('every list that an update returned, newer and older, has the blocks of a plain array', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        let model: ConversationBlock[] = [];
        let state = createConversationState();
        const versions: [typeof state, typeof model][] = [];
        for (const [index, { remove, id, status }] of steps.entries()) {
          const block = text(`${id}`, `${index}`, { status });
          const known = model.findIndex((one) => one.id === block.id);
          if (remove) model = model.filter((one) => one.id !== block.id);
          else if (known < 0) model = [...model, block];
          else if (model[known]?.status === 'pending' || status !== 'pending') model = model.with(known, block);
          state = reduceConversation(state, remove ? removed(block.id) : upsert(block));
          versions.push([state, model]);
        }
        for (const [{ blocks }, expected] of versions) {
          expect(blocks.length).toBe(expected.length);
          expect([blocks.at(-1), blocks.at(0), blocks.at(3)]).toEqual([expected.at(-1), expected[0], expected[3]]);
          expect([...blocks]).toEqual(expected);
          expect(blocks.map((block) => block.id)).toEqual(expected.map((block) => block.id));
        }
        expect(pendingBlocks(state)).toEqual(model.filter((block) => block.status === 'pending'));
      }),
      { numRuns: 60 },
    );
  });

  /** How often the ids of the blocks are read while a part of them is removed: the work of finding and copying them. */
  function readsPerBlock(count: number, isRemoved: (index: number) => boolean, oneByOne: boolean): number {
    let reads = 0;
    const events = Array.from({ length: count }, (_, index): ConversationEvent => {
      const { id, ...block } = text(`b${index}`, 'x');
      const get = (): string => {
        reads++;
        return id;
      };
      return upsert(Object.defineProperty(block, 'id', { enumerable: true, get }) as never, 'main');
    });
    const removals = events.flatMap((_, index) => (isRemoved(index) ? [removed(`b${index}`)] : []));
    const state = reduceConversationEvents(createConversationState(), events);
    reads = 0;
    const end = oneByOne ? removals.reduce(reduceConversation, state) : reduceConversationEvents(state, removals);
    expect(end.blocks.length).toBe(count - removals.length);
    return reads / count;
  }

  test.for([
    ['every second block', (index: number) => index % 2 === 0],
    ['a long tail, the first of it first', (index: number) => index > 100],
    ['200 branches of ten blocks', (index: number) => index % 80 < 10],
    ['all', () => true],
  ] as const)('the work per block is the same for 1,000 and 16,000: %s', ([, isRemoved]) => {
    for (const oneByOne of [true, false]) {
      const few = readsPerBlock(1000, isRemoved, oneByOne);
      expect(few).toBeGreaterThan(0); // the reads are counted
      const many = readsPerBlock(16_000, isRemoved, oneByOne);
      expect(many).toBeLessThanOrEqual(Math.max(few, 1) * 1.5);
    }
  });

  test('a block that is removed and added again is at the end', () => {
    const events = ['a', 'b', 'c'].map((id) => upsert(text(id)));
    const { blocks } = stateAfter(...events, removed('a'), upsert(text('a', 'again')), removed('c'), removed('none'));
    expect(blocks.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(blocks.at(-1)).toMatchObject({ content: 'again' });
  });
});
