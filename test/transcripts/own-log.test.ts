import { describe, expect, test } from 'vitest';
import { type ConversationEvent, usageTotals } from '../../src/conversation.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { logConverter, messagesToEvents } from '../../src/transcripts/own-log.ts';
import { lines, logOf, makeMessages, show, started, stateOf, toolCall } from './own-log-builders.ts';

const usage = { inputTokens: 10, outputTokens: 5 };

describe('messages of our own log', () => {
  test('a log and its messages alone give the same conversation', () => {
    const m = makeMessages();
    const messages = [
      m.system('Be brief'),
      m.user('Hi'),
      m.assistant('Reading', [toolCall('c1', '{"path":"a"}'), toolCall('c2', 'not json')]),
      m.tool('c1', 'text of a'),
      m.tool('c2', 'no', { isError: true }),
      m.assistant('Done'),
    ];
    const expected = [
      'complete system/instructions: Be brief',
      'complete user_message: Hi',
      'complete assistant_text: Reading',
      'complete read({"path":"a"})',
      'error read(not json)',
      'complete result: text of a',
      'complete failed: no',
      'complete assistant_text: Done',
    ];
    expect(lines(stateOf(messagesToEvents(messages, { machinery: true })))).toEqual(expected);
    expect(show(started(), ...messages, { type: 'evaluation/completed', evaluationId: 'ev' })).toEqual(expected);
    expect(stateOf(messagesToEvents(messages)).blocks.toJSON()).toEqual(
      stateOf(messagesToEvents(logOf(started(), ...messages))).blocks.toJSON(),
    );
  });

  test('D46: the ids of calls, results, texts and user messages', () => {
    const m = makeMessages();
    const messages = [m.user('Hi'), m.assistant('a', [toolCall('c1')]), m.tool('c1', 'x')];
    expect(stateOf(messagesToEvents(messages)).blocks.map((block) => block.id)).toEqual([
      'ev:0',
      'ev:1:0',
      'ev/1/c1',
      'result:ev/1/c1',
    ]);
  });

  test('D46: an id that a provider repeats in one turn gets #2, and each result closes its own call', () => {
    const m = makeMessages();
    const first = m.assistant('', [toolCall('c'), toolCall('c')], { turn: 1 });
    const messages = [
      first,
      m.tool('c', 'one'),
      m.assistant('', [toolCall('c')], { turn: 1 }),
      m.tool('c', 'two', { turn: 1 }),
    ];
    expect(stateOf(messagesToEvents(messages)).blocks.map((block) => [block.id, block.status])).toEqual([
      ['ev/1/c', 'pending'],
      ['ev/1/c#2', 'complete'],
      ['result:ev/1/c#2', 'complete'],
      ['ev/1/c#3', 'complete'],
      ['result:ev/1/c#3', 'complete'],
    ]);
  });

  test('parts keep their order: reasoning, texts, media, and the calls among them', () => {
    const m = makeMessages();
    const message = m.assistant('', [toolCall('c1', '{}', { after: 1 }), toolCall('c2')], {
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'reasoning', text: '', redacted: 'opaque' },
        { type: 'text', text: 'look' },
        { type: 'image', mediaType: 'image/png', data: 'AA==' },
        { type: 'text', text: 'there' },
      ],
    });
    const state = stateOf(messagesToEvents([message]));
    expect(state.blocks.map((block) => [block.id, block.type])).toEqual([
      ['ev:0:0', 'thinking'],
      ['ev/1/c1', 'tool_use'],
      ['ev:0:1', 'assistant_text'],
      ['ev:0:media:3', 'assistant_text'],
      ['ev:0:2', 'assistant_text'],
      ['ev/1/c2', 'tool_use'],
    ]);
    expect(state.blocks.at(3)).toMatchObject({ attachments: [{ mediaType: 'image/png', data: 'AA==' }] });
  });

  test('a call that the provider ran has its result', () => {
    const m = makeMessages();
    const calls = [
      toolCall('c1', '{}', { name: 'search', providerExecuted: { result: { hits: 1 } } }),
      toolCall('c2', '{}', { name: 'search', providerExecuted: { result: 'down', isError: true } }),
      toolCall('c3', '{}', { name: 'search', providerExecuted: {} }),
    ];
    expect(lines(stateOf(messagesToEvents([m.assistant('', calls)])))).toEqual([
      'complete search({})',
      'complete result: {"hits":1}',
      'error search({})',
      'complete failed: down',
      'pending search({})',
    ]);
  });

  test('media of a user message are attachments, media of a result are its parts', () => {
    const m = makeMessages();
    const file = { type: 'file', mediaType: 'text/csv', data: 'sha256:aa', filename: 'a.csv' } as const;
    const user = m.user('', { content: [{ type: 'text', text: 'see' }, file] });
    const result = m.tool('c', '', { content: [{ type: 'text', text: 'ok' }, file] });
    const state = stateOf(messagesToEvents([user, result]));
    expect(state.blocks.at(0)).toMatchObject({
      content: 'see',
      attachments: [{ mediaType: 'text/csv', data: 'sha256:aa', filename: 'a.csv' }],
    });
    expect(state.blocks.at(1)).toMatchObject({ output: 'ok', parts: [{ type: 'text', text: 'ok' }, file] });
  });

  test('usage is counted once per response, summaries included', () => {
    const m = makeMessages();
    const answer = m.assistant('a', [toolCall('c1'), toolCall('c2')]);
    const log = logOf(
      started(),
      { type: 'message/recorded', message: answer, usage, model: 'big' },
      { type: 'history/summarized', evaluationId: 'ev', key: 'k', text: 'Earlier: much', usage },
    );
    const totals = usageTotals(stateOf(messagesToEvents(log)));
    expect(totals).toMatchObject({ messages: 2, usage: { inputTokens: 20, outputTokens: 10 } });
    expect(totals.byModel.get('big')).toEqual(usage);
  });

  test('instructions that every evaluation of a chat repeats are one block with the newest (D50)', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((evaluationId) => makeMessages({ evaluationId }));
    expect(
      lines(
        stateOf(
          messagesToEvents(
            [a?.system('Be brief'), a?.user('1'), b?.system('Be brief'), b?.user('2'), c?.system('Be long')].flatMap(
              (x) => x ?? [],
            ),
            { machinery: true },
          ),
        ),
      ),
    ).toEqual(['complete system/instructions: Be long', 'complete user_message: 1', 'complete user_message: 2']);
  });
});

describe('I7: repeated items', () => {
  test('an event or a message that is pushed a second time emits nothing', () => {
    const m = makeMessages();
    const log = logOf(started(), m.user('Hi'), m.assistant('', [toolCall('c1')]), m.tool('c1', 'x'), {
      type: 'evaluation/completed',
      evaluationId: 'ev',
    });
    const converter = logConverter();
    const once = log.flatMap((event) => converter.push(event));
    expect(log.flatMap((event) => converter.push(event))).toEqual([]);
    const twice = logConverter();
    const doubled: ConversationEvent[] = log.flatMap((event: SessionEvent) => [
      ...twice.push(event),
      ...twice.push(event),
    ]);
    expect(doubled).toEqual(once);
    expect(once).toEqual(messagesToEvents(log));
    const messages = log.flatMap((event) =>
      event.type === 'message/recorded' && 'message' in event ? [event.message as never] : [],
    );
    expect(messagesToEvents([...messages, ...messages])).toEqual(messagesToEvents(messages));
  });
});
