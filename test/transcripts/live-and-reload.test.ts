/** A browser that follows a conversation shows the state of a reload, however its server converts the log. */
import { describe, expect, test } from 'vitest';
import {
  type ConversationEvent,
  createConversationState,
  logConverter,
  messagesToEvents,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import { slidingWindow } from '../../src/history.ts';
import type { SessionEvent } from '../../src/index.ts';
import type { LogReaderOptions } from '../../src/transcripts/own-log.ts';
import { agent, call, tool } from '../loop/agent.ts';
import { logIn } from '../session/log-of.ts';
import { type LogEntry, lines, logOf, makeMessages, started, stateOf } from './own-log-builders.ts';

/** A chat of three messages with a window: the log, and the events that the converter of each message emitted. */
async function chat(options: LogReaderOptions): Promise<{ log: readonly SessionEvent[]; live: ConversationEvent[] }> {
  const live: ConversationEvent[] = [];
  const { evaluate, session, store } = await agent({
    script: ({ turn }) => (turn === 1 ? { toolCalls: [call('look')] } : 'ok'),
    tools: [tool('look', () => 'seen', { effect: 'read' })],
    instructions: 'Keep this to yourself.',
  });
  for (const input of ['one', 'two', 'three']) {
    const converter = logConverter(options);
    await evaluate({
      input,
      continues: true,
      history: slidingWindow({ size: 1 }),
      onEvent: (event) => live.push(...converter.push(event as SessionEvent)),
    });
  }
  return { log: await logIn(store, session.id), live };
}

describe('one converter for each request of a chat', () => {
  test.for([
    ['for a person', {}],
    ['for an operator', { machinery: true }],
  ] as const)('shows the state of a reload, %s', async ([, options]) => {
    const { log, live } = await chat(options);
    const reloaded = stateOf(messagesToEvents(log, options));
    expect(JSON.stringify(stateOf(live))).toBe(JSON.stringify(reloaded));
    const instructions = [...reloaded.blocks].filter(
      (block) => block.type === 'system' && block.subtype === 'instructions',
    );
    expect(instructions).toHaveLength('machinery' in options ? 1 : 0);
  });
});

describe('machinery', () => {
  test('instructions, requests and captured states are not shown to a person who chats', async () => {
    const { log, live } = await chat({});
    for (const events of [live, messagesToEvents(log)]) {
      const shown = JSON.stringify(events);
      expect(shown).not.toContain('Keep this to yourself.');
      expect(shown).not.toMatch(/Sent \d+ of \d+ messages/);
    }
  });

  test('is shown to an operator, and marked', async () => {
    const { log } = await chat({});
    const state = stateOf(messagesToEvents(log, { machinery: true }));
    const marked = [...state.blocks].filter((block) => 'machinery' in block && block.machinery);
    expect(new Set(marked.map((block) => ('subtype' in block ? block.subtype : '')))).toEqual(
      new Set(['instructions', 'history']),
    );
    expect(lines(state)).toContain('complete system/instructions: Keep this to yourself.');
  });

  test('erased instructions show the newest ones, live and after a reload', () => {
    const [a, b] = ['a', 'b'].map((evaluationId) => makeMessages({ evaluationId }));
    const [first, second] = [a?.system('secret'), b?.system('secret')];
    if (!first || !second) throw new Error('no messages');
    const erase = (messageId: string) => ({ type: 'message/erased', messageId }) as const;
    const events = (...more: readonly LogEntry[]) =>
      lines(stateOf(messagesToEvents(logOf(started('a'), first, second, ...more), { machinery: true })));
    expect(events(erase(first.id))).toEqual(['complete system/instructions: secret']);
    expect(events(erase(first.id), erase(second.id))).toEqual(['complete system/instructions: [erased]']);
  });
});

describe('a draft that is pushed twice', () => {
  const m = makeMessages();
  const log = logOf(started(), m.user('Go'));
  const place = { evaluationId: 'ev', turn: 1, attempt: 1 };
  const chunks = ['Hel', 'lo ', 'you'].map((delta, i) => ({ ...place, n: i + 1, blockId: 'ev:1:0', delta }));
  const deltas = [
    { ...place, blockId: 'ev:1:0', delta: 'Hello', offset: 0 },
    { ...place, blockId: 'ev:1:0', delta: ' you', offset: 5 },
  ];
  const shown = (...items: readonly (SessionEvent | (typeof chunks)[number] | (typeof deltas)[number])[]) => {
    const converter = logConverter();
    return lines(stateOf([...log, ...items].flatMap((item) => converter.push(item))));
  };
  const expected = ['complete user_message: Go', 'pending assistant_text: Hello you'];

  test('stored chunks, twice', () => expect(shown(...chunks, ...chunks)).toEqual(expected));
  test('stored chunks, each twice', () => expect(shown(...chunks.flatMap((one) => [one, one]))).toEqual(expected));
  test('received live, then read from the store', () => expect(shown(...deltas, ...chunks)).toEqual(expected));
  test('read from the store, then received live', () => expect(shown(...chunks, ...deltas)).toEqual(expected));

  test('a second converter that receives the rest keeps the start on the screen', () => {
    const first = logConverter();
    const before = [...log, ...deltas.slice(0, 1)].flatMap((item) => first.push(item));
    const second = logConverter();
    const after = [...log, ...deltas.slice(1)].flatMap((item) => second.push(item));
    const state = reduceConversationEvents(createConversationState(), [...before, ...after]);
    expect(lines(state)).toEqual(expected);
  });
});
