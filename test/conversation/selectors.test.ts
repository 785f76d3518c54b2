import { describe, expect, test } from 'vitest';
import {
  blocksOf,
  findBlock,
  findSubagent,
  pendingBlocks,
  reviveConversationState,
  threadTree,
  usageTotals,
} from '../../src/conversation.ts';
import { call, completed, spawned, stateAfter, text, upsert } from './builders.ts';

const state = stateAfter(
  upsert(text('a', 'hi')),
  spawned('A', { agentId: 'one', prompt: 'go' }),
  spawned('B', { conversationId: 'A', prompt: 'go' }),
  spawned('C', { prompt: 'go' }),
  completed('C'),
  upsert(call('x'), 'B'),
  upsert(text('y', '', { status: 'pending' }), 'A'),
);

test('subagents are found by either id, blocks by conversation and id', () => {
  expect(findSubagent(state, 'agent-one')).toBe(findSubagent(state, 'A'));
  expect(findSubagent(state, 'main')).toBeUndefined();
  expect(findSubagent(state, 'nobody')).toBeUndefined();
  expect(blocksOf(state)).toBe(state.blocks);
  expect(blocksOf(state, 'one')).toBe(state.subagents[0]?.blocks);
  expect(blocksOf(state, 'nobody')).toBeUndefined();
  expect(findBlock(state, 'x', 'B')).toMatchObject({ type: 'tool_use' });
  expect(findBlock(state, 'x', 'nobody')).toBeUndefined();
});

test('pending blocks are found in all conversations or in one', () => {
  expect(pendingBlocks(state).map((block) => block.id)).toEqual(['subagent:A', 'subagent:B', 'y', 'x']);
  expect(pendingBlocks(state, 'main').map((block) => block.id)).toEqual(['subagent:A']);
  expect(pendingBlocks(state, 'agent-one').map((block) => block.id)).toEqual(['subagent:B', 'y']);
  expect(pendingBlocks(state, 'nobody')).toEqual([]);
});

describe('threadTree', () => {
  const names = (node: ReturnType<typeof threadTree>): unknown => [node.conversationId, ...node.children.map(names)];

  test('follows the parents (D40)', () => {
    expect(names(threadTree(state))).toEqual(['main', ['A', ['B']], ['C']]);
    expect(threadTree(state).children[0]?.subagent).toBe(state.subagents[0]);
  });

  test('loses no subagent of a state that was made by hand, not even in a loop', () => {
    const thread = (toolUseId: string, parentConversationId: string): object => ({
      ...{ toolUseId, parentConversationId, status: 'running', blocks: [] },
    });
    const loop = reviveConversationState({
      blocks: [],
      subagents: [
        thread('A', 'B'),
        thread('B', 'C'),
        thread('C', 'A'),
        thread('D', 'D'),
        thread('E', 'gone'),
        thread('F', 'B'),
      ],
    });
    const found = JSON.stringify(names(threadTree(loop)));
    for (const id of ['A', 'B', 'C', 'D', 'E', 'F']) expect(found.split(`"${id}"`)).toHaveLength(2);
  });
});

describe('usageTotals', () => {
  const usage = (outputTokens: number, costUsd?: number) => ({
    ...{ inputTokens: 100, outputTokens },
    ...(costUsd !== undefined && { costUsd }),
  });

  test('counts each message id once, over all conversations, by its fullest report', () => {
    const spent = stateAfter(
      upsert(text('a', '', { message: { id: 'm1', model: 'big', usage: usage(1) } })),
      upsert(text('b', '', { message: { id: 'm1', model: 'big', usage: usage(30, 0.5) } })),
      upsert(text('c', '', { message: { id: 'm1', model: 'big', usage: usage(2) } })),
      upsert(text('d', '', { message: { id: 'm2', model: 'big', usage: usage(5, 0.25) } })),
      upsert(text('e', '', { message: { id: 'm3', model: 'small', usage: usage(7) } }), 'task'),
      upsert(text('f', '', { message: { id: 'm4' } })),
      upsert(text('g', '')),
    );
    const totals = usageTotals(spent);
    expect(totals).toMatchObject({ messages: 3, usage: { inputTokens: 300, outputTokens: 42, costUsd: 0.75 } });
    expect(Object.fromEntries(totals.byModel)).toEqual({
      big: { inputTokens: 200, outputTokens: 35, costUsd: 0.75 },
      small: { inputTokens: 100, outputTokens: 7 },
    });
  });

  test('of an empty state is zero', () => {
    expect(usageTotals(stateAfter())).toEqual({
      usage: { inputTokens: 0, outputTokens: 0 },
      messages: 0,
      byModel: new Map(),
    });
  });
});

test.for<[string, unknown]>([
  ['nothing', undefined],
  ['text', 'state'],
  ['other fields', { blocks: 1, subagents: { length: 2 } }],
  [
    'things that are no blocks',
    { blocks: [null, 1, {}, [], text('', 'x')], subagents: [null, {}, { toolUseId: '' }, { toolUseId: 'main' }] },
  ],
])('a state revived from %s is empty', ([, value]) => {
  expect(JSON.stringify(reviveConversationState(value))).toBe('{"blocks":[],"subagents":[]}');
});
