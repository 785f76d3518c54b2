/** Conversation state for a screen: one reducer for live events, a socket in a browser, and transcripts. */
import { describe, expect, test } from 'vitest';
import {
  blocksOf,
  type ConversationEvent,
  conversationToEvents,
  createConversationState,
  findSubagent,
  isConversationEvent,
  parseTranscript,
  reduceConversation,
  type SessionConversationState,
  transcriptToEvents,
} from '../../src/conversation.ts';

const at = '2026-01-01T00:00:00.000Z';
const block = (id: string, fields: object = {}): object => ({
  id,
  type: 'assistant_text',
  timestamp: at,
  status: 'complete',
  conversationId: 'main',
  content: '',
  ...fields,
});
const upsert = (conversationId: string, value: object): unknown => ({
  type: 'block:upsert',
  conversationId,
  block: value,
});
const delta = (conversationId: string, blockId: string, text: string): unknown => ({
  type: 'block:delta',
  conversationId,
  blockId,
  delta: text,
});

/** Events exactly as a source sends them: most have no time. */
const events: readonly unknown[] = [
  upsert('main', block('u', { type: 'user_message', content: 'Hi' })),
  upsert('main', block('a', { status: 'pending' })),
  delta('main', 'a', 'Hel'),
  delta('main', 'a', ''),
  delta('main', 'a', 'lo'),
  upsert('main', block('a', { content: 'Hello' })),
  { type: 'subagent:spawned', toolUseId: 'A', prompt: 'Look', subagentType: 'explorer', description: 'looks' },
  upsert('A', block('a1', { content: 'Looking' })),
  { type: 'subagent:spawned', conversationId: 'A', toolUseId: 'B', prompt: 'Deeper', subagentType: 'explorer' },
  upsert('B', block('b1', { status: 'pending', content: 'Dee' })),
  delta('B', 'b1', 'per'),
  { type: 'session:idle', conversationId: 'B' },
  { type: 'subagent:completed', conversationId: 'A', toolUseId: 'B', agentId: 'b9', status: 'completed', output: 'x' },
  { type: 'subagent:completed', toolUseId: 'A', status: 'error', durationMs: 5 },
];

const contents = (state: SessionConversationState, id = 'main'): unknown[] =>
  [...(blocksOf(state, id) ?? [])].map((one) => ('content' in one ? one.content : one.type));

/** A socket, and a listener that dispatches as `useReducer` does. */
function browser(): { emit(event: unknown): void; readonly state: () => SessionConversationState } {
  let state = createConversationState();
  const dispatch = (event: ConversationEvent): void => {
    state = reduceConversation(state, event);
  };
  return {
    emit: (event) => {
      if (isConversationEvent(event)) dispatch(event);
    },
    state: () => state,
  };
}

test('a reducer builds the conversation and its nested subagents from events', () => {
  let state = createConversationState();
  for (const event of events) state = reduceConversation(state, event as ConversationEvent);
  expect(contents(state)).toEqual(['Hi', 'Hello', 'subagent']);
  expect(contents(state, 'A')).toEqual(['Looking', 'subagent']);
  expect(contents(state, 'B')).toEqual(['Deeper']);
  expect(state.subagents.map(({ toolUseId, status }) => [toolUseId, status])).toEqual([
    ['A', 'error'],
    ['B', 'success'],
  ]);
  expect(findSubagent(state, 'b9')?.toolUseId).toBe('B');
  expect(findSubagent(state, 'B')?.parentConversationId).toBe('A');
  expect(JSON.stringify(state)).not.toContain('"status":"pending"');
});

test("a browser that validates its socket's events has the same state as a server's reducer (D70)", () => {
  const { emit, state } = browser();
  for (const event of [...events, undefined, 'noise', { type: 'ping' }, { type: 'block:upsert' }]) emit(event);
  let expected = createConversationState();
  for (const event of events) expected = reduceConversation(expected, event as ConversationEvent);
  expect(JSON.stringify(state())).toBe(JSON.stringify(expected));
});

test('a block of an unknown type is kept and shown as unknown (D70)', () => {
  const { emit, state } = browser();
  emit(upsert('main', block('c', { type: 'chart', points: [1, 2] })));
  expect(state().blocks.at(0)).toMatchObject({ id: 'c', type: 'unknown', sourceType: 'chart' });
});

describe('events that are early, late or empty', () => {
  const result = { type: 'tool_result', toolUseId: 'c', output: '', isError: false, content: undefined };
  const pending = (id: string): unknown => upsert('main', block(id, { status: 'pending', content: id }));

  test.for<[string, readonly unknown[], unknown[]]>([
    ['a delta before its block is ignored', [delta('main', 'a', 'x')], []],
    ['an empty delta says nothing', [pending('a'), delta('main', 'a', '')], ['pending a']],
    [
      'a delta for a block without text is ignored',
      [upsert('main', block('t', result)), delta('main', 't', 'x')],
      ['complete undefined'],
    ],
    [
      'idle ends every pending block',
      [pending('a'), pending('b'), { type: 'session:idle', conversationId: 'main' }],
      ['complete a', 'complete b'],
    ],
  ])('%s', ([, given, expected]) => {
    const { emit, state } = browser();
    for (const event of given) emit(event);
    expect(state().blocks.map((one) => `${one.status} ${'content' in one ? one.content : undefined}`)).toEqual(
      expected,
    );
  });

  test('a block of an unknown subagent, and a completion before the spawn, create the subagent', () => {
    const { emit, state } = browser();
    emit(upsert('X', block('x1', { content: 'early' })));
    emit({ type: 'subagent:completed', toolUseId: 'Y', status: 'completed', output: 'done' });
    expect(contents(state(), 'X')).toEqual(['early']);
    expect(findSubagent(state(), 'Y')).toMatchObject({ status: 'success', output: 'done' });
    emit({ type: 'subagent:spawned', toolUseId: 'Y', prompt: 'late', subagentType: 'explorer' });
    expect(findSubagent(state(), 'Y')).toMatchObject({ status: 'success', prompt: 'late' });
  });
});

test('parsing a transcript gives the same state as reducing its events', () => {
  const line = (fields: object): string => JSON.stringify({ timestamp: at, sessionId: 's', ...fields });
  const raw = [
    line({ type: 'user', uuid: 'u1', message: { role: 'user', content: 'Hi' } }),
    line({
      type: 'assistant',
      uuid: 'a1',
      parentUuid: 'u1',
      message: { id: 'm1', role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
    }),
  ].join('\n');
  const { state } = parseTranscript('claude-sdk', raw);
  let reduced = createConversationState();
  for (const event of transcriptToEvents('claude-sdk', raw).events) reduced = reduceConversation(reduced, event);
  expect(JSON.stringify(reduced)).toBe(JSON.stringify(state));
  expect(contents(state)).toEqual(['Hi', 'Hello']);
  let again = createConversationState();
  for (const event of conversationToEvents(state)) again = reduceConversation(again, event);
  expect(JSON.stringify(again)).toBe(JSON.stringify(state));
});
