import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import { mediaOf } from '../../src/formats/media.ts';
import { type AiSdkModelOptions, aiSdkModel } from '../../src/models/ai-sdk.ts';
import { isClosedSchema } from '../../src/models/closed-schema.ts';
import { ask, askInVain, blocksIn, blocksOf, request } from './ask.ts';
import { Conversation } from './converse.ts';
import { asking, finish, said, v3, v4 } from './language-models.ts';

describe('the parts of a stream', () => {
  test('text and calls keep their order (ToolCall.after)', async () => {
    const call = (id: string): LanguageModelV4StreamPart => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: 'read',
      input: '{}',
    });
    const text = (id: string, delta: string): LanguageModelV4StreamPart[] => [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta },
      { type: 'text-end', id },
    ];
    const asked: LanguageModelV4CallOptions[] = [];
    const model = aiSdkModel(
      v4([call('a'), ...text('t', 'one'), call('b'), call('c'), ...text('t', 'two'), call('d'), finish], asked),
    );
    const { deltas, response } = await ask(model, asking);
    expect(response.content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]);
    expect(response.toolCalls.map(({ callId, after }) => [callId, after])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 1],
      ['d', undefined],
    ]);
    expect(blocksOf(deltas)).toEqual(blocksIn(response));
    const chat = new Conversation().user('Go').assistant(response);
    for (const { callId } of response.toolCalls) chat.result(callId, 'read', 'ok');
    await ask(model, request(2, chat.messages));
    const sent = asked[1]?.prompt[1]?.content as readonly { type: string; text?: string; toolCallId?: string }[];
    expect(sent.map((part) => part.text ?? part.toolCallId)).toEqual(['a', 'one', 'b', 'c', 'two', 'd']);
  });

  test('ids that are empty or repeated in one response are made unique (D11)', async () => {
    const call = (id: string): LanguageModelV4StreamPart => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: 'read',
      input: '{}',
    });
    const { response } = await ask(
      aiSdkModel(v4([call('x'), call(''), call('x'), call(''), finish])),
      request(3, asking.messages),
    );
    expect(response.toolCalls.map(({ callId }) => callId)).toEqual(['x', 'call_3_2', 'x_2', 'call_3_4']);
  });

  test("a provider's metadata of a part is recorded, and sent back only to that provider", async () => {
    const signed = { other: { thoughtSignature: 'sig' } };
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Hello' },
      { type: 'text-end', id: '1', providerMetadata: { other: { itemId: 'i1', nothing: null } } },
      { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: '{}', providerMetadata: signed },
      { ...finish, providerMetadata: { other: { cost: 3 } } },
    ];
    const asked: LanguageModelV4CallOptions[] = [];
    const { response } = await ask(aiSdkModel(v4(parts, asked)), asking);
    expect(response.providerMetadata).toEqual({ other: { cost: 3 } });
    const chat = new Conversation().user('Go').assistant(response).result('a', 'read', 'ok');
    await ask(aiSdkModel(v4(parts, asked)), request(2, chat.messages));
    await ask(aiSdkModel({ ...v4(parts, asked), provider: 'another.chat' }), request(2, chat.messages));
    expect(asked[1]?.prompt.slice(1)).toMatchObject([
      { content: [{ providerOptions: { other: { itemId: 'i1' } } }, { providerOptions: signed }] },
      { content: [{ type: 'tool-result', providerOptions: signed }] },
    ]);
    expect(JSON.stringify(asked[2])).not.toContain('providerOptions');
  });

  test('a result that arrives a turn late is sent back in its position', async () => {
    const first: LanguageModelV4StreamPart[] = [
      { type: 'tool-call', toolCallId: 'code', toolName: 'run', input: '{"code":"read()"}', providerExecuted: true },
      { type: 'tool-call', toolCallId: 'r', toolName: 'read', input: '{}' },
      finish,
    ];
    const second: LanguageModelV4StreamPart[] = [
      { type: 'tool-result', toolCallId: 'code', toolName: 'run', result: { out: 1 }, preliminary: true },
      { type: 'tool-result', toolCallId: 'code', toolName: 'run', result: { out: 2 }, isError: true },
      ...said,
      finish,
    ];
    const chat = new Conversation().user('Go');
    const one = await ask(aiSdkModel(v4(first)), asking);
    expect(one.response.toolCalls[0]).toMatchObject({ callId: 'code', providerExecuted: {} });
    chat.assistant(one.response).result('r', 'read', 'ok');
    const asked: LanguageModelV4CallOptions[] = [];
    const two = await ask(aiSdkModel(v4(second, asked)), request(2, chat.messages));
    expect(asked[0]?.prompt[1]?.content).toMatchObject([
      { toolCallId: 'code', providerExecuted: true },
      { toolCallId: 'r' },
    ]);
    chat.assistant(two.response).user('Next');
    await ask(aiSdkModel(v4(second, asked)), request(3, chat.messages));
    expect(asked[1]?.prompt.slice(1, 4)).toMatchObject([
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'code' }, { toolCallId: 'r' }] },
      { role: 'tool' },
      {
        role: 'assistant',
        content: [
          { type: 'tool-result', toolCallId: 'code', output: { type: 'error-json', value: { out: 2 } } },
          { type: 'text' },
        ],
      },
    ]);
    // If its call was cut out of the history, the result is dropped too, and so is a call whose result was cut.
    const late = chat.messages.slice(3);
    await ask(aiSdkModel(v4(second, asked)), request(3, late));
    expect(JSON.stringify(asked[2]?.prompt)).not.toContain('tool-result');
  });

  test('generated files are recorded, and external ones must be loaded first (D58)', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
      { type: 'file', mediaType: 'audio/mp3', data: { type: 'url', url: new URL('https://example.com/a.mp3') } },
      finish,
    ];
    const { response } = await ask(aiSdkModel(v4(parts)), asking);
    expect(response.content).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'AQID' },
      { type: 'file', mediaType: 'audio/mp3', data: 'https://example.com/a.mp3' },
    ]);
    const older = aiSdkModel(v3([{ type: 'file', mediaType: 'image/png', data: 'AQID' }, finish]));
    expect((await ask(older, asking)).response.content).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'AQID' },
    ]);
    const stored = new Conversation().user([{ type: 'image', mediaType: 'image/png', data: 'sha256:abc' }]);
    const { error } = await askInVain(aiSdkModel(v4(parts)), request(1, stored.messages));
    expect(isHoldfastError(error, 'CONTENT_NOT_FOUND')).toBe(true);
    const broken = new Conversation().user([{ type: 'image', mediaType: 'image/png', data: 'https://' }]);
    const refused = await askInVain(aiSdkModel(v4(parts)), request(1, broken.messages));
    expect(isHoldfastError(refused.error, 'INVALID_ARGUMENT')).toBe(true);
  });

  test('a provider that requests approval of its own tool gives an error that is not retried', async () => {
    const model = aiSdkModel(v4([{ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'c' }, finish]));
    const { error } = await askInVain(model, asking);
    expect(error).toMatchObject({ name: 'ModelError', retryable: false, message: expect.stringContaining('approve') });
  });

  test('warnings are emitted', async () => {
    const warnings: unknown[] = [];
    const options: AiSdkModelOptions = { onWarning: (warning) => warnings.push(warning) };
    const warning = { type: 'other', message: 'no temperature' } as const;
    await ask(aiSdkModel(v4([{ type: 'stream-start', warnings: [warning] }, ...said, finish]), options), asking);
    expect(warnings).toEqual([warning]);
  });

  test('a provider that ignores the signal does not block the request', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const deaf = { ...v4([]), doStream: () => new Promise<never>(() => undefined) };
    const asked = askInVain(aiSdkModel(deaf), { ...asking, signal: controller.signal });
    controller.abort(reason);
    expect((await asked).error).toBe(reason);

    const second = new AbortController();
    const open = new ReadableStream<LanguageModelV4StreamPart>({
      start: (stream) => stream.enqueue({ type: 'text-delta', id: '1', delta: 'Hi' }),
    });
    const silent = { ...v4([]), doStream: async () => ({ stream: open }) };
    await expect(async () => {
      for await (const _ of aiSdkModel(silent).stream({ ...asking, signal: second.signal })) second.abort(reason);
    }).rejects.toBe(reason);
  });
});

