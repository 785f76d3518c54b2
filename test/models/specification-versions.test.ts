import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import {
  type AiSdkLanguageModel,
  type AiSdkModelOptions,
  aiSdkModel,
  isAiSdkModel,
  toModel,
} from '../../src/models/ai-sdk.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { ModelError } from '../../src/ports/model.ts';
import { ask, askInVain, blocksIn, blocksOf, request } from './ask.ts';
import { Conversation, TOOLS } from './converse.ts';

/** Language models as a provider package would write them, one per version: they keep what they are asked. */
const base = { provider: 'other.chat', modelId: 'm', supportedUrls: {} };
const never = () => Promise.reject(new Error('doGenerate is not used'));

function streamOf<T>(parts: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function v4(parts: readonly LanguageModelV4StreamPart[], asked: LanguageModelV4CallOptions[] = []): LanguageModelV4 {
  const doStream = async (options: LanguageModelV4CallOptions) => {
    asked.push(options);
    return { stream: streamOf(parts) };
  };
  return { ...base, specificationVersion: 'v4', doGenerate: never, doStream };
}

function v3(parts: readonly LanguageModelV3StreamPart[], asked: LanguageModelV3CallOptions[] = []): LanguageModelV3 {
  const doStream = async (options: LanguageModelV3CallOptions) => {
    asked.push(options);
    return { stream: streamOf(parts) };
  };
  return { ...base, specificationVersion: 'v3', doGenerate: never, doStream };
}

function v2(parts: readonly LanguageModelV2StreamPart[], asked: LanguageModelV2CallOptions[] = []): LanguageModelV2 {
  const doStream = async (options: LanguageModelV2CallOptions) => {
    asked.push(options);
    return { stream: streamOf(parts) };
  };
  return { ...base, specificationVersion: 'v2', doGenerate: never, doStream };
}

const usage = {
  inputTokens: { total: 9, noCache: 4, cacheRead: 3, cacheWrite: 2 },
  outputTokens: { total: 8, text: 3, reasoning: 5 },
};
const finish = { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'end_turn' } } as const;
const said = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Hello' },
  { type: 'text-end', id: '1' },
] as const;

const asking = request(1, new Conversation().user('Hi').messages);

