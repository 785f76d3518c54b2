import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConversationEvent, findBlock, isConversationEvent } from '../../src/conversation.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import { createAdapter } from '../../src/loop/evaluate/create-adapter.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import type { DraftChunk } from '../../src/ports/store.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { type LogItem, logConverter, messagesToEvents } from '../../src/transcripts/own-log.ts';
import { lines, logOf, makeMessages, started, stateOf, toolCall } from './own-log-builders.ts';

function chunk(n: number, blockId: string, delta: string, more: Partial<DraftChunk> = {}): DraftChunk {
  return { draftId: 'ev', fence: 1, evaluationId: 'ev', turn: 1, attempt: 1, n, blockId, delta, ...more };
}

describe('D53: drafts', () => {
  const m = makeMessages();
  const user = m.user('Go');
  const log = logOf(started(), user);
  const drafts = [
    chunk(1, 'ev:1:0', 'Hel'),
    chunk(2, 'ev/1/call:0', '{"pa'),
    chunk(3, 'ev:1:0', 'lo'),
    chunk(4, 'ev/1/call:0', 'th"'),
  ];

  test('show the responses that were streaming when the log was read', () => {
    expect(lines(stateOf(messagesToEvents(log, { drafts })))).toEqual([
      'complete user_message: Go',
      'pending assistant_text: Hello',
      'pending tool({"path")',
    ]);
  });

  test('carry offsets, so that a second delivery changes nothing (I7)', () => {
    const events = messagesToEvents(log, { drafts });
    for (const event of events) expect(isConversationEvent(event)).toBe(true);
    expect(lines(stateOf(events.flatMap((event) => [event, event])))).toEqual(lines(stateOf(events)));
    expect(events.flatMap((event) => (event.type === 'block:delta' ? [event.offset] : []))).toEqual([0, 0, 3, 4]);
  });

  test('are completed by the recorded message, and blocks that it lacks are removed', () => {
    const answer = m.assistant('Hello you', [toolCall('c1', '{"path":1}')]);
    const converter = logConverter();
    const live = [...log, ...drafts].flatMap((item) => converter.push(item));
    const recorded = logOf(started(), user, answer)
      .slice(2)
      .flatMap((item) => converter.push(item));
    const state = stateOf([...live, ...recorded]);
    expect(lines(state)).toEqual([
      'complete user_message: Go',
      'complete assistant_text: Hello you',
      'pending read({"path":1})',
    ]);
    expect(recorded.filter((event) => event.type === 'block:removed').map((event) => event.blockId)).toEqual([
      'ev/1/call:0',
    ]);
    expect(JSON.stringify(state)).toBe(JSON.stringify(stateOf(messagesToEvents(logOf(started(), user, answer)))));
    expect(drafts.flatMap((piece) => converter.push(piece))).toEqual([]); // they are too late
  });

  test('a block of the wrong kind is replaced by the recorded message', () => {
    const answer = m.assistant('', [], { id: 'ev:1', turn: 1, content: [{ type: 'reasoning', text: 'Hello' }] });
    const converter = logConverter();
    const items: LogItem[] = [...log, chunk(1, 'ev:1:0', 'Hel'), ...logOf(started(), user, answer).slice(2)];
    const state = stateOf(items.flatMap((item) => converter.push(item)));
    expect(lines(state)).toEqual(['complete user_message: Go', 'complete thinking: Hello']);
  });

  test('a new attempt starts again, and pieces of an older one are ignored', () => {
    const converter = logConverter();
    const items: LogItem[] = [
      ...log,
      chunk(1, 'ev:1:0', 'First'),
      chunk(1, 'ev:1:0', 'Sec', { attempt: 2 }),
      chunk(2, 'ev:1:0', ' try', { attempt: 1 }),
      chunk(2, 'ev:1:0', 'ond', { attempt: 2 }),
    ];
    const events = items.flatMap((item) => converter.push(item));
    expect(events.filter((event) => event.type === 'block:removed')).toHaveLength(1);
    expect(lines(stateOf(events))).toEqual(['complete user_message: Go', 'pending assistant_text: Second']);
  });

  test('the draft of an interrupted attempt is shown as an error, beside the next attempt', () => {
    const interrupted = {
      ...{ type: 'message/interrupted', evaluationId: 'ev', conversationId: 'main', turn: 1, attempt: 1 },
      blocks: [
        { blockId: 'ev:1:0', text: 'Hel' },
        { blockId: 'ev/1/call:0', text: '{"pa' },
        { blockId: 'ev:1:1', text: 'Hm', kind: 'reasoning' },
        { blockId: 'ev/1/call:1', text: '{"fi', kind: 'tool-input', toolName: 'read' },
      ],
    };
    const answer = makeMessages({ evaluationId: 'ev' }).assistant('Hello', [], { id: 'ev:1' });
    const expected = [
      'complete user_message: Go',
      'error assistant_text: Hel',
      'error tool({"pa)',
      'error thinking: Hm',
      'error read({"fi)',
      'complete assistant_text: Hello',
    ];
    const whole = logOf(started(), user, interrupted, answer);
    expect(lines(stateOf(messagesToEvents(whole)))).toEqual(expected);
    const converter = logConverter();
    const items: LogItem[] = [
      ...whole.slice(0, 2),
      ...drafts,
      ...whole.slice(2, 3),
      chunk(1, 'ev:1:0', 'He', { attempt: 2 }),
      ...whole.slice(3),
    ];
    const live = stateOf(items.flatMap((item) => converter.push(item)));
    expect(JSON.stringify(live)).toBe(JSON.stringify(stateOf(messagesToEvents(whole))));
  });

  test.for(['evaluation/suspended', 'evaluation/failed', 'evaluation/superseded'])('%s removes the draft', (type) => {
    const end = {
      type,
      evaluationId: 'ev',
      message: 'x',
      reason: 'CANCELLED',
      pending: [],
      error: { code: 'CANCELLED', message: 'x' },
    };
    const converter = logConverter();
    const items: LogItem[] = [...log, ...drafts, ...logOf(started(), user, end).slice(2)];
    const state = stateOf(items.flatMap((item) => converter.push(item)));
    expect(findBlock(state, 'ev:1:0')).toBeUndefined();
    expect(findBlock(state, 'ev/1/call:0')).toBeUndefined();
  });
});