describe('the provider gets', () => {
  const sentFor = async (chat: Conversation, turn = 2): Promise<string> => {
    const asked: LanguageModelV4CallOptions[] = [];
    await ask(aiSdkModel(v4([...said, finish], asked)), request(turn, chat.messages));
    return JSON.stringify(asked[0]?.prompt);
  };
  const called = (): Conversation =>
    new Conversation()
      .user('Go')
      .assistant({ content: [], toolCalls: [{ callId: 'a', name: 'look', arguments: '{}' }] });

  test('the image of a failed result', async () => {
    const picture = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;
    expect(await sentFor(called().result('a', 'look', [{ type: 'text', text: 'no' }, picture], true))).toContain(
      'AAAA',
    );
  });

  test('the texts of a result, as separate parts', async () => {
    const texts = ['a.txt', 'b.txt'].map((text) => ({ type: 'text' as const, text }));
    expect(await sentFor(called().result('a', 'look', texts))).not.toContain('a.txtb.txt');
  });

  test.for([
    ['data:image/svg+xml;utf8,<svg width="100%"/>', '<svg width="100%"/>'],
    ['data:text/plain,a%20b', 'a b'],
    ['data:image/gif,GIF%FF%00', Buffer.from([0x47, 0x49, 0x46, 0xff, 0x00])],
  ] as const)('the content of %s', ([data, content]) => {
    const media = mediaOf({ type: 'image', mediaType: 'image/x', data });
    expect(media).toMatchObject({ base64: Buffer.from(content as string).toString('base64') });
  });

  test('a data URL without content is rejected', () => {
    expect(() => mediaOf({ type: 'image', mediaType: 'image/x', data: 'data:image/gif' })).toThrow(/no content/);
  });

  test('a call that the provider runs and completes only after a pause has one result', async () => {
    const paused = { ...finish, finishReason: { unified: 'other', raw: 'pause_turn' } } as const;
    const search = { toolCallId: 'srv', toolName: 'web_search' };
    const streams: LanguageModelV4StreamPart[][] = [
      [{ type: 'tool-call', ...search, input: '{}', providerExecuted: true }, paused],
      [{ type: 'tool-result', ...search, result: [{ url: 'u' }] }, ...said, finish],
    ];
    const asked: LanguageModelV4CallOptions[] = [];
    const base = v4([]);
    const model = aiSdkModel({
      ...base,
      provider: 'anthropic.messages',
      doStream: async (options) => v4(streams[asked.push(options) - 1] ?? [...said, finish]).doStream(options),
    });
    const chat = new Conversation().user('Weather?');
    const { response } = await ask(model, request(1, chat.messages));
    expect(response.toolCalls).toHaveLength(1);
    await ask(model, request(2, chat.assistant(response).user('And tomorrow?').messages));
    const sent = JSON.stringify(asked.at(-1)?.prompt);
    expect(sent).toContain('"type":"tool-result","toolCallId":"srv"');
    expect(sent).not.toContain('srv_2');
  });

  test('a union is not requested strictly', () => {
    const object = (kind: string): unknown => ({
      type: 'object',
      properties: { kind: { const: kind } },
      required: ['kind'],
      additionalProperties: false,
    });
    expect(isClosedSchema(object('a'))).toBe(true);
    expect(isClosedSchema({ anyOf: [object('a'), object('b')] })).toBe(true);
    expect(isClosedSchema({ oneOf: [object('a'), object('b')] })).toBe(false);
  });
});