/** A conversation with every kind of content in it. */
const full = new Conversation()
  .user([
    { type: 'text', text: 'Look' },
    { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    { type: 'file', mediaType: 'application/pdf', data: 'https://example.com/a.pdf' },
  ])
  .assistant({ content: [], toolCalls: [{ callId: 'c1', name: 'read', arguments: '{}' }] })
  .result('c1', 'read', [
    { type: 'text', text: 'see' },
    { type: 'image', mediaType: 'image/png', data: 'BBBB' },
    { type: 'image', mediaType: 'image/png', data: 'https://example.com/b.png' },
    { type: 'file', mediaType: 'application/pdf', data: 'CCCC' },
  ]);
const url = (path: string) =>
  expect.toSatisfy((value) => value instanceof URL && value.href === `https://example.com/${path}`);

describe('the versions of the AI SDK’s provider specification', () => {
  test('v4 (AI SDK 7): tagged files, nested usage', async () => {
    const asked: LanguageModelV4CallOptions[] = [];
    const model = { ...v4([...said, finish], asked), provider: 'other.responses' };
    const { answer } = await ask(aiSdkModel(model, { reasoning: 'low' }), request(2, full.messages, { tools: TOOLS }));
    expect(answer).toMatchObject({
      content: [{ type: 'text', text: 'Hello' }],
      finishReason: 'stop',
      usage: { inputTokens: 9, outputTokens: 8, cachedInputTokens: 3, cacheWriteTokens: 2, reasoningTokens: 5 },
    });
    expect(asked[0]).toMatchObject({ reasoning: 'low', toolChoice: { type: 'auto' } });
    expect(asked[0]?.prompt).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text' },
          { data: { type: 'data', data: 'AAAA' } },
          { data: { type: 'url', url: url('a.pdf') } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', input: {} }] },
      {
        role: 'tool',
        content: [
          {
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'see' },
                { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'BBBB' } },
                { type: 'file', data: { type: 'url', url: url('b.png') } },
                { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: 'CCCC' } },
              ],
            },
          },
        ],
      },
    ]);
  });

  test('v3 (AI SDK 6): bare files, image and file results', async () => {
    const asked: LanguageModelV3CallOptions[] = [];
    const model = { ...v3([...said, finish], asked), provider: 'other.responses' };
    const { answer } = await ask(aiSdkModel(model, { reasoning: 'low' }), request(2, full.messages, { tools: TOOLS }));
    expect(answer.usage).toMatchObject({ inputTokens: 9, outputTokens: 8, reasoningTokens: 5 });
    expect(asked[0]).not.toHaveProperty('reasoning');
    expect(asked[0]?.prompt).toMatchObject([
      {
        role: 'user',
        content: [{ type: 'text' }, { type: 'file', data: 'AAAA' }, { type: 'file', data: url('a.pdf') }],
      },
      { role: 'assistant' },
      {
        role: 'tool',
        content: [
          {
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'see' },
                { type: 'image-data', data: 'BBBB', mediaType: 'image/png' },
                { type: 'image-url', url: 'https://example.com/b.png' },
                { type: 'file-data', data: 'CCCC', mediaType: 'application/pdf' },
              ],
            },
          },
        ],
      },
    ]);
  });

  test('v2 (AI SDK 5): flat usage, plain finish reason, media results, provider-defined tools', async () => {
    const asked: LanguageModelV2CallOptions[] = [];
    const parts: LanguageModelV2StreamPart[] = [
      ...said,
      {
        type: 'finish',
        finishReason: 'length',
        usage: { inputTokens: 9, outputTokens: 8, totalTokens: 17, cachedInputTokens: 3, reasoningTokens: 5 },
      },
    ];
    const model = { ...v2(parts, asked), provider: 'other.responses' };
    const tools = { search: { type: 'provider', id: 'other.search', args: { depth: 1 } } } as const;
    const { answer } = await ask(aiSdkModel(model, { tools }), request(2, full.messages, { tools: TOOLS }));
    expect(answer).toMatchObject({
      finishReason: 'length',
      usage: { inputTokens: 9, outputTokens: 8, cachedInputTokens: 3, reasoningTokens: 5 },
    });
    expect(asked[0]?.tools).toMatchObject([
      { type: 'function', name: 'read' },
      { type: 'function', name: 'write' },
      { type: 'provider-defined', id: 'other.search', name: 'search', args: { depth: 1 } },
    ]);
    expect(asked[0]?.prompt.at(-1)).toMatchObject({
      content: [
        {
          output: {
            value: [
              { type: 'text' },
              { type: 'media', data: 'BBBB', mediaType: 'image/png' },
              { type: 'text', text: 'https://example.com/b.png' },
              { type: 'media', data: 'CCCC' },
            ],
          },
        },
      ],
    });
  });

  const nothing = {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  };
  const flat = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
  test.for([
    ['v4, no finish at all', v4([...said])],
    ['v4, interrupted', v4([...said, { ...finish, finishReason: { unified: 'interrupted', raw: undefined } }])],
    [
      'v4, for no reason at no cost',
      v4([...said, { ...finish, usage: nothing, finishReason: { unified: 'other', raw: undefined } }]),
    ],
    [
      'v3, for no reason at no cost',
      v3([...said, { ...finish, usage: nothing, finishReason: { unified: 'other', raw: undefined } }]),
    ],
    ['v2, unknown', v2([...said, { type: 'finish', usage: flat, finishReason: 'unknown' }])],
    ['v2, no finish at all', v2([...said])],
  ] as const)('a stream that was cut is told from one that ended: %s', async ([, model]) => {
    const { deltas, error } = await askInVain(aiSdkModel(model), asking);
    expect(deltas).toHaveLength(1);
    expect(error).toMatchObject({ name: 'ModelError', retryable: true });
  });

  test('a provider that gives no usage is believed when it gives a reason', async () => {
    const { answer } = await ask(aiSdkModel(v4([...said, { ...finish, usage: nothing }])), asking);
    expect(answer).not.toHaveProperty('usage');
    expect(answer.finishReason).toBe('stop');
  });

  test('an unknown version is refused, with what to do', () => {
    const model = { ...v4([]), specificationVersion: 'v9' };
    expect(() => aiSdkModel(model)).toThrow(/v9.*install another version/s);
  });
});

