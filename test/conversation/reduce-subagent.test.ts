import { describe, expect, test } from 'vitest';
import {
  type ConversationBlock,
  type ConversationEvent,
  createConversationState,
  findBlock,
  findSubagent,
  reduceConversation,
} from '../../src/conversation.ts';
import { completed, plain, removed, result, spawned, stateAfter, T0, T1, text, upsert } from './builders.ts';

const about = { prompt: 'Look around', subagentType: 'explorer', description: 'Explore' };

describe('D38: a subagent block', () => {
  test('has the id subagent:<toolUseId> and shows the call', () => {
    const state = stateAfter(spawned('t1', about));
    expect(plain(state)).toEqual({
      blocks: [
        {
          id: 'subagent:t1',
          type: 'subagent',
          conversationId: 'main',
          timestamp: T0,
          status: 'pending',
          toolUseId: 't1',
          name: 'explorer',
          description: 'Explore',
          input: 'Look around',
        },
      ],
      subagents: [
        {
          toolUseId: 't1',
          parentConversationId: 'main',
          status: 'running',
          name: 'explorer',
          description: 'Explore',
          prompt: 'Look around',
          blocks: [],
        },
      ],
    });
  });

  test('holds the final result, and no other block does', () => {
    const state = stateAfter(
      spawned('t1', about),
      completed('t1', { agentId: 'a1', output: 'Found it', durationMs: 12 }),
    );
    expect(plain(state).blocks).toMatchObject([
      { id: 'subagent:t1', status: 'complete', output: 'Found it', agentId: 'a1', durationMs: 12 },
    ]);
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 't1', agentId: 'a1', status: 'success', output: 'Found it', durationMs: 12 },
    ]);
  });
});

describe('D39: spawn is an idempotent upsert', () => {
  test('a second spawn changes and duplicates nothing', () => {
    const state = stateAfter(spawned('t1', about));
    expect(reduceConversation(state, spawned('t1', { ...about, timestamp: T1 }))).toBe(state);
  });

  test('a spawn fills empty fields and keeps the others', () => {
    const state = stateAfter(
      spawned('t1', { prompt: '', subagentType: 'explorer' }),
      spawned('t1', { prompt: 'Look', subagentType: 'other', description: 'Explore', timestamp: T1 }),
    );
    expect(plain(state).subagents).toMatchObject([{ name: 'explorer', prompt: 'Look', description: 'Explore' }]);
    expect(plain(state).blocks).toMatchObject([
      { name: 'explorer', input: 'Look', description: 'Explore', timestamp: T0, status: 'pending' },
    ]);
  });

  test.for([
    ['completed', 'success', 'complete'],
    ['error', 'error', 'error'],
    ['failed', 'error', 'error'],
  ] as const)('a spawn after %s keeps the final status', ([status, ofThread, ofBlock]) => {
    for (const events of [
      [spawned('t1'), completed('t1', { status }), spawned('t1', about)],
      [completed('t1', { status }), spawned('t1', about)],
      [spawned('t1', about), completed('t1', { status })],
    ]) {
      const state = stateAfter(...events);
      expect(plain(state).subagents).toMatchObject([{ status: ofThread, prompt: 'Look around' }]);
      expect(plain(state).blocks).toMatchObject([{ status: ofBlock, input: 'Look around' }]);
    }
  });

  test('a completion before its spawn creates subagent and block', () => {
    const state = stateAfter(completed('t1', { output: 'done' }));
    expect(plain(state).blocks).toMatchObject([{ id: 'subagent:t1', status: 'complete', output: 'done' }]);
    expect(plain(state).subagents).toMatchObject([{ toolUseId: 't1', status: 'success', blocks: [] }]);
  });

  test('a completion writes only the fields that it has', () => {
    const state = stateAfter(
      spawned('t1', { ...about, agentId: 'a1' }),
      completed('t1', { output: 'first', durationMs: 5 }),
      completed('t1', { status: 'failed' }),
    );
    expect(plain(state).subagents).toMatchObject([
      { agentId: 'a1', status: 'error', output: 'first', durationMs: 5, prompt: 'Look around' },
    ]);
    expect(plain(state).blocks).toMatchObject([
      { agentId: 'a1', status: 'error', output: 'first', durationMs: 5, input: 'Look around' },
    ]);
  });

  test('a completion that is delivered again changes nothing', () => {
    const state = stateAfter(spawned('t1', about), completed('t1', { output: 'x', agentId: 'a1' }));
    expect(reduceConversation(state, completed('t1', { output: 'x', agentId: 'a1' }))).toBe(state);
  });

  test('a subagent accepts blocks after its end and stays ended', () => {
    const state = stateAfter(spawned('t1'), completed('t1'), upsert(text('late', 'x'), 't1'));
    expect(plain(state).subagents).toMatchObject([{ status: 'success', blocks: [{ id: 'late' }] }]);
  });

  test('a subagent block that was upserted keeps its fields', () => {
    const block: ConversationBlock = {
      id: 'subagent:t1',
      type: 'subagent',
      conversationId: 'main',
      timestamp: T0,
      status: 'pending',
      toolUseId: 't1',
      name: 'given',
      message: { id: 'm1' },
    };
    const state = stateAfter(upsert(block), spawned('t1', { ...about, timestamp: T1 }));
    expect(plain(state).blocks).toMatchObject([
      { name: 'given', input: 'Look around', message: { id: 'm1' }, timestamp: T0 },
    ]);
  });

  test('a subagent block that is shown as ended stays so when its spawn arrives late', () => {
    const shown = {
      id: 'subagent:t1',
      type: 'subagent',
      conversationId: 'main',
      timestamp: T0,
      toolUseId: 't1',
    } as const;
    const state = stateAfter(upsert({ ...shown, status: 'complete' }), spawned('t1', about));
    expect(plain(state).blocks).toMatchObject([{ status: 'complete', input: 'Look around' }]);
  });

  test('a block of another type with its id is not changed (D43)', () => {
    const state = stateAfter(upsert(text('subagent:t1', 'mine')), spawned('t1', about));
    expect(plain(state).blocks).toEqual([text('subagent:t1', 'mine')]);
    expect(plain(state).subagents).toMatchObject([{ toolUseId: 't1' }]);
  });
});