describe('I8: our own loop, live and from its log', () => {
  const helper = definePrompt({ ns: 'test', key: 'helper', instructions: 'Help' });
  const delegate = defineTool({
    name: 'delegate',
    description: 'Ask a helper',
    input: z.object({ question: z.string() }),
    effect: 'idempotent',
    execute: async ({ question }, ctx) => (await ctx.evaluate(helper, { input: question })).text,
  });
  const fail = defineTool({
    name: 'fail',
    description: 'Fails',
    input: z.object({}),
    effect: 'read',
    execute: () => {
      throw new Error('it broke');
    },
  });
  const prompt = definePrompt({ ns: 'test', key: 'main', instructions: 'Be brief', tools: [delegate, fail] });

  test('gives the same conversation: reasoning, parallel calls, a failing tool, a child, a second message', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's' });
    const model = scriptedModel((request) => {
      if (request.prompt.key === 'helper') return { reasoning: 'easy', text: 'It is 42' };
      if (request.turn > 1) return 'That is all, thank you.';
      return {
        reasoning: 'let me think',
        text: 'I will ask two tools',
        toolCalls: [
          { name: 'delegate', arguments: { question: 'what is it?' } },
          { name: 'fail', arguments: {} },
        ],
      };
    });
    const converter = logConverter({ machinery: true });
    const live: ConversationEvent[] = [];
    const adapter = createAdapter({ model });
    const onEvent = (event: unknown): void => {
      live.push(...converter.push(event as LogItem));
    };
    await adapter.evaluate(prompt, { session, input: 'Go', onEvent });
    await adapter.evaluate(prompt, { session, input: 'And again', continues: true, onEvent });
    const log: SessionEvent[] = [];
    for await (const event of store.read('s')) log.push(event);
    const fromLog = stateOf(messagesToEvents(log, { machinery: true }));
    expect(live.some((event) => event.type === 'block:delta')).toBe(true);
    expect(live.every(isConversationEvent)).toBe(true);
    expect(JSON.stringify(stateOf(live))).toBe(JSON.stringify(fromLog));
    expect(fromLog.subagents).toHaveLength(2);
    expect(lines(fromLog).slice(0, 8)).toEqual([
      'complete system/instructions: Be brief',
      'complete user_message: Go',
      'complete thinking: let me think',
      'complete assistant_text: I will ask two tools',
      'complete delegate({"question":"what is it?"})',
      'error fail({})',
      expect.stringMatching(/^complete (failed: it broke|subagent helper: what is it\? -> It is 42)$/),
      expect.stringMatching(/^complete (failed: it broke|subagent helper: what is it\? -> It is 42)$/),
    ]);
  });
});

