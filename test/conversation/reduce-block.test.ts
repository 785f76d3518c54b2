import { describe, expect, test } from 'vitest';
import {
  type ConversationBlock,
  type ConversationEvent,
  createConversationState,
  findBlock,
  reduceConversation,
} from '../../src/conversation.ts';
import { call, delta, idle, plain, removed, result, stateAfter, T0, T1, text, upsert } from './builders.ts';

const pending = { status: 'pending' } as const;

describe('edge cases', () => {
  test('a delta before its upsert is ignored', () => {
    const state = createConversationState();
    expect(reduceConversation(state, delta('a', 'hello'))).toBe(state);
  });

  test('a block event before subagent:spawned creates the running subagent', () => {
    const state = stateAfter(upsert(text('a', 'hi'), 'task-1'));
    expect(plain(state).subagents).toMatchObject([{ toolUseId: 'task-1', status: 'running', blocks: [{ id: 'a' }] }]);
    expect(plain(state).blocks).toEqual([]);
  });

  test('an empty delta is ignored', () => {
    const state = stateAfter(upsert(text('a', '', pending)));
    expect(reduceConversation(state, delta('a', ''))).toBe(state);
  });

  test('all pending blocks end on idle', () => {
    const state = stateAfter(
      upsert(text('a', 'x', pending)),
      upsert(text('b', 'y')),
      upsert(text('c', 'z', { ...pending, type: 'thinking' })),
      upsert(call('d')),
      idle(),
    );
    expect(plain(state).blocks.map((block) => block.status)).toEqual(['complete', 'complete', 'complete', 'complete']);
  });

  test.for<ConversationBlock>([
    text('a', 'x', { ...pending, type: 'user_message' }),
    result('a', { id: 'a', ...pending }),
    { id: 'a', type: 'subagent', conversationId: 'main', timestamp: T0, ...pending, toolUseId: 't' },
    { id: 'a', type: 'system', conversationId: 'main', timestamp: T0, ...pending, content: 'x' },
    { id: 'a', type: 'error', conversationId: 'main', timestamp: T0, ...pending, content: 'x' },
    { id: 'a', type: 'skill', conversationId: 'main', timestamp: T0, ...pending, content: 'x' },
    { id: 'a', type: 'compaction', conversationId: 'main', timestamp: T0, ...pending, content: 'x' },
    { id: 'a', type: 'unknown', conversationId: 'main', timestamp: T0, ...pending, sourceType: 's', data: 1 },
  ])('a delta for a block that does not stream is ignored (D42): $type', (block) => {
    const state = stateAfter(upsert(block));
    expect(reduceConversation(state, delta('a', 'more'))).toBe(state);
  });

  test('an upsert replaces the whole block and merges nothing', () => {
    const state = stateAfter(
      upsert(text('a', 'x', { ...pending, message: { id: 'm', model: 'one' } })),
      upsert(text('a', 'y')),
    );
    expect(plain(state).blocks).toEqual([text('a', 'y')]);
  });

  test('a pending upsert, deltas and a complete upsert stream a block', () => {
    const state = stateAfter(
      upsert(text('a', '', pending)),
      delta('a', 'Hel'),
      delta('a', 'lo'),
      upsert(text('a', 'Hello')),
    );
    expect(plain(state).blocks).toEqual([text('a', 'Hello')]);
  });
});

