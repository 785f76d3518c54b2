import { describe, expect, test } from 'vitest';
import {
  type ConversationBlock,
  createConversationState,
  reduceConversation,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import { removed, stateAfter, text, upsert } from './builders.ts';

const state = stateAfter(...['a', 'b', 'c'].map((id) => upsert(text(id, id.toUpperCase()))));

describe('a block list is array-like', () => {
  test('length, at, map, filter, find, iteration and JSON', () => {
    const { blocks } = state;
    expect(blocks.length).toBe(3);
    expect([blocks.at(0)?.id, blocks.at(-1)?.id, blocks.at(3), blocks.at(-4)]).toEqual([
      'a',
      'c',
      undefined,
      undefined,
    ]);
    expect(blocks.map((block, i) => `${i}${block.id}`)).toEqual(['0a', '1b', '2c']);
    expect(blocks.filter((block) => block.id > 'a').map((block) => block.id)).toEqual(['b', 'c']);
    expect(blocks.find((block) => block.id === 'b')).toBe(blocks.at(1));
    expect(blocks.find(() => false)).toBeUndefined();
    expect([...blocks].map((block) => block.id)).toEqual(['a', 'b', 'c']);
    expect(blocks.toJSON()).toEqual([...blocks]);
  });

  test('D92: slice, some, every, forEach, findLast and toArray do what those of an array do', () => {
    const holed = Array.from({ length: 100 }, (_, i) => i).reduce(
      (before, i) => (i % 3 === 0 ? reduceConversation(before, removed(`b${i}`)) : before),
      reduceConversationEvents(
        createConversationState(),
        Array.from({ length: 100 }, (_, i) => upsert(text(`b${i}`))),
      ),
    );
    for (const { blocks } of [state, holed, createConversationState()]) {
      const array = [...blocks];
      const ids = (found: readonly ConversationBlock[]): readonly string[] => found.map(({ id }) => id);
      expect(ids(blocks.toArray())).toEqual(ids(array));
      for (const [start, end] of [[], [1], [-2], [0, -1], [1, 2], [5, 3], [-1000, 1000]] as const) {
        expect(ids(blocks.slice(start, end))).toEqual(ids(array.slice(start, end)));
      }
      const seen: string[] = [];
      blocks.forEach(({ id }, index) => void seen.push(`${index} ${id}`));
      expect(seen).toEqual(array.map(({ id }, index) => `${index} ${id}`));
      for (const wanted of ['b', 'c', 'b50', 'none']) {
        const isWanted = ({ id }: ConversationBlock): boolean => id === wanted;
        expect(blocks.some(isWanted)).toBe(array.some(isWanted));
        expect(blocks.every(isWanted)).toBe(array.every(isWanted));
        expect(blocks.findLast((block) => !isWanted(block))).toBe(array.findLast((block) => !isWanted(block)));
      }
      expect(array.map((_, index) => blocks.at(index))).toEqual(array);
    }
  });

  test.for(['toJSON', 'toArray', 'slice'] as const)('changing the array of %s does not change the list', (method) => {
    state.blocks[method]().length = 0;
    expect(state.blocks.length).toBe(3);
  });
});

test('the JSON of a state has blocks and subagents only', () => {
  expect(Object.keys(state)).toEqual(['blocks', 'subagents']);
  expect(Object.keys(JSON.parse(JSON.stringify(state)))).toEqual(['blocks', 'subagents']);
});

test('a state that is the start of many conversations stays empty, and they share nothing', () => {
  const start = createConversationState();
  const sessions = Array.from({ length: 50 }, (_, i) => reduceConversation(start, upsert(text('same', `${i}`))));
  expect(start.blocks.length).toBe(0);
  expect(sessions.map((session) => session.blocks.at(0))).toEqual(sessions.map((_, i) => text('same', `${i}`)));
});

test('a conversation that continues in many ways finds the blocks of each, however many there are', () => {
  const common = reduceConversationEvents(
    createConversationState(),
    Array.from({ length: 40 }, (_, i) => upsert(text(`common ${i}`, ''))),
  );
  const branches = Array.from({ length: 300 }, (_, i) =>
    reduceConversationEvents(common, [
      upsert(text(`own ${i}`, '1')),
      upsert(text('shared', `${i}`)),
      upsert(text(`own ${i}`, '2')),
    ]),
  );
  for (const [i, branch] of branches.entries()) {
    expect(branch.blocks.length).toBe(42);
    expect(branch.blocks.at(40)).toMatchObject({ id: `own ${i}`, content: '2' });
    expect(branch.blocks.at(41)).toMatchObject({ id: 'shared', content: `${i}` });
  }
});
