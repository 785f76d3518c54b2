import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import type { ContentPart } from '../../src/core/log/messages.ts';
import { fromOpenAIChat, type OpenAIChatMessage, toOpenAIChat } from '../../src/formats/openai-chat.ts';
import { bare, conversation, type Holds, textPart } from '../models/arbitrary-conversation.ts';
import { Conversation } from '../models/converse.ts';
import { checkOpenAIChat } from '../support/provider-server/openai-chat-check.ts';

const said = fc.string({
  minLength: 1,
  unit: fc.oneof(fc.string({ minLength: 1, maxLength: 1 }), fc.constantFrom('\n', '[tool error] ', '[tool ok] ')),
});
const base64 = fc.base64String({ minLength: 4 });

/** Everything that chat completions can represent. */
const HOLDS: Holds = {
  text: said,
  systemParts: { minLength: 1, maxLength: 2 },
  userMedia: fc.oneof(
    base64.map((data) => ({ type: 'image', mediaType: 'image/png', data }) as const),
    fc.constant({ type: 'image', mediaType: 'image/*', data: 'https://example.com/a.png' } as const),
    base64.map((data) => ({ type: 'file', mediaType: 'application/pdf', data, filename: 'a.pdf' }) as const),
    fc.constantFrom('audio/wav', 'audio/mpeg').map((mediaType) => ({ type: 'file', mediaType, data: 'AAAA' }) as const),
  ),
  resultParts: fc.array(textPart(said), { minLength: 1, maxLength: 3 }),
  answerParts: fc.array(textPart(said), { maxLength: 2 }),
  callId: fc.stringMatching(/^[a-z][a-z0-9_-]{3,20}$/),
  uniqueIds: true,
  name: fc.constantFrom('read', 'write'),
  arguments: fc.oneof(
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
    fc.constantFrom('{ "a" : 1 }'),
  ),
  place: () => fc.constant(undefined),
};

/** Anything that a log can hold. */
const anything: Holds = {
  ...HOLDS,
  text: fc.oneof(fc.constantFrom('', ' ', '\ud800'), said),
  systemParts: { maxLength: 2 },
  userMedia: fc.oneof(
    HOLDS.userMedia,
    fc.constant({ type: 'file', mediaType: 'text/csv', data: 'https://example.com/a.csv' } as const),
  ),
  resultParts: fc.array(fc.oneof(textPart(fc.constantFrom('', 'ok', '\udc00')), HOLDS.userMedia), { maxLength: 3 }),
  answerParts: fc.array(
    fc.oneof<fc.Arbitrary<ContentPart>[]>(
      textPart(fc.oneof(fc.constant(''), said)),
      fc.constant({ type: 'reasoning', text: 'hm', signature: 's', provider: 'anthropic' }),
      fc.constant({ type: 'image', mediaType: 'image/png', data: 'AAAA' }),
    ),
    { maxLength: 3 },
  ),
  callId: fc.oneof(fc.constantFrom('', 'a', 'functions.read:0'), fc.string({ maxLength: 80 })),
  uniqueIds: false,
  name: fc.string(),
  arguments: fc.oneof(HOLDS.arguments, fc.constantFrom('', '[1]', '{"a"', '{"a":"\\ud800"}'), fc.string()),
  place: (content) => fc.option(fc.nat(content.length), { nil: undefined }),
};