describe('D74: the items of a tail', () => {
  const m = makeMessages();
  const log = logOf(started(), m.user('Go'));
  const place = { evaluationId: 'ev', conversationId: 'main', turn: 1, attempt: 1 } as const;
  const delta = (n: number, blockId: string, text: string, offset: number, more: object = {}): LogItem => ({
    type: 'message/delta',
    ...place,
    ...{ blockId, kind: 'text', delta: text, offset, position: { fence: 1, n } },
    ...more,
  });
  const shown = (...items: readonly LogItem[]): string[] => {
    const converter = logConverter({ machinery: true });
    return lines(stateOf(items.flatMap((item) => converter.push(item))));
  };

  test('are accepted whole, as { cursor, event }, and as events alone', () => {
    const items = [...log, delta(1, 'ev:1:0', 'Hel', 0), delta(2, 'ev:1:0', 'lo', 3)];
    const whole = items.map((event, i) => ({ cursor: String(i), event }) as LogItem);
    expect(shown(...whole)).toEqual(shown(...items));
    expect(shown(...whole).at(-1)).toBe('pending assistant_text: Hello');
  });

  test('a piece that arrives again after its draft was interrupted is not shown', () => {
    const interrupted = logOf(started(), m.user('Go'), {
      ...{ type: 'message/interrupted', ...place },
      blocks: [{ blockId: 'ev:1:0', text: 'Hel' }],
    }).slice(2);
    const piece = delta(1, 'ev:1:0', 'Hel', 0);
    const expected = ['complete user_message: Go', 'error assistant_text: Hel'];
    expect(shown(...log, piece, ...interrupted, piece)).toEqual(expected);
    expect(shown(...log, piece, ...interrupted, piece, delta(2, 'ev:1:0', 'new', 0))).toEqual([
      ...expected,
      'pending assistant_text: new', // a process that resumed counts its attempts from 1 again
    ]);
  });

  test('draft/reset removes a response, and changes nothing when it arrives again', () => {
    const reset = { type: 'draft/reset', ...place, position: { fence: 1, n: 2 } } as const;
    const items = [...log, delta(1, 'ev:1:0', 'Hel', 0), reset, delta(2, 'ev:1:0', 'Good', 0)];
    expect(shown(...items).at(-1)).toBe('pending assistant_text: Good');
    expect(shown(...items, reset).at(-1)).toBe('pending assistant_text: Good');
    expect(shown(...log, delta(1, 'ev:1:0', 'Hel', 0), { ...reset, before: 3 })).toEqual(['complete user_message: Go']);
  });

  test('drafts/replaced shows the current drafts, in the order in which they started', () => {
    const replaced: LogItem = {
      type: 'drafts/replaced',
      pieces: [
        {
          type: 'message/delta',
          ...place,
          blockId: 'ev:1:0',
          kind: 'text',
          delta: 'Hello',
          offset: 0,
          position: { fence: 1, n: 9 },
        },
        {
          type: 'message/delta',
          ...place,
          blockId: 'ev:1:1',
          kind: 'text',
          delta: 'you',
          offset: 0,
          position: { fence: 1, n: 8 },
        },
      ],
      position: { fence: 1, n: 9 },
    };
    const items = [...log, delta(1, 'ev:1:0', 'Hel', 0), replaced, delta(10, 'ev:1:0', '!', 5)];
    const expected = ['complete user_message: Go', 'pending assistant_text: Hello!', 'pending assistant_text: you'];
    expect(shown(...items)).toEqual(expected);
    expect(shown(...items, replaced, ...items.slice(2))).toEqual(expected);
  });

  test('session/reset starts again with the first event', () => {
    const other = logOf(started('other'), makeMessages({ evaluationId: 'other' }).user('Hi'));
    expect(shown(...log, delta(1, 'ev:1:0', 'Hel', 0), { type: 'session/reset' }, ...other)).toEqual(shown(...other));
  });

  test('a block that is added while a response streams is shown before it, as after a reload', () => {
    const approved = { type: 'tool/approved', evaluationId: 'ev', turn: 1, callId: 'c1' };
    const whole = logOf(started(), m.user('Go'), approved);
    const pieces = [chunk(1, 'ev:1:0', 'Hel'), chunk(2, 'ev:1:0', 'lo')] as const;
    const live = shown(...whole.slice(0, 2), pieces[0], ...whole.slice(2), pieces[1]);
    expect(live).toEqual(lines(stateOf(messagesToEvents(whole, { drafts: pieces, machinery: true }))));
    expect(live.at(-1)).toBe('pending assistant_text: Hello');
  });

  test('blocks that streamed in another order end in the order of the message', () => {
    const answer = m.assistant('Hello', [toolCall('c1', '{}')], { id: 'ev:1' });
    const whole = logOf(started(), m.user('Go'), answer);
    const input = { kind: 'tool-input', toolName: 'read' } as const;
    const live = shown(
      ...whole.slice(0, 2),
      delta(1, 'ev/1/c1', '{}', 0, input),
      delta(2, 'ev:1:0', 'Hel', 0),
      ...whole.slice(2),
    );
    expect(live).toEqual(shown(...whole));
  });
});
