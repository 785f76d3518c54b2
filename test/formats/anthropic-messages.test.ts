import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import type { ContentPart } from '../../src/core/log/messages.ts';
import { fromAnthropic, toAnthropic } from '../../src/formats/anthropic-messages.ts';
import { bare, conversation, type Holds, textPart } from '../models/arbitrary-conversation.ts';
import { Conversation } from '../models/converse.ts';
import { checkAnthropic } from '../support/provider-server/anthropic-check.ts';

const said = fc.string({ minLength: 1 }).filter((text) => text.trim() !== '');
const base64 = fc.base64String({ minLength: 4 });
const signed = fc
  .record({ text: fc.string(), signature: fc.base64String({ minLength: 4 }) })
  .map(({ text, signature }): ContentPart => ({ type: 'reasoning', text, signature, provider: 'anthropic' }));
const redacted = base64.map(
  (data): ContentPart => ({ type: 'reasoning', text: '', redacted: data, provider: 'anthropic' }),
);

/** Everything that the Messages API can represent. */
const HOLDS: Holds = {
  text: said,
  systemParts: { minLength: 1, maxLength: 3 },
  userMedia: fc.oneof(
    fc
      .constantFrom('image/png', 'image/jpeg', 'image/gif', 'image/webp')
      .chain((mediaType) => base64.map((data) => ({ type: 'image', mediaType, data }) as const)),
    fc.constant({ type: 'image', mediaType: 'image/*', data: 'https://example.com/a.png' } as const),
    base64.map((data) => ({ type: 'file', mediaType: 'application/pdf', data, filename: 'a.pdf' }) as const),
    said.map(
      (text) => ({ type: 'file', mediaType: 'text/plain', data: Buffer.from(text).toString('base64') }) as const,
    ),
    fc.constant({ type: 'file', mediaType: 'application/pdf', data: 'https://example.com/a.pdf' } as const),
  ),
  resultParts: fc.oneof(
    fc.array(textPart(said), { minLength: 1, maxLength: 3 }),
    fc.constant([
      { type: 'text', text: 'see' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    ] as const),
  ),
  // Reasoning, then text: the API rejects reasoning at the end.
  answerParts: fc
    .tuple(
      fc.array(fc.oneof(signed, redacted), { maxLength: 2 }),
      fc.array(textPart(said), { minLength: 1, maxLength: 2 }),
    )
    .map(([thoughts, texts]) => [...thoughts, ...texts]),
  callId: fc.stringMatching(/^toolu_[a-z0-9_-]{3,20}$/),
  uniqueIds: true,
  name: fc.constantFrom('read', 'write'),
  arguments: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  place: () => fc.constant(undefined),
};

/** Anything that a log can hold, except reasoning, whose signatures only the API can make. */
const anything: Holds = {
  ...HOLDS,
  text: fc.oneof(fc.constantFrom('', ' ', '\ud800'), said),
  systemParts: { maxLength: 2 },
  resultParts: fc.array(fc.oneof(textPart(fc.constantFrom('', ' ', 'ok', '\udc00')), HOLDS.userMedia), {
    maxLength: 3,
  }),
  answerParts: fc.array(
    fc.oneof<fc.Arbitrary<ContentPart>[]>(
      textPart(fc.oneof(fc.constantFrom('', '\n'), said)),
      fc.constant({ type: 'reasoning', text: 'hm', signature: 's', provider: 'google' }),
      fc.constant({ type: 'reasoning', text: 'hm', provider: 'anthropic' }),
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

describe('the Messages API', () => {
  test('representable messages are unchanged after a round trip', () => {
    fc.assert(
      fc.property(conversation(HOLDS), ({ messages }) => {
        expect(bare(fromAnthropic(toAnthropic(messages)))).toEqual(bare(messages));
      }),
    );
  });

  test('its own messages are unchanged after a round trip', () => {
    fc.assert(
      fc.property(
        conversation({ ...anything, answerParts: fc.oneof(HOLDS.answerParts, anything.answerParts) }),
        ({ messages }) => {
          const sent = toAnthropic(messages);
          expect(toAnthropic(fromAnthropic(sent))).toEqual(sent);
        },
      ),
    );
  });

  test('for any log, the API accepts the request (I4)', () => {
    fc.assert(
      fc.property(conversation(anything), (chat) => {
        const { messages } = chat.user('And now?');
        const tools = [{ name: 'read', input_schema: { type: 'object' } }];
        const body = { model: 'm', max_tokens: 1, stream: true, tools, ...toAnthropic(messages) };
        expect(checkAnthropic(JSON.parse(JSON.stringify(body)))).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  test('results are together directly after their calls, reasoning first, system separate', () => {
    const chat = new Conversation().system('Be brief.').user('Go');
    chat.assistant({
      content: [
        { type: 'reasoning', text: 'Hm.', signature: 'sig', provider: 'anthropic' },
        { type: 'reasoning', text: '', redacted: 'xyz', provider: 'anthropic' },
        { type: 'text', text: 'Reading.' },
      ],
      toolCalls: [
        { callId: 'a', name: 'read', arguments: '{"path":"a"}' },
        { callId: 'b', name: 'read', arguments: '{}' },
      ],
    });
    chat.result('a', 'read', 'ok').result('b', 'read', 'gone', true).user('Well?');
    expect(toAnthropic(chat.messages)).toEqual({
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Go' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
            { type: 'redacted_thinking', data: 'xyz' },
            { type: 'text', text: 'Reading.' },
            { type: 'tool_use', id: 'a', name: 'read', input: { path: 'a' } },
            { type: 'tool_use', id: 'b', name: 'read', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'ok' },
            { type: 'tool_result', tool_use_id: 'b', content: 'gone', is_error: true },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'Well?' }] },
      ],
    });
    expect(toAnthropic([])).toEqual({ messages: [] });
  });

  test('calls between texts follow the end of their text run, and reasoning keeps its position', () => {
    const chat = new Conversation().user('Go').assistant({
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
        { type: 'reasoning', text: 'Hm.', signature: 'sig', provider: 'anthropic' },
        { type: 'text', text: 'three' },
      ],
      toolCalls: [
        { callId: 'a', name: 'read', arguments: '{}', after: 1 },
        { callId: 'b', name: 'read', arguments: '{}' },
      ],
    });
    const [, answer] = toAnthropic(chat.messages).messages;
    expect(
      answer?.content.map((block) => ('text' in block ? block.text : 'id' in block ? block.id : block.type)),
    ).toEqual(['one', 'two', 'a', 'thinking', 'three', 'b']);
    expect(fromAnthropic(toAnthropic(chat.messages))[1]).toMatchObject({
      toolCalls: [{ callId: 'a', after: 2 }, { callId: 'b' }],
    });
  });

  test('reasoning without content after it is not sent, nor is reasoning of unknown or other origin', () => {
    const thought = { type: 'reasoning', text: 'Hm.', signature: 'sig' } as const;
    const text = { type: 'text', text: 'Yes.' } as const;
    const chat = new Conversation()
      .user('Go')
      .assistant({ content: [{ ...thought, provider: 'anthropic' }], toolCalls: [] })
      .assistant({ content: [thought, { ...thought, provider: 'google' }, text], toolCalls: [] });
    expect(toAnthropic(chat.messages).messages.slice(1)).toEqual([{ role: 'assistant', content: [text] }]);
  });

  test('a tool that Anthropic ran is sent back with its result, and is not run here', () => {
    const answer = {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } },
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_1',
          content: [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e' }],
        },
        { type: 'text', text: 'It rains.' },
      ],
    };
    const messages = fromAnthropic({ messages: [{ role: 'user', content: 'Weather?' }, answer] });
    expect(messages[1]).toMatchObject({
      content: [{ type: 'text', text: 'It rains.' }],
      toolCalls: [{ callId: 'srvtoolu_1', name: 'web_search', after: 0, providerExecuted: { result: [{ url: 'u' }] } }],
    });
    expect(toAnthropic(messages).messages[1]).toEqual(answer);
  });

  test("messages of the API's own package are parsed: plain strings, cache marks, results with other content", () => {
    const messages = fromAnthropic({
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'Go' },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'a', name: 'read', input: { path: 'x' }, cache_control: { type: 'ephemeral' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a' },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
    });
    expect(messages).toMatchObject([
      { role: 'system', content: [{ text: 'Be brief.' }] },
      { role: 'user', content: [{ text: 'Go' }], turn: 0 },
      { role: 'assistant', content: [], toolCalls: [{ callId: 'a', arguments: '{"path":"x"}' }], turn: 1 },
      { role: 'tool', toolCallId: 'a', toolName: 'read', content: [], isError: false, turn: 1 },
      { role: 'user', content: [{ text: 'And?' }], turn: 0 },
    ]);
  });

  test.for([
    ['no role of the API', { role: 'system', content: 'x' }],
    ['content of another kind', { role: 'user', content: { text: 'x' } }],
    ['a result without its call', { role: 'user', content: [{ type: 'tool_result' }] }],
    ['a call without a name', { role: 'assistant', content: [{ type: 'tool_use', id: 'a' }] }],
    ['nothing', undefined],
  ] as const)('rejects %s, and names the message', ([, message]) => {
    const read = () => fromAnthropic({ messages: [{ role: 'user', content: 'Hi' }, message as never] });
    expect(read).toThrow(
      expect.toSatisfy(
        (error: unknown) => isHoldfastError(error, 'INVALID_ARGUMENT') && error.message.startsWith('messages[1]'),
      ),
    );
  });

  test('media that it does not support is rejected, and the error names the supported ones', () => {
    const chat = new Conversation().user([{ type: 'file', mediaType: 'audio/wav', data: 'AAAA' }]);
    expect(() => toAnthropic(chat.messages)).toThrow(/image\/webp.*not audio\/wav/);
    const stored = new Conversation().user([{ type: 'image', mediaType: 'image/png', data: 'sha256:abc' }]);
    expect(() => toAnthropic(stored.messages)).toThrow(expect.objectContaining({ code: 'CONTENT_NOT_FOUND' }));
  });
});
