import { describe, expect, test } from 'vitest';
import {
  type ConversationEvent,
  createConversationState,
  isConversationEvent,
  reduceConversation,
  reviveConversationState,
} from '../../src/conversation.ts';
import { call, completed, delta, idle, removed, result, spawned, T0, text, upsert } from './builders.ts';

const usage = { inputTokens: 1, outputTokens: 2 };

test.for<ConversationEvent>([
  upsert(text('a', 'x', { attachments: [{ mediaType: 'image/png', data: 'AA==', filename: 'a.png' }] })),
  upsert(text('a', 'x', { message: { id: 'm', model: 'one', usage } })),
  upsert(call('a', { input: null, inputText: '{' })),
  upsert(result('a', { parts: [1, null] })),
  delta('a', '', 0),
  delta('a', 'x'),
  removed('a'),
  spawned('t', { agentId: 'a', prompt: '', subagentType: 'x', description: 'y' }),
  completed('t', { status: 'failed', durationMs: 0 }),
  idle({ reason: 'interrupted' }),
  { type: 'session:idle', timestamp: T0 },
  { type: 'session:reset', timestamp: T0 },
])('%j is an event', (event) => {
  expect(isConversationEvent(event)).toBe(true);
  expect(isConversationEvent({ ...event, somethingElse: 1 })).toBe(true);
});

const good = upsert(text('a', 'x'));
const withBlock = (fields: object): unknown => ({ ...good, block: { ...text('a', 'x'), ...fields } });

describe('the guard accepts what the reducer accepts (D70)', () => {
  test.for<[string, unknown]>([
    ['an event without a timestamp', { type: 'block:upsert', block: text('a', 'x') }],
    ['a block without a timestamp', withBlock({ timestamp: undefined })],
    ['a block without a conversation', withBlock({ conversationId: undefined })],
    ['a block of an unknown type', withBlock({ type: 'image' })],
    ['a block whose type names a method of every object', withBlock({ type: 'toString' })],
  ])('%s', ([, value]) => {
    const before = createConversationState();
    expect(isConversationEvent(value)).toBe(true);
    expect(reduceConversation(before, value as ConversationEvent)).not.toBe(before);
  });

  test('a block of an unknown type is kept and shown as unknown, live and revived from JSON', () => {
    const image = { ...text('a'), type: 'image', url: 'a.png', content: undefined };
    const event = { type: 'block:upsert', conversationId: 'main', block: image } as unknown as ConversationEvent;
    const state = reduceConversation(createConversationState(), event);
    const shown = { id: 'a', type: 'unknown', sourceType: 'image', data: { url: 'a.png' }, status: 'complete' };
    expect(state.blocks.at(0)).toMatchObject(shown);
    expect(reduceConversation(state, event)).toBe(state);
    expect(reviveConversationState(JSON.parse(JSON.stringify(state))).blocks.at(0)).toMatchObject(shown);
    const newer = { blocks: [image], subagents: [] };
    expect(reviveConversationState(newer).blocks.at(0)).toMatchObject(shown);
  });
});

describe('is not an event', () => {
  test.for<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'block:upsert'],
    ['an array', [good]],
    ['a function', () => good],
    ['an empty object', {}],
    ['an unknown type', { type: 'block:upserted', timestamp: T0 }],
    ['a type every object has', { type: 'constructor', timestamp: T0 }],
    ['one of our log’s events', { type: 'message/recorded', seq: 1, at: T0 }],
    ['a time that is a number', { ...idle(), timestamp: 1 }],
    ['a conversation that is not a string', { ...idle(), conversationId: null }],
    ['an unknown reason', { ...idle(), reason: 'tired' }],
    ['an upsert without a block', { type: 'block:upsert', timestamp: T0 }],
    ['an upsert of null', { ...good, block: null }],
    ['a block without an id', withBlock({ id: '' })],
    ['a block with a number for an id', withBlock({ id: 1 })],
    ['a block without a type', withBlock({ type: '' })],
    ['a block of an unknown status', withBlock({ status: 'running' })],
    ['a text without content', withBlock({ content: undefined })],
    ['a message without an id', withBlock({ message: {} })],
    ['a usage that is text', withBlock({ message: { id: 'm', usage: { inputTokens: '1', outputTokens: 1 } } })],
    ['attachments that are not objects', withBlock({ attachments: [null] })],
    ['a call without a tool', upsert({ ...call('c'), toolName: undefined } as never)],
    ['a call without a tool use id', upsert(call('c', { toolUseId: '' }))],
    ['a result whose isError is a word', upsert({ ...result('c'), isError: 'no' } as never)],
    ['a result whose parts are an object', upsert({ ...result('c'), parts: {} } as never)],
    ['a delta without a block', { ...delta('', 'x') }],
    ['a delta that is a number', { ...delta('a', 'x'), delta: 1 }],
    ['a delta before the beginning', delta('a', 'x', -1)],
    ['a removal of nothing', removed('')],
    ['a spawn of nothing', spawned('')],
    ['a spawn with a prompt that is an object', { ...spawned('t'), prompt: {} }],
    ['a completion without a status', { ...completed('t'), status: undefined }],
    ['a completion of unknown status', { ...completed('t'), status: 'success' }],
    ['a completion whose duration is text', { ...completed('t'), durationMs: '1' }],
  ])('%s', ([, value]) => {
    expect(isConversationEvent(value)).toBe(false);
  });
});