describe('chat completions', () => {
  test('representable messages are unchanged after a round trip', () => {
    fc.assert(
      fc.property(conversation(HOLDS), ({ messages }) => {
        expect(bare(fromOpenAIChat(toOpenAIChat(messages)))).toEqual(bare(messages));
      }),
    );
  });

  test('its own messages are unchanged after a round trip', () => {
    fc.assert(
      fc.property(conversation(anything), ({ messages }) => {
        const sent = toOpenAIChat(messages);
        expect(toOpenAIChat(fromOpenAIChat(sent))).toEqual(sent);
      }),
    );
  });

  test('for any log, the API accepts the request (I4)', () => {
    fc.assert(
      fc.property(conversation(anything), ({ messages }) => {
        const body = {
          model: 'm',
          stream: true,
          messages: JSON.parse(JSON.stringify(toOpenAIChat(messages))) as unknown,
        };
        expect(checkOpenAIChat(body, { compatible: false })).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  test('calls have no empty list, and no content if there is no text (D10)', () => {
    const chat = new Conversation()
      .user('Go')
      .assistant({ content: [], toolCalls: [{ callId: 'a', name: 'read', arguments: '{}' }] })
      .result('a', 'read', 'ok')
      .assistant({ content: [{ type: 'text', text: 'Done.' }], toolCalls: [] });
    expect(toOpenAIChat(chat.messages)).toEqual([
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'assistant', content: 'Done.' },
    ]);
  });

  test('a failure is marked, and a success that looks like one is not treated as one', () => {
    const chat = new Conversation().user('Go').assistant({
      content: [],
      toolCalls: ['a', 'b', 'c', 'd'].map((callId) => ({ callId, name: 'read', arguments: '{}' })),
    });
    chat
      .result('a', 'read', 'disk full', true)
      .result('b', 'read', '[tool error] quoted')
      .result('c', 'read', '', true)
      .result('d', 'read', '');
    const sent = toOpenAIChat(chat.messages);
    expect(sent.slice(2).map(({ content }) => content)).toEqual([
      '[tool error] disk full',
      '[tool ok] [tool error] quoted',
      '[tool error] The tool failed.',
      '',
    ]);
    const back = fromOpenAIChat(sent).slice(2);
    expect(back.map((message) => message.role === 'tool' && message.isError)).toEqual([true, false, true, false]);
    expect(back[1]?.content).toEqual([{ type: 'text', text: '[tool error] quoted' }]);
  });

  test('images are data URLs; images of a tool follow the results', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;
    const call = (callId: string) => ({ callId, name: 'look', arguments: '{}' });
    const chat = new Conversation().user([image]).assistant({ content: [], toolCalls: [call('a'), call('b')] });
    chat
      .result('a', 'look', [{ type: 'text', text: 'seen' }, image])
      .result('b', 'look', 'nothing')
      .user('So?');
    const url = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    expect(toOpenAIChat(chat.messages).filter(({ role }) => role !== 'assistant')).toEqual([
      { role: 'user', content: [url] },
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      { role: 'tool', tool_call_id: 'b', content: 'nothing' },
      { role: 'user', content: [url] },
      { role: 'user', content: 'So?' },
    ]);
  });

  test('developer messages, refusals and unknown parts are parsed as far as possible', () => {
    const messages = fromOpenAIChat(
      [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: 'https://example.com/a.png' },
            { type: 'video', video: {} },
          ],
        },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
      ],
      { evaluationId: 'old', createdAt: '2024-01-01T00:00:00.000Z' },
    );
    expect(messages).toMatchObject([
      { role: 'system', id: 'old:0', evaluationId: 'old', sequence: 0, turn: 0, createdAt: '2024-01-01T00:00:00.000Z' },
      { role: 'user', content: [{ type: 'image', data: 'https://example.com/a.png' }], turn: 0 },
      { role: 'assistant', content: [{ type: 'text', text: 'No.' }], turn: 1 },
      { role: 'assistant', content: [{ type: 'text', text: 'Never.' }], turn: 2 },
    ]);
  });

  test.for([
    ['no role of the API', { role: 'function', content: 'x' }],
    ['content of another kind', { role: 'user', content: 3 }],
    ['a result without its call', { role: 'tool', content: 'x' }],
    ['calls that are no list', { role: 'assistant', content: '', tool_calls: {} }],
    ['a call without a function', { role: 'assistant', content: '', tool_calls: [{ id: 'a' }] }],
    ['nothing', null],
  ] as const)('rejects %s, and names the message', ([, message]) => {
    const read = () => fromOpenAIChat([{ role: 'user', content: 'Hi' }, message as never]);
    expect(read).toThrow(
      expect.toSatisfy(
        (error: unknown) => isHoldfastError(error, 'INVALID_ARGUMENT') && error.message.startsWith('messages[1]'),
      ),
    );
  });

  test("its messages are plain and mutable, as the API's own package requires", () => {
    expectTypeOf(toOpenAIChat([])).toEqualTypeOf<OpenAIChatMessage[]>();
    expectTypeOf(toOpenAIChat).returns.items.toHaveProperty('role');
  });
});

test("a tool message with its tool's name keeps the name, with and without its call", () => {
  const [, result] = fromOpenAIChat([
    { role: 'user', content: 'hi' },
    { role: 'tool', tool_call_id: 'c1', name: 'read', content: 'x' },
  ]);
  expect(result).toMatchObject({ role: 'tool', toolName: 'read' });
  const call = { id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } };
  const nameless = fromOpenAIChat([
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', name: '', content: 'x' },
  ]);
  expect(nameless.at(-1)).toMatchObject({ toolName: 'read' });
});