describe('D36: the envelope', () => {
  test('a missing conversation id is main', () => {
    const state = reduceConversation(createConversationState(), {
      type: 'block:upsert',
      timestamp: T0,
      block: text('a', 'x'),
    });
    expect(plain(state).blocks).toHaveLength(1);
  });

  test('the conversation of the event overrides that of the block', () => {
    const state = stateAfter(upsert(text('a', 'x', { conversationId: 'elsewhere' }), 'main'));
    expect(plain(state)).toEqual({ blocks: [text('a', 'x', { conversationId: 'main' })], subagents: [] });
    const child = stateAfter(upsert(text('a', 'x', { conversationId: 'main' }), 'task'));
    expect(plain(child).subagents[0]?.blocks).toEqual([text('a', 'x', { conversationId: 'task' })]);
  });

  test('a block without a time gets the time of its event', () => {
    const { timestamp: _, ...block } = text('a', 'x');
    const event = { type: 'block:upsert', timestamp: T1, block } as unknown as ConversationEvent;
    expect(plain(stateAfter(event)).blocks[0]?.timestamp).toBe(T1);
  });

  test.for(['', 'agent-main'])('a subagent with the id "%s" is rejected', (conversationId) => {
    const state = createConversationState();
    expect(reduceConversation(state, upsert(text('a', 'x'), conversationId))).toBe(state);
  });
});

test.for(['running', 'success', 'done', 1, null, undefined])(
  'D37: a block with the status %s is rejected',
  (status) => {
    const state = createConversationState();
    const event = upsert({ ...text('a', 'x'), status } as unknown as ConversationBlock);
    expect(reduceConversation(state, event)).toBe(state);
  },
);

