import { describe, expect, test } from 'vitest';
import {
  type ConversationEvent,
  createConversationState,
  findBlock,
  reduceConversation,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import {
  call,
  completed,
  delta,
  idle,
  plain,
  removed,
  result,
  spawned,
  stateAfter,
  T0,
  T1,
  text,
  upsert,
} from './builders.ts';

const pending = { status: 'pending' } as const;

describe('D45: session:idle has a reason', () => {
  test.for([
    [undefined, 'complete'],
    ['completed', 'complete'],
    ['interrupted', 'error'],
    ['failed', 'error'],
  ] as const)('%s: pending blocks end as %s', ([reason, status]) => {
    const state = stateAfter(upsert(text('a', 'x', pending)), upsert(call('b')), idle(reason ? { reason } : {}));
    expect(plain(state).blocks.map((block) => block.status)).toEqual([status, status]);
  });

  test('complete and failed blocks do not change', () => {
    const state = stateAfter(upsert(text('a', 'x')), upsert(text('b', 'x', { status: 'error' })));
    expect(reduceConversation(state, idle({ reason: 'interrupted' }))).toBe(state);
    expect(reduceConversation(state, idle())).toBe(state);
  });

  test('it ends only its own conversation', () => {
    const state = stateAfter(
      upsert(text('a', 'x', pending)),
      upsert(text('b', 'y', pending), 'task'),
      idle({ conversationId: 'task' }),
    );
    expect(findBlock(state, 'a')).toMatchObject({ status: 'pending' });
    expect(findBlock(state, 'b', 'task')).toMatchObject({ status: 'complete' });
  });

  test('an unknown conversation changes nothing', () => {
    const state = stateAfter(upsert(text('a', 'x', pending)));
    expect(reduceConversation(state, idle({ conversationId: 'nowhere' }))).toBe(state);
  });

  test('a subagent block whose agent is running stays pending', () => {
    const state = stateAfter(spawned('task', { prompt: 'p' }), idle({ reason: 'interrupted' }));
    expect(plain(state).blocks).toMatchObject([{ status: 'pending' }]);
    const ended = reduceConversation(state, completed('task'));
    expect(plain(ended).blocks).toMatchObject([{ status: 'complete' }]);
  });

  test('a pending subagent block without an agent ends', () => {
    const block = {
      id: 'subagent:x',
      type: 'subagent',
      conversationId: 'main',
      timestamp: T0,
      toolUseId: 'x',
      ...pending,
    } as const;
    expect(plain(stateAfter(upsert(block), idle())).blocks).toMatchObject([{ status: 'complete' }]);
  });

  test('pending blocks that are added after an idle end at the next one', () => {
    const state = stateAfter(
      upsert(text('a', 'x', pending)),
      idle(),
      upsert(text('b', 'y', pending)),
      idle({ reason: 'failed' }),
    );
    expect(plain(state).blocks.map((block) => block.status)).toEqual(['complete', 'error']);
  });

  test('of hundreds of blocks that were opened and closed in any order, idle ends exactly the open ones', () => {
    const events: ConversationEvent[] = [];
    for (let i = 0; i < 500; i++) events.push(upsert(text(`b${i}`, '', pending)));
    for (let i = 0; i < 500; i++) if (i % 7 !== 3) events.push(upsert(text(`b${(i * 263) % 500}`, 'done')));
    const before = reduceConversationEvents(createConversationState(), events);
    const open = before.blocks.filter((block) => block.status === 'pending').length;
    const after = reduceConversation(before, idle({ reason: 'interrupted' }));
    expect(open).toBeGreaterThan(50);
    expect(after.blocks.filter((block) => block.status === 'error')).toHaveLength(open);
    expect(after.blocks.filter((block) => block.status === 'pending')).toHaveLength(0);
  });
});

describe('a tool result closes its tool use', () => {
  test.for([
    [false, 'complete'],
    [true, 'error'],
  ] as const)('isError %s: %s', ([isError, status]) => {
    expect(findBlock(stateAfter(upsert(call('c')), upsert(result('c', { isError }))), 'c')).toMatchObject({ status });
    expect(findBlock(stateAfter(upsert(result('c', { isError })), upsert(call('c'))), 'c')).toMatchObject({ status });
  });

  test('the call is found by tool use id when its block has another id; of several, the last pending one', () => {
    const state = stateAfter(
      upsert(call('one', { toolUseId: 'x' })),
      upsert(result('x')),
      upsert(call('two', { toolUseId: 'x' })),
      upsert(result('x', { id: 'second', isError: true })),
    );
    expect([findBlock(state, 'one'), findBlock(state, 'two')]).toMatchObject([
      { status: 'complete' },
      { status: 'error' },
    ]);
  });

  test('a pending call is closed rather than a newer one that has ended', () => {
    const calls = [
      upsert(call('one', { toolUseId: 'x' })),
      upsert(call('two', { toolUseId: 'x', status: 'complete' })),
    ];
    for (const events of [calls, calls.toReversed()]) {
      const state = stateAfter(...events, upsert(result('x', { id: 'r', isError: true })));
      expect([findBlock(state, 'one'), findBlock(state, 'two')]).toMatchObject([
        { status: 'error' },
        { status: 'complete' },
      ]);
    }
    const ended = [call('one', { toolUseId: 'x', status: 'complete' }), call('x', { status: 'complete' })].map(
      (block) => upsert(block),
    );
    for (const [events, last] of [
      [ended, 'x'],
      [ended.toReversed(), 'one'],
    ] as const) {
      const state = stateAfter(...events, upsert(result('x', { id: 'r', isError: true })));
      expect(findBlock(state, last)).toMatchObject({ status: 'error' });
    }
  });

  test('a result that is still pending closes nothing', () => {
    const state = stateAfter(upsert(call('c')), upsert(result('c', pending)));
    expect(findBlock(state, 'c')).toMatchObject({ status: 'pending' });
  });

  test('a call that ended as an error is complete when its result arrives', () => {
    const state = stateAfter(upsert(call('c')), idle({ reason: 'interrupted' }), upsert(result('c')));
    expect(findBlock(state, 'c')).toMatchObject({ status: 'complete' });
  });

  test('it closes a call in its own conversation only', () => {
    const state = stateAfter(upsert(call('c')), upsert(result('c'), 'task'));
    expect(findBlock(state, 'c')).toMatchObject({ status: 'pending' });
  });

  test('it closes only calls', () => {
    const state = stateAfter(upsert(text('c', '', pending)), upsert(result('c')));
    expect(findBlock(state, 'c')).toMatchObject({ status: 'pending' });
  });
});

describe('D48: an event that changes nothing returns the same object', () => {
  const block = call('c', { input: { path: ['a', { deep: [1, 2] }] }, message: { id: 'm' } });

  test('an upsert of an equal block', () => {
    const state = stateAfter(upsert(block));
    expect(reduceConversation(state, upsert(structuredClone(block)))).toBe(state);
    expect(reduceConversation(state, upsert({ ...block, timestamp: T1 }))).toBe(state);
    expect(reduceConversation(state, upsert({ ...block, input: { path: ['a', { deep: [1, 3] }] } }))).not.toBe(state);
  });

  test.for<[string, ConversationEvent]>([
    ['a delta for an unknown block', delta('nobody', 'x')],
    ['a delta for an unknown conversation', delta('c', 'x', 0, 'nowhere')],
    ['removing an unknown block', removed('nobody')],
    ['removing from an unknown conversation', removed('c', 'nowhere')],
  ])('%s', ([, event]) => {
    const state = stateAfter(upsert(block));
    expect(reduceConversation(state, event)).toBe(state);
    expect(reduceConversationEvents(state, [event, event])).toBe(state);
  });

  test('an empty batch', () => {
    const state = stateAfter(upsert(block));
    expect(reduceConversationEvents(state, [])).toBe(state);
  });

  test.for<[string, unknown, unknown]>([
    ['dates', new Date(0), new Date(1)],
    ['maps', new Map([[1, 1]]), new Map([[1, 2]])],
    ['a list and an object', [1], { 0: 1 }],
    ['a field that is there and one that is not', { a: undefined }, { b: undefined }],
    ['zeros', { a: 0 }, { a: -0 }],
  ])('%s that differ change the block', ([, one, other]) => {
    const state = stateAfter(upsert(call('d', { input: one })));
    expect(reduceConversation(state, upsert(call('d', { input: other })))).not.toBe(state);
  });

  test('parts that an event did not change are the same objects after it', () => {
    const before = stateAfter(upsert(text('a', 'x')), upsert(text('b', '', pending)), spawned('one'), spawned('two'));
    const after = reduceConversation(before, delta('b', 'y'));
    expect(after.blocks.at(0)).toBe(before.blocks.at(0));
    expect(after.blocks.at(1)).not.toBe(before.blocks.at(1));
    expect(after.subagents).toBe(before.subagents);
    const inside = reduceConversation(after, upsert(text('c', 'z'), 'two'));
    expect(inside.blocks).toBe(after.blocks);
    expect(inside.subagents[0]).toBe(after.subagents[0]);
    expect(inside.subagents[1]).not.toBe(after.subagents[1]);
  });
});

test('D46: ids are used unchanged, also names of object properties', () => {
  const ids = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '0'];
  const state = stateAfter(
    ...ids.map((id) => upsert(text(id, id))),
    ...ids.map((id) => upsert(text(id, id), `${id}!`)),
  );
  expect(state.blocks.map((block) => block.id)).toEqual(ids);
  expect(ids.map((id) => findBlock(state, id)?.id)).toEqual(ids);
  expect(ids.map((id) => findBlock(state, id, `${id}!`)?.id)).toEqual(ids);
  expect(findBlock(state, 'valueOf')).toBeUndefined();
});

describe('D74: session:reset starts the conversation again', () => {
  const reset = { type: 'session:reset', timestamp: T1 } as const;

  test('no block and no subagent is left, and what follows is shown as the first', () => {
    const later = [upsert(text('a', 'y')), spawned('task', { prompt: 'p' }), upsert(text('b', 'z'), 'task')];
    const state = stateAfter(upsert(text('a', 'x')), spawned('task'), upsert(text('c', 'x'), 'other'), reset);
    expect(plain(state)).toEqual({ blocks: [], subagents: [] });
    const before = stateAfter(upsert(text('a', 'x')), spawned('task'), reset, ...later);
    expect(plain(before)).toEqual(plain(stateAfter(...later)));
  });

  test('an empty conversation stays the same object (D48)', () => {
    const state = stateAfter();
    expect(reduceConversation(state, reset)).toBe(state);
  });
});
