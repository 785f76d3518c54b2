import { describe, expect, test } from 'vitest';
import {
  type ConversationEvent,
  createConversationState,
  findBlock,
  findSubagent,
  reduceConversation,
  reduceConversationEvents,
  threadTree,
} from '../../src/conversation.ts';
import { completed, delta, plain, removed, spawned, stateAfter, text, upsert } from './builders.ts';

const about = { prompt: 'Look around', subagentType: 'explorer', description: 'Explore' };

describe('D41: tool use id and agent id are aliases', () => {
  test.for(['t1', 'a1', 'agent-a1'])('blocks for %s reach the subagent', (conversationId) => {
    const state = stateAfter(spawned('t1', { ...about, agentId: 'agent-a1' }), upsert(text('x', 'y'), conversationId));
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 't1', agentId: 'a1', blocks: [{ id: 'x', conversationId: 't1' }] },
    ]);
  });

  test('a tool use id is preferred to an agent id', () => {
    const state = stateAfter(
      spawned('t1', { ...about, agentId: 'same' }),
      spawned('same', about),
      upsert(text('x', 'y'), 'same'),
    );
    // The spawn of "same" makes a subagent of its own, although an agent has that id.
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 't1', agentId: 'same', blocks: [] },
      { toolUseId: 'same', blocks: [{ id: 'x' }] },
    ]);
    const collision = stateAfter(
      spawned('same', about),
      spawned('t1', { ...about, agentId: 'same' }),
      upsert(text('x', 'y'), 'same'),
    );
    expect(plain(collision).subagents).toMatchObject([
      { toolUseId: 'same', blocks: [{ id: 'x' }] },
      { toolUseId: 't1', agentId: 'same', blocks: [] },
    ]);
  });

  test('a spawn whose tool use id is a known agent id makes a subagent of its own, once', () => {
    const before = stateAfter(spawned('t1', { ...about, agentId: 'a1' }), upsert(text('x', 'y'), 'a1'));
    const spawn = spawned('a1', { prompt: 'Look elsewhere', conversationId: 't1' });
    const state = reduceConversation(before, spawn);
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 't1', agentId: 'a1', prompt: about.prompt, blocks: [{ id: 'x' }, { id: 'subagent:a1' }] },
      { toolUseId: 'a1', parentConversationId: 't1', prompt: 'Look elsewhere', status: 'running', blocks: [] },
    ]);
    expect(reduceConversation(state, spawn)).toBe(state);
    // A completion names the subagent as a spawn does: by its tool use id first.
    const ended = reduceConversation(state, completed('a1', { conversationId: 't1' }));
    expect(plain(ended).subagents.map(({ status }) => status)).toEqual(['running', 'success']);
  });

  test('a spawn whose tool use id is its own agent id is of the agent that is known, not another one', () => {
    const before = stateAfter(spawned('t1', { ...about, agentId: 'a1' }), upsert(text('x', 'y'), 'a1'));
    expect(plain(reduceConversation(before, spawned('a1', { agentId: 'a1' }))).subagents).toHaveLength(1);
  });

  test('subagents that one batch links are the same as those that are linked one by one', () => {
    const ids = Array.from({ length: 40 }, (_, i) => String(i));
    const events = [
      ...ids.map((id) => spawned(`t${id}`, about)),
      ...ids.map((id) => upsert(text(`x${id}`, 'y'), `a${id}`)),
      ...ids.map((id) => spawned(`c${id}`, { ...about, conversationId: `a${id}` })),
      ...ids.map((id) => completed(`t${id}`, { agentId: `a${id}` })),
    ];
    const state = reduceConversationEvents(createConversationState(), events);
    expect(plain(state)).toEqual(plain(stateAfter(...events)));
    expect(state.subagents.map(({ toolUseId }) => toolUseId)).toEqual([
      ...ids.map((id) => `t${id}`),
      ...ids.map((id) => `c${id}`),
    ]);
    expect(state.subagents.at(-1)).toMatchObject({ parentConversationId: 't39' });
  });

  test('blocks under the agent id are kept when the spawn links it', () => {
    const state = stateAfter(upsert(text('x', 'y'), 'agent-a1'), spawned('t1', { ...about, agentId: 'a1' }));
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 't1', agentId: 'a1', prompt: 'Look around', blocks: [{ id: 'x', conversationId: 't1' }] },
    ]);
    expect(plain(state).blocks).toMatchObject([{ id: 'subagent:t1', agentId: 'a1' }]);
  });

  test('the provisional subagent is merged when the completion links it', () => {
    const state = stateAfter(
      spawned('t1', about),
      upsert(text('x', '1'), 't1'),
      upsert(text('y', '2'), 'agent-a1'),
      spawned('deep', { ...about, conversationId: 'a1' }),
      completed('t1', { agentId: 'a1', output: 'done' }),
    );
    expect(plain(state).subagents).toMatchObject([
      {
        toolUseId: 't1',
        agentId: 'a1',
        status: 'success',
        blocks: [{ id: 'x' }, { id: 'y', conversationId: 't1' }, { id: 'subagent:deep', conversationId: 't1' }],
      },
      { toolUseId: 'deep', parentConversationId: 't1' },
    ]);
    expect(plain(state).blocks.map((block) => block.id)).toEqual(['subagent:t1']);
    const more = reduceConversation(state, upsert(text('z', '3'), 'a1'));
    expect(findBlock(more, 'z', 't1')).toBeDefined();
  });

  test('of two blocks with the same id in both subagents, the finished one is kept', () => {
    const state = stateAfter(
      spawned('t1', about),
      upsert(text('x', 'part', { status: 'pending' }), 't1'),
      upsert(text('x', 'whole'), 'a1'),
      completed('t1', { agentId: 'a1' }),
    );
    expect(plain(state).subagents).toMatchObject([{ blocks: [{ id: 'x', content: 'whole', status: 'complete' }] }]);
  });

  test('an agent that ended before its call was known is one subagent with one block, both ended', () => {
    const state = stateAfter(completed('a1', { output: 'done' }), spawned('t1', { ...about, agentId: 'a1' }));
    expect(plain(state).blocks).toMatchObject([{ id: 'subagent:t1', status: 'complete', output: 'done' }]);
    expect(plain(state).blocks).toHaveLength(1);
    expect(plain(state).subagents).toMatchObject([
      { toolUseId: 't1', agentId: 'a1', status: 'success', output: 'done' },
    ]);
    const merged = stateAfter(
      spawned('t1', about),
      completed('a1', { output: 'done' }),
      spawned('t1', { agentId: 'a1' }),
    );
    expect(plain(merged).blocks).toMatchObject([{ id: 'subagent:t1', status: 'complete', output: 'done' }]);
    expect(plain(merged).subagents).toHaveLength(1);
  });

  test('blocks of an agent with several runs go to the newest open run', () => {
    const first = stateAfter(
      spawned('t1', { ...about, agentId: 'a1' }),
      completed('t1'),
      spawned('t2', { ...about, agentId: 'a1' }),
    );
    const second = reduceConversation(first, upsert(text('x', 'again'), 'a1'));
    expect(findBlock(second, 'x', 't2')).toBeDefined();
    const ended = reduceConversation(second, completed('t2'));
    const late = reduceConversation(ended, upsert(text('y', 'late'), 'agent-a1'));
    expect(findBlock(late, 'y', 't2')).toBeDefined();
    const overtaken = stateAfter(spawned('t1', { agentId: 'a1' }), spawned('t2', { agentId: 'a1' }), completed('t2'));
    expect(findBlock(reduceConversation(overtaken, upsert(text('z', ''), 'a1')), 'z', 't1')).toBeDefined();
  });

  test('a completion that is delivered twice under the agent’s id ends one run, not two (I7)', () => {
    const ending = completed('a1', { output: 'done' });
    for (const runs of [
      [spawned('t1', { ...about, agentId: 'a1' }), spawned('t2', { ...about, agentId: 'a1' })],
      [spawned('t1', { ...about, agentId: 'a1' }), completed('t2', { agentId: 'a1', output: 'other' })],
    ]) {
      const once = stateAfter(...runs, ending);
      expect(reduceConversation(once, ending)).toBe(once);
    }
    const next = stateAfter(spawned('t1', { agentId: 'a1' }), ending, spawned('t2', { agentId: 'a1' }), ending);
    expect(plain(next).subagents.map((subagent) => subagent.status)).toEqual(['success', 'success']);
  });

  test('a completion may name the agent instead of the call', () => {
    const state = stateAfter(spawned('t1', { ...about, agentId: 'a1' }), completed('agent-a1', { output: 'done' }));
    expect(plain(state).subagents).toMatchObject([{ toolUseId: 't1', status: 'success', output: 'done' }]);
    expect(plain(state).blocks).toHaveLength(1);
  });

  test.for<[string, ConversationEvent[]]>([
    ['its parent', [spawned('t1', { ...about, conversationId: 'a1' }), completed('t1', { agentId: 'a1' })]],
    ['its parent, at once', [spawned('t1', { ...about, conversationId: 'a1', agentId: 'a1' })]],
    ['its child', [spawned('t1', about), completed('a1', { conversationId: 't1' }), spawned('t1', { agentId: 'a1' })]],
    ['main', [spawned('t1', { ...about, agentId: 'main' })]],
  ])('an agent id that is %s links nothing and creates no loop', ([, events]) => {
    const state = stateAfter(...events);
    expect(findSubagent(state, 't1')?.agentId).toBeUndefined();
    const depth = (node: ReturnType<typeof threadTree>): number => 1 + Math.max(0, ...node.children.map(depth));
    expect(depth(threadTree(state))).toBeLessThanOrEqual(3);
  });

  test('deltas and removals find the subagent by either id', () => {
    const state = stateAfter(
      spawned('t1', { ...about, agentId: 'a1' }),
      upsert(text('x', '', { status: 'pending' }), 't1'),
      delta('x', 'hi', 0, 'agent-a1'),
    );
    expect(findBlock(state, 'x', 'a1')).toMatchObject({ content: 'hi' });
    expect(findBlock(reduceConversation(state, removed('x', 'a1')), 'x', 't1')).toBeUndefined();
  });
});