describe('what a stream may hold', () => {
  test('text and calls keep the order in which they came (ToolCall.after)', async () => {
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
    const { deltas, answer } = await ask(model, asking);
    expect(answer.content).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]);
    expect(answer.toolCalls.map(({ callId, after }) => [callId, after])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 1],
      ['d', undefined],
    ]);
    expect(blocksOf(deltas)).toEqual(blocksIn(answer));
    const chat = new Conversation().user('Go').assistant(answer);
    for (const { callId } of answer.toolCalls) chat.result(callId, 'read', 'ok');
    await ask(model, request(2, chat.messages));
    const sent = asked[1]?.prompt[1]?.content as readonly { type: string; text?: string; toolCallId?: string }[];
    expect(sent.map((part) => part.text ?? part.toolCallId)).toEqual(['a', 'one', 'b', 'c', 'two', 'd']);
  });

  test('ids that are empty or repeated in one answer are made unique (D11)', async () => {
    const call = (id: string): LanguageModelV4StreamPart => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: 'read',
      input: '{}',
    });
    const { answer } = await ask(
      aiSdkModel(v4([call('x'), call(''), call('x'), call(''), finish])),
      request(3, asking.messages),
    );
    expect(answer.toolCalls.map(({ callId }) => callId)).toEqual(['x', 'call_3_2', 'x_2', 'call_3_4']);
  });

  test('what a provider says about a part is kept, and given back to it alone', async () => {
    const signed = { other: { thoughtSignature: 'sig' } };
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Hello' },
      { type: 'text-end', id: '1', providerMetadata: { other: { itemId: 'i1', nothing: null } } },
      { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: '{}', providerMetadata: signed },
      { ...finish, providerMetadata: { other: { cost: 3 } } },
    ];
    const asked: LanguageModelV4CallOptions[] = [];
    const { answer } = await ask(aiSdkModel(v4(parts, asked)), asking);
    expect(answer.providerMetadata).toEqual({ other: { cost: 3 } });
    const chat = new Conversation().user('Go').assistant(answer).result('a', 'read', 'ok');
    await ask(aiSdkModel(v4(parts, asked)), request(2, chat.messages));
    await ask(aiSdkModel({ ...v4(parts, asked), provider: 'another.chat' }), request(2, chat.messages));
    expect(asked[1]?.prompt.slice(1)).toMatchObject([
      { content: [{ providerOptions: { other: { itemId: 'i1' } } }, { providerOptions: signed }] },
      { content: [{ type: 'tool-result', providerOptions: signed }] },
    ]);
    expect(JSON.stringify(asked[2])).not.toContain('providerOptions');
  });

  test('a result that arrives a turn late is replayed in its place', async () => {
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
    expect(one.answer.toolCalls[0]).toMatchObject({ callId: 'code', providerExecuted: {} });
    chat.assistant(one.answer).result('r', 'read', 'ok');
    const asked: LanguageModelV4CallOptions[] = [];
    const two = await ask(aiSdkModel(v4(second, asked)), request(2, chat.messages));
    expect(asked[0]?.prompt[1]?.content).toMatchObject([
      { toolCallId: 'code', providerExecuted: true },
      { toolCallId: 'r' },
    ]);
    chat.assistant(two.answer).user('Next');
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
    // Its call was cut out of the history: then the result goes too, and a call whose result was cut.
    const late = chat.messages.slice(3);
    await ask(aiSdkModel(v4(second, asked)), request(3, late));
    expect(JSON.stringify(asked[2]?.prompt)).not.toContain('tool-result');
  });

  test('generated files are kept, and stored ones must be read first (D58)', async () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
      { type: 'file', mediaType: 'audio/mp3', data: { type: 'url', url: new URL('https://example.com/a.mp3') } },
      finish,
    ];
    const { answer } = await ask(aiSdkModel(v4(parts)), asking);
    expect(answer.content).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'AQID' },
      { type: 'file', mediaType: 'audio/mp3', data: 'https://example.com/a.mp3' },
    ]);
    const older = aiSdkModel(v3([{ type: 'file', mediaType: 'image/png', data: 'AQID' }, finish]));
    expect((await ask(older, asking)).answer.content).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'AQID' },
    ]);
    const stored = new Conversation().user([{ type: 'image', mediaType: 'image/png', data: 'sha256:abc' }]);
    const { error } = await askInVain(aiSdkModel(v4(parts)), request(1, stored.messages));
    expect(isHoldfastError(error, 'CONTENT_NOT_FOUND')).toBe(true);
  });

  test('a provider that wants its own tool approved says so, and is not asked again', async () => {
    const model = aiSdkModel(v4([{ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'c' }, finish]));
    const { error } = await askInVain(model, asking);
    expect(error).toMatchObject({ name: 'ModelError', retryable: false, message: expect.stringContaining('approve') });
  });

  test('warnings are heard', async () => {
    const heard: unknown[] = [];
    const options: AiSdkModelOptions = { onWarning: (warning) => heard.push(warning) };
    const warning = { type: 'other', message: 'no temperature' } as const;
    await ask(aiSdkModel(v4([{ type: 'stream-start', warnings: [warning] }, ...said, finish]), options), asking);
    expect(heard).toEqual([warning]);
  });

  test('a provider that ignores the signal is left all the same', async () => {
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

describe('toModel', () => {
  test('takes models of every version, and our own as they are', () => {
    expectTypeOf<LanguageModelV4>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>();
    const own = scriptedModel([]);
    expect(toModel(own)).toBe(own);
    for (const model of [v4([]), v3([]), v2([])]) {
      expect(isAiSdkModel(model)).toBe(true);
      expect(toModel(model)).toMatchObject({ provider: 'other.chat', modelId: 'm' });
    }
    expect(isAiSdkModel(own)).toBe(false);
  });

  test.for([
    ['a name', 'gpt-5', /openai\('gpt-5'\)/],
    ['nothing', undefined, /no model/],
    ['an object of another kind', { generate: () => undefined }, /no model/],
  ] as const)('refuses %s and says what to pass', ([, value, message]) => {
    for (const make of [toModel, aiSdkModel] as readonly ((value: never) => unknown)[]) {
      expect(() => make(value as never)).toThrow(
        expect.toSatisfy((error: unknown) => isHoldfastError(error, 'INVALID_ARGUMENT') && message.test(error.message)),
      );
    }
  });

  test('does not wrap one of ours', () => {
    expect(() => aiSdkModel(scriptedModel([]) as never)).toThrow(/already/);
  });
});

describe('errors of clients', () => {
  const throwing = (error: unknown): LanguageModelV4 => ({ ...v4([]), doStream: () => Promise.reject(error) });
  const apiError = (fields: object) => Object.assign(new Error('refused'), { name: 'AI_APICallError', ...fields });

  test.for([
    ['a status', apiError({ statusCode: 503 }), { status: 503, retryable: true }],
    [
      'a status with the client’s own word',
      apiError({ statusCode: 429, isRetryable: false }),
      { status: 429, retryable: false },
    ],
    [
      'a quota that waiting does not fill',
      apiError({ statusCode: 429, isRetryable: true, responseBody: '{"error":{"code":"insufficient_quota"}}' }),
      { retryable: false },
    ],
    [
      'milliseconds to wait',
      apiError({ statusCode: 429, responseHeaders: { 'retry-after-ms': '250.5', 'retry-after': '9' } }),
      { retryAfterMs: 250.5 },
    ],
    ['seconds to wait', apiError({ statusCode: 429, responseHeaders: { 'retry-after': '2' } }), { retryAfterMs: 2000 }],
    [
      'a date to wait for, by the provider’s clock',
      apiError({
        statusCode: 503,
        responseHeaders: { 'retry-after': 'Fri, 02 Jan 2026 00:00:30 GMT', date: 'Fri, 02 Jan 2026 00:00:00 GMT' },
      }),
      { retryAfterMs: 30_000 },
    ],
    [
      'a date that has passed',
      apiError({ statusCode: 503, responseHeaders: { 'retry-after': 'Fri, 02 Jan 1998 00:00:30 GMT' } }),
      { retryAfterMs: 0 },
    ],
    [
      'a wait that is no time',
      apiError({ statusCode: 503, responseHeaders: { 'retry-after': 'soon' } }),
      { retryable: true },
    ],
    [
      'a client that will not send',
      Object.assign(new Error('no key'), { name: 'AI_LoadAPIKeyError' }),
      { retryable: false },
    ],
    ['a connection that broke', Object.assign(new Error('read'), { code: 'ECONNRESET' }), { retryable: true }],
    [
      'a connection that broke, further down',
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }) }),
      { retryable: true },
    ],
    ['anything else', new RangeError('bug'), { retryable: false, message: 'bug' }],
  ] as const)('%s', async ([, thrown, expected]) => {
    const { error } = await askInVain(aiSdkModel(throwing(thrown)), asking);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ ...expected, cause: thrown });
    if (!('retryAfterMs' in expected)) expect((error as ModelError).retryAfterMs).toBeUndefined();
  });

  test.for([
    ['an object', { message: 'overloaded', statusCode: 529 }, { status: 529, message: 'overloaded', retryable: true }],
    ['an object in an object', { error: { message: 'inner' } }, { message: 'inner', retryable: true }],
    ['a text', 'broken', { message: 'broken', retryable: true }],
    ['the provider’s no', { message: 'policy', statusCode: 400 }, { status: 400, retryable: false }],
  ] as const)('in mid-stream: %s', async ([, thrown, expected]) => {
    const { deltas, error } = await askInVain(
      aiSdkModel(v4([...said, { type: 'error', error: thrown }, finish])),
      asking,
    );
    expect(deltas).toHaveLength(1);
    expect(error).toMatchObject(expected);
  });
});
