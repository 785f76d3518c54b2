import { anthropic } from '@ai-sdk/anthropic';
import { openai } from '@ai-sdk/openai';
import { tool as aiTool, dynamicTool, jsonSchema, zodSchema } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { memoryStore, openSession } from '../../src/index.ts';
import { agent, call, resultText, tool } from '../loop/agent.ts';
import { languageModel, serve } from '../models/providers.ts';

/** AI SDK `tool()` objects are accepted unchanged. */

describe('tool() objects', () => {
  test.for([
    ['zod', z.object({ city: z.string() })],
    ['zodSchema()', zodSchema(z.object({ city: z.string() }))],
    [
      'jsonSchema()',
      jsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      }),
    ],
  ] as const)('with %s are described to the model, validated and run', async ([kind, inputSchema]) => {
    const execute = vi.fn(async ({ city }: { city: string }) => ({ city, degrees: 21 }));
    const weather = aiTool({
      description: 'The weather',
      inputSchema: inputSchema as z.ZodType<{ city: string }>,
      execute,
    });
    const { session, evaluate, requests, results } = await agent({
      script: [{ toolCalls: [call('weather', { city: 'Oslo' }), call('weather', { town: 'Oslo' })] }, 'ok'],
      tools: { weather },
    });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(requests[0]?.tools).toMatchObject([
      {
        name: 'weather',
        description: 'The weather',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ]);
    expect(resultText(session, 'call_1_1')).toBe('{"city":"Oslo","degrees":21}');
    // Without a validator the tool gets its input unchecked, as in the AI SDK.
    expect(results().call_1_2?.isError).toBe(kind !== 'jsonSchema()');
  });

  test("are `once`, receive their call's id and signal, and work beside tools of ours", async () => {
    const seen: unknown[] = [];
    const theirs = aiTool({
      inputSchema: z.object({}),
      execute: async (_, { toolCallId, abortSignal, messages }) => {
        seen.push(toolCallId, abortSignal?.aborted, messages);
      },
    });
    const { session, evaluate, prompt } = await agent({
      script: [{ toolCalls: [call('theirs', {}, 'c1'), call('ours')] }, 'ok'],
      tools: { theirs, ours: tool('ours', () => 'ours') },
    });
    await evaluate();
    expect(seen).toEqual(['c1', false, []]);
    expect(resultText(session, 'call_1_2')).toBe('ours');
    expect(prompt.tools.map(({ name, effect }) => `${name} ${effect}`)).toEqual(['theirs once', 'ours once']);
  });

  test('can be mixed with tools of ours in a list, by key or with their own name', () => {
    const weather = aiTool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city });
    const count = aiTool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => n });
    const search = openai.tools.webSearch();
    const ours = tool('ours', () => 'ours');
    const tools = [{ weather, search }, ours, { ...count, name: 'count' }, {}, { id: weather }];
    const prompt = definePrompt({ ns: 'n', key: 'k', instructions: '', tools });
    const names = prompt.tools.map(({ name }) => name);
    expect(names).toEqual(['weather', 'search', 'ours', 'count', 'id']);
    expect(prompt.tools.find(({ name }) => name === 'search')?.provider).toMatchObject({ id: 'openai.web_search' });
    const same = {
      ns: 'n',
      key: 'k',
      instructions: '',
      tools: { weather, search, ours, count, id: weather },
    };
    expect(prompt.hash).toBe(definePrompt(same).hash);
  });

  test.for<readonly [string, object, RegExp]>([
    [
      'without a name in a list',
      [aiTool({ inputSchema: z.object({}) })],
      /no name of its own; pass it as \{ name: tool \}/,
    ],
    [
      'under a name that providers refuse',
      [{ 'a b': aiTool({ inputSchema: z.object({}) }) }],
      /"a b" cannot name a tool/,
    ],
    ['under a name that is taken', [tool('a', () => ''), { a: tool('a', () => '') }], /two tools called "a"/],
  ])('I10: %s are a typed error', ([, tools, message]) => {
    const definition = { ns: 'n', key: 'k', instructions: '', tools: tools as readonly [] };
    expect(() => definePrompt(definition)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) }),
    );
  });

  test('that yield preliminary results return the last one', async () => {
    const counting = aiTool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'counting';
        yield 'still counting';
        yield { n: 3 };
      },
    });
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('counting')] }, 'ok'],
      tools: { counting },
    });
    await evaluate();
    expect(resultText(session, 'call_1_1')).toBe('{"n":3}');
  });

  test.for([
    [{ type: 'text', value: 'for the model' }, [{ type: 'text', text: 'for the model' }], false],
    [{ type: 'json', value: { a: 1 } }, [{ type: 'text', text: '{"a":1}' }], false],
    [{ type: 'error-text', value: 'no' }, [{ type: 'text', text: 'no' }], true],
    [{ type: 'error-json', value: { code: 7 } }, [{ type: 'text', text: '{"code":7}' }], true],
    [{ type: 'execution-denied', reason: 'late' }, [{ type: 'text', text: 'This call was denied: late' }], true],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'Look:' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAEC' } },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([0, 1, 2]) } },
          {
            type: 'file',
            mediaType: 'application/pdf',
            filename: 'a.pdf',
            data: { type: 'url', url: new URL('https://example.com/a.pdf') },
          },
          { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'inline' } },
          { type: 'image-data', mediaType: 'image/jpeg', data: 'AAEC' },
        ],
      },
      [
        { type: 'text', text: 'Look:' },
        { type: 'image', mediaType: 'image/png', data: 'AAEC' },
        { type: 'image', mediaType: 'image/png', data: 'AAEC' },
        { type: 'file', mediaType: 'application/pdf', data: 'https://example.com/a.pdf', filename: 'a.pdf' },
        { type: 'text', text: 'inline' },
        { type: 'image', mediaType: 'image/jpeg', data: 'AAEC' },
      ],
      false,
    ],
  ] as const)('with toModelOutput: %o', async ([given, content, isError]) => {
    const toModelOutput = vi.fn(() => given as never);
    const shown = aiTool({ inputSchema: z.object({ n: z.number() }), execute: async () => 'raw', toModelOutput });
    const { evaluate, results } = await agent({
      script: [{ toolCalls: [call('shown', { n: 1 })] }, 'ok'],
      tools: { shown },
    });
    await evaluate();
    expect(toModelOutput).toHaveBeenCalledWith({ toolCallId: 'call_1_1', input: { n: 1 }, output: 'raw' });
    expect(results().call_1_1).toMatchObject({ content, isError });
  });

  test('with needsApproval, fixed or by input', async () => {
    const needsApproval = vi.fn(
      async ({ n }: { n: number }, { messages }: { messages: unknown[] }) => n > messages.length,
    );
    const pay = aiTool({
      inputSchema: z.object({ n: z.number() }),
      execute: async ({ n }) => `paid ${n}`,
      needsApproval,
    });
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('pay', { n: 0 }), call('pay', { n: 5 })] }, 'ok'],
      tools: { pay },
    });
    const { pending } = await evaluate();
    expect(pending.map(({ callId }) => callId)).toEqual(['call_1_2']);
    for (const one of pending) await session.approve(one);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_2')).toBe('paid 5');
  });

  test('can be dynamic, have descriptions that are functions, and no schema', async () => {
    const any = dynamicTool({
      description: 'Anything',
      inputSchema: z.object({}).loose(),
      execute: async (input) => input,
    });
    const described = aiTool({ description: () => 'By a function', inputSchema: z.object({}), execute: async () => 1 });
    const { session, evaluate, requests } = await agent({
      script: [{ toolCalls: [call('any', { a: 1 })] }, 'ok'],
      tools: { any, described },
    });
    await evaluate();
    expect(resultText(session, 'call_1_1')).toBe('{"a":1}');
    expect(requests[0]?.tools?.map(({ description }) => description)).toEqual(['Anything', 'By a function']);
  });

  test('that throw give a failed result, like any other (D20)', async () => {
    const boom = aiTool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => {
        throw new Error('no luck');
      },
    });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('boom')] }, 'ok'], tools: { boom } });
    expect(await evaluate()).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('no luck');
  });

  const inputSchema = z.object({});
  test.for([
    ['without execute', () => ({ a: aiTool({ inputSchema, outputSchema: z.string() }) })],
    ['in a list, where they have no name', () => [aiTool({ inputSchema, execute: async () => 1 })]],
    [
      'with a JSON Schema that is a promise',
      () => ({ a: aiTool({ inputSchema: jsonSchema(Promise.resolve({})), execute: async () => 1 }) }),
    ],
    ['that a provider defines and that has no execute', () => ({ memory: anthropic.tools.memory_20250818({}) })],
  ] as const)('%s: rejected by definePrompt', ([, tools]) => {
    expect(() => definePrompt({ ns: 'a', key: 'b', instructions: '', tools: tools() as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

describe('tools that a provider defines', () => {
  test.for([
    ['anthropic', { web_search: anthropic.tools.webSearch_20250305({ maxUses: 2 }) }, 'web_search_20250305'],
    ['openai.responses', { web_search: openai.tools.webSearch({}) }, 'web_search'],
  ] as const)(
    '%s: the provider runs it; it is recorded, sent back to it, and never run here',
    async ([provider, tools, type]) => {
      const server = await serve(({ turn }) =>
        turn === 1
          ? {
              webSearch: { query: 'rain', url: 'https://example.com/rain', title: 'Rain' },
              text: 'It rains.',
              toolCalls: [{ name: 'note', arguments: { n: 1 } }],
            }
          : 'Noted.',
      );
      const noted = vi.fn(() => 'noted');
      const prompt = definePrompt({
        ns: 'test',
        key: 'search',
        instructions: 'Search.',
        tools: { ...tools, note: tool('note', noted) },
      });
      const session = await openSession({ store: memoryStore(), id: 's' });
      const adapter = createAdapter({ model: languageModel(provider, server.url) });
      expect(await adapter.evaluate(prompt, { session, input: 'Weather?' })).toMatchObject({
        text: 'Noted.',
        turns: 2,
      });
      expect(server.refusals).toEqual([]);
      const [first, second] = server.requests.map(({ body }) => body as { tools: { type: string }[] });
      expect(first?.tools.map((one) => one.type)).toContain(type);
      const answer = session.state.record.messages.toArray().find(({ role }) => role === 'assistant');
      const calls = answer?.role === 'assistant' ? (answer.toolCalls ?? []) : [];
      expect(calls.map(({ providerExecuted }) => providerExecuted !== undefined)).toEqual([true, false]);
      expect(JSON.stringify(second)).toContain(provider === 'anthropic' ? 'web_search_tool_result' : 'web_search_call');
      expect(noted).toHaveBeenCalledTimes(1);
      const results = session.state.record.messages.toArray().filter(({ role }) => role === 'tool');
      expect(results).toHaveLength(1); // none for the search
    },
  );

  test('a tool that the provider defines and we run is described by its id, and run here', async () => {
    const server = await serve([{ toolCalls: [{ name: 'bash', arguments: { command: 'ls' } }] }, 'Done.']);
    const bash = anthropic.tools.bash_20250124({ execute: async ({ command }) => `ran ${command}` });
    const prompt = definePrompt({ ns: 'test', key: 'shell', instructions: 'Work.', tools: { bash } });
    const session = await openSession({ store: memoryStore(), id: 's' });
    const adapter = createAdapter({ model: languageModel('anthropic', server.url) });
    expect(await adapter.evaluate(prompt, { session, input: 'List.' })).toMatchObject({ text: 'Done.' });
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.body.tools).toMatchObject([{ type: 'bash_20250124', name: 'bash' }]);
    expect(resultText(session, 'toolu_1_1')).toBe('ran ls');
  });
});