describe('D40: subagents form a tree', () => {
  test('the block of a nested subagent is in its parent, its state at the root', () => {
    const state = stateAfter(spawned('A'), spawned('B', { conversationId: 'A' }), upsert(text('x', 'deep'), 'B'));
    expect(plain(state).blocks).toMatchObject([{ id: 'subagent:A' }]);
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 'A', parentConversationId: 'main', blocks: [{ id: 'subagent:B', conversationId: 'A' }] },
      { toolUseId: 'B', parentConversationId: 'A', blocks: [{ id: 'x', conversationId: 'B' }] },
    ]);
  });

  test('a missing parent is created and gets the block', () => {
    const state = stateAfter(spawned('B', { conversationId: 'A' }));
    expect(plain(state).blocks).toEqual([]);
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 'A', parentConversationId: 'main', blocks: [{ id: 'subagent:B' }] },
      { toolUseId: 'B', parentConversationId: 'A' },
    ]);
    const both = reduceConversation(state, spawned('A', about));
    expect(plain(both).blocks).toMatchObject([{ id: 'subagent:A' }]);
    expect(plain(both).subagents).toHaveLength(2);
  });

  test('a subagent that its blocks created moves under its parent when it is spawned', () => {
    const state = stateAfter(upsert(text('x', 'y'), 'B'), spawned('A'), spawned('B', { conversationId: 'A' }));
    expect(findSubagent(state, 'B')).toMatchObject({ parentConversationId: 'A' });
    expect(findBlock(state, 'subagent:B', 'A')).toBeDefined();
    expect(findBlock(state, 'subagent:B')).toBeUndefined();
  });

  test('the spawn corrects the parent of a completion that arrived first and did not name it', () => {
    const { conversationId: _, ...unaddressed } = completed('B', { output: 'done' });
    const state = stateAfter(
      unaddressed as ConversationEvent,
      spawned('A', about),
      spawned('B', { ...about, conversationId: 'A' }),
    );
    expect(plain(state).blocks.map((block) => block.id)).toEqual(['subagent:A']);
    expect(findBlock(state, 'subagent:B', 'A')).toMatchObject({
      status: 'complete',
      output: 'done',
      input: 'Look around',
    });
    expect(findSubagent(state, 'B')).toMatchObject({ parentConversationId: 'A', status: 'success' });
  });

  test('a completion without a parent ends the subagent where it is', () => {
    const state = stateAfter(spawned('A'), spawned('B', { ...about, conversationId: 'A' }), completed('B'));
    expect(findBlock(state, 'subagent:B', 'A')).toMatchObject({ status: 'complete' });
    expect(plain(state).blocks.map((block) => block.id)).toEqual(['subagent:A']);
  });

  test.for<[string, ConversationEvent[], ConversationEvent]>([
    ['of itself', [], spawned('A', { conversationId: 'A' })],
    ['of itself, by another spelling', [], spawned('A', { conversationId: 'agent-A' })],
    ['of its own child', [spawned('B', { conversationId: 'A' })], spawned('A', { conversationId: 'B' })],
    [
      'of its grandchild',
      [spawned('B', { conversationId: 'A' }), spawned('C', { conversationId: 'B' })],
      spawned('A', { conversationId: 'C' }),
    ],
    ['main itself', [], spawned('main')],
    ['main itself, by another spelling', [], spawned('agent-main')],
    ['a completed child of itself', [], completed('A', { conversationId: 'A' })],
  ])('cycles are rejected: child %s', ([, before, event]) => {
    const state = stateAfter(...before);
    expect(reduceConversation(state, event)).toBe(state);
  });

  test('a second spawn under another parent does not move a subagent', () => {
    const state = stateAfter(spawned('A', about), spawned('B', about), spawned('C', { ...about, conversationId: 'A' }));
    expect(reduceConversation(state, spawned('C', { ...about, conversationId: 'B' }))).toBe(state);
    expect(reduceConversation(state, spawned('A', { ...about, conversationId: 'C' }))).toBe(state);
  });
});

test('removing the block of a subagent keeps the subagent, and a spawn shows it again', () => {
  const state = stateAfter(spawned('t1', about), completed('t1', { output: 'done' }), removed('subagent:t1'));
  expect(plain(state).blocks).toEqual([]);
  expect(plain(state).subagents).toHaveLength(1);
  const again = reduceConversation(state, spawned('t1', about));
  expect(plain(again).blocks).toMatchObject([{ id: 'subagent:t1', status: 'complete', output: 'done' }]);
});

test('a thousand subagents are found by both their ids', () => {
  const ids = Array.from({ length: 1000 }, (_, i) => i);
  const state = stateAfter(
    ...ids.map((i) => spawned(`t${i}`, { agentId: `a${i}` })),
    ...ids.map((i) => upsert(text('x', `${i}`), i % 2 ? `t${i}` : `agent-a${i}`)),
    ...ids.map((i) => upsert(result('x', { output: `${i}` }), `a${i}`)),
  );
  expect(state.subagents).toHaveLength(1000);
  for (const i of ids)
    expect(findBlock(state, 'x', `a${i}`)).toMatchObject({ content: `${i}`, conversationId: `t${i}` });
  expect(createConversationState().subagents).toHaveLength(0);
});