describe('D42: deltas', () => {
  const start = [upsert(text('a', '', pending)), delta('a', 'Hello', 0)];

  test.for<[string, ConversationEvent, string]>([
    ['at the end', delta('a', ' you', 5), 'Hello you'],
    ['overlapping: the known part is dropped', delta('a', 'lo you', 3), 'Hello you'],
    ['all of it known', delta('a', 'ell', 1), 'Hello'],
    ['the same one again', delta('a', 'Hello', 0), 'Hello'],
    ['beyond the end: dropped', delta('a', 'you', 6), 'Hello'],
    ['without an offset: appended', delta('a', '!'), 'Hello!'],
    ['only whitespace: content (D47)', delta('a', ' \n', 5), 'Hello \n'],
    ['counted in UTF-16 units', delta('a', '😀', 5), 'Hello😀'],
  ])('%s', ([, event, content]) => {
    expect(findBlock(stateAfter(...start, event), 'a')).toMatchObject({ content });
  });

  test('an offset counts UTF-16 units, not characters', () => {
    const state = stateAfter(...start, delta('a', '😀', 5), delta('a', '!', 7), delta('a', '?', 6));
    expect(findBlock(state, 'a')).toMatchObject({ content: 'Hello😀!' });
  });

  test.for([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3', null])(
    'an offset of %s is ignored with its delta',
    (offset) => {
      const state = stateAfter(...start);
      expect(reduceConversation(state, { ...delta('a', 'x'), offset } as unknown as ConversationEvent)).toBe(state);
    },
  );

  test('after a dropped delta the next upsert has the text', () => {
    const state = stateAfter(...start, delta('a', 'lost', 9), upsert(text('a', 'Hello you lost')));
    expect(findBlock(state, 'a')).toMatchObject({ content: 'Hello you lost', status: 'complete' });
  });

  test('streamed tool input is appended to inputText, and the complete call replaces it', () => {
    const streamed = stateAfter(upsert(call('a')), delta('a', '{"pa', 0), delta('a', 'th":1}', 4));
    expect(findBlock(streamed, 'a')).toMatchObject({ inputText: '{"path":1}' });
    const whole = reduceConversation(streamed, upsert(call('a', { input: { path: 1 } })));
    expect(plain(whole).blocks).toEqual([call('a', { input: { path: 1 } })]);
  });

  test.for(['complete', 'error'] as const)('a block that is %s ignores deltas', (status) => {
    const state = stateAfter(upsert(text('a', 'x', { status })));
    expect(reduceConversation(state, delta('a', 'y'))).toBe(state);
  });

  test('thinking streams too', () => {
    const state = stateAfter(upsert(text('a', '', { ...pending, type: 'thinking' })), delta('a', 'hm'));
    expect(findBlock(state, 'a')).toMatchObject({ content: 'hm' });
  });

  test('deltas of interleaved conversations reach their own blocks', () => {
    const state = stateAfter(
      upsert(text('a', '', pending)),
      upsert(text('a', '', pending), 'task'),
      delta('a', 'ma'),
      delta('a', 'ta', undefined, 'task'),
      delta('a', 'in'),
      delta('a', 'sk', undefined, 'task'),
    );
    expect([findBlock(state, 'a'), findBlock(state, 'a', 'task')]).toMatchObject([
      { content: 'main' },
      { content: 'task' },
    ]);
  });
});

describe('D43: no regression', () => {
  test.for(['complete', 'error'] as const)('%s never changes back to pending', (status) => {
    const state = stateAfter(upsert(text('a', 'done', { status })));
    expect(reduceConversation(state, upsert(text('a', '', pending)))).toBe(state);
  });

  test('an error may change to complete when the response arrives late', () => {
    const state = stateAfter(
      upsert(text('a', '', pending)),
      idle({ reason: 'interrupted' }),
      upsert(text('a', 'late')),
    );
    expect(findBlock(state, 'a')).toMatchObject({ status: 'complete', content: 'late' });
  });

  test("a block's type never changes", () => {
    for (const status of ['pending', 'complete'] as const) {
      const state = stateAfter(upsert(text('a', 'x', { status })));
      expect(reduceConversation(state, upsert(call('a', { status })))).toBe(state);
      expect(reduceConversation(state, upsert(text('a', 'x', { status, type: 'thinking' })))).toBe(state);
    }
  });

  test('position and first timestamp are kept', () => {
    const state = stateAfter(
      upsert(text('a', 'x', { ...pending, timestamp: T0 })),
      upsert(text('b', 'y')),
      upsert(text('a', 'z', { timestamp: T1 })),
    );
    expect(plain(state).blocks).toEqual([text('a', 'z', { timestamp: T0 }), text('b', 'y')]);
  });
});

test('a block without a time gets the first known time and keeps it (D43)', () => {
  const state = stateAfter(
    upsert(text('a', '', { ...pending, timestamp: '' })),
    upsert(text('a', 'x', { timestamp: T0 })),
    upsert(text('a', 'y', { timestamp: T1 })),
  );
  expect(findBlock(state, 'a')).toMatchObject({ content: 'y', timestamp: T0 });
});

describe('D44: blocks are keyed by conversation and id', () => {
  test('one id in two conversations is two blocks', () => {
    const state = stateAfter(upsert(text('a', 'main')), upsert(text('a', 'child'), 'task'));
    expect(findBlock(state, 'a')).toMatchObject({ content: 'main' });
    expect(findBlock(state, 'a', 'task')).toMatchObject({ content: 'child' });
  });

  test('block:removed removes one block, and the others are still found', () => {
    const state = stateAfter(
      upsert(text('a', '1')),
      upsert(text('b', '2')),
      upsert(text('c', '3', pending)),
      removed('b'),
    );
    expect(plain(state).blocks.map((block) => block.id)).toEqual(['a', 'c']);
    expect(findBlock(reduceConversation(state, delta('c', '!')), 'c')).toMatchObject({ content: '3!' });
    expect(findBlock(state, 'b')).toBeUndefined();
  });

  test('removing a block leaves the block with the same id in another conversation', () => {
    const state = stateAfter(upsert(text('a', 'main')), upsert(text('a', 'child'), 'task'), removed('a', 'task'));
    expect(findBlock(state, 'a')).toBeDefined();
    expect(findBlock(state, 'a', 'task')).toBeUndefined();
  });

  test('a removed block that is added again is at the end', () => {
    const state = stateAfter(upsert(text('a', '1')), upsert(text('b', '2')), removed('a'), upsert(text('a', 'again')));
    expect(plain(state).blocks.map((block) => block.id)).toEqual(['b', 'a']);
  });
});
