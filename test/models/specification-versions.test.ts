import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV4,
  LanguageModelV4CallOptions,
} from '@ai-sdk/provider';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import { type AiSdkLanguageModel, aiSdkModel, isAiSdkModel, toModel } from '../../src/models/ai-sdk.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { ask, askInVain, request } from './ask.ts';
import { Conversation, TOOLS } from './converse.ts';
import { asking, finish, said, v2, v3, v4 } from './language-models.ts';

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
    const { response } = await ask(
      aiSdkModel(model, { reasoning: 'low' }),
      request(2, full.messages, { tools: TOOLS }),
    );
    expect(response).toMatchObject({
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
    const { response } = await ask(
      aiSdkModel(model, { reasoning: 'low' }),
      request(2, full.messages, { tools: TOOLS }),
    );
    expect(response.usage).toMatchObject({ inputTokens: 9, outputTokens: 8, reasoningTokens: 5 });
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
    const { response } = await ask(aiSdkModel(model, { tools }), request(2, full.messages, { tools: TOOLS }));
    expect(response).toMatchObject({
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
  ] as const)('a stream that was cut is distinguished from one that ended: %s', async ([, model]) => {
    const { deltas, error } = await askInVain(aiSdkModel(model), asking);
    expect(deltas).toHaveLength(1);
    expect(error).toMatchObject({ name: 'ModelError', retryable: true });
  });

  test('a stream without usage has ended if it has a finish reason', async () => {
    const { response } = await ask(aiSdkModel(v4([...said, { ...finish, usage: nothing }])), asking);
    expect(response).not.toHaveProperty('usage');
    expect(response.finishReason).toBe('stop');
  });

  test('an unknown version is rejected, with advice', () => {
    const model = { ...v4([]), specificationVersion: 'v9' };
    expect(() => aiSdkModel(model)).toThrow(/v9.*install another version/s);
  });
});

describe('toModel', () => {
  test('accepts models of every version, and returns our own unchanged', () => {
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
  ] as const)('rejects %s and names what to pass', ([, value, message]) => {
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
