import { openai } from '@ai-sdk/openai';
import { type ToolSet as AiToolSet, tool as aiTool, dynamicTool, jsonSchema } from 'ai';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { MessageRecorded } from '../../src/core/log/events.ts';
import type { MessageDelta } from '../../src/core/log/message-delta.ts';
import type { ProviderFailure } from '../../src/core/log/waiting-events.ts';
import { createAdapter, definePrompt, type EvaluationResponse, MainLoop, type Prompt } from '../../src/evaluate.ts';
import {
  type AnySession,
  type CallRef,
  defineSlice,
  defineTool,
  type EvaluationEvent,
  memoryStore,
  openSession,
  type SuspendReason,
  scriptedModel,
  type Tool,
  type ToolContext,
  type ToolProgress,
} from '../../src/index.ts';
import type { McpClient } from '../../src/loop/define/foreign-tools.ts';
import type { CompletedResponse, SuspendedResponse } from '../../src/loop/evaluate/provider-adapter.ts';

const adapter = createAdapter({ model: scriptedModel([]) });
const base = { name: 'a', description: '' };
const named = { ns: 'n', key: 'k', instructions: '' };

describe('defineTool', () => {
  test("the handler's input is the schema's output, after defaults and transforms", () => {
    defineTool({
      ...base,
      input: z.object({ path: z.string(), mode: z.enum(['r', 'w']).default('r'), n: z.string().transform(Number) }),
      execute(input) {
        expectTypeOf(input).toEqualTypeOf<{ path: string; mode: 'r' | 'w'; n: number }>();
      },
    });
  });

  test('the context has the session, the call and a session to dispatch to', () => {
    defineTool({
      ...base,
      input: z.object({}),
      execute(_, context) {
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        expectTypeOf(context.callId).toEqualTypeOf<string>();
        expectTypeOf(context.isResume).toEqualTypeOf<boolean>();
        expectTypeOf(context.idempotencyKey).toEqualTypeOf<string>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(context.session.dispatch).parameter(0).toMatchTypeOf<{ readonly type: string }>();
      },
    });
  });

  test("dispatching to the context's session is checked against the tool's slices", () => {
    const notes = defineSlice({
      name: 'notes',
      initial: [] as string[],
      on: { 'note/added': (all, event: { readonly text: string }) => [...all, event.text] },
    });
    const made = defineTool({
      ...base,
      input: z.object({ n: z.number() }),
      slices: [notes],
      async execute({ n }, { session }) {
        await session.dispatch({ type: 'note/added', text: String(n) });
        // @ts-expect-error: no slice of the tool folds it
        await session.dispatch({ type: 'my/own', anything: n });
        // @ts-expect-error: a field is missing
        await session.dispatch({ type: 'note/added' });
        // @ts-expect-error: a field is wrong
        await session.dispatch({ type: 'note/added', text: n });
        expectTypeOf(session.select(notes).all()).toEqualTypeOf<readonly string[]>();
      },
      async reconcile(_, { session }) {
        // @ts-expect-error: a field is wrong
        await session.dispatch({ type: 'note/added', text: 1 });
        return { happened: 'unknown' };
      },
    });
    expectTypeOf(made).toEqualTypeOf<Tool<{ n: number }, void>>();
    definePrompt({ ...named, tools: [made] });
  });

  test("reconcile, compensate and needsApproval get the same input; reconcile returns execute's type", () => {
    const made = defineTool({
      ...base,
      input: z.object({ to: z.string() }),
      execute: async ({ to }) => ({ receipt: to }),
      reconcile: ({ to }) => ({ happened: true, result: { receipt: to } }),
      compensate: ({ to }) => expectTypeOf(to).toEqualTypeOf<string>() as unknown as undefined,
      needsApproval: ({ to }) => to === 'x',
    });
    expectTypeOf(made).toEqualTypeOf<Tool<{ to: string }, { receipt: string }>>();
  });

  test('a reconcile that returns another type does not compile', () => {
    defineTool({
      ...base,
      input: z.object({}),
      execute: async () => ({ receipt: 'a' }),
      // @ts-expect-error: a number is not a receipt
      reconcile: () => ({ happened: true, result: 1 }),
    });
  });

  test('an effect is one of three values', () => {
    // @ts-expect-error: unknown effect
    defineTool({ ...base, input: z.object({}), effect: 'maybe', execute: () => 1 });
  });

  test('children return their own output type', () => {
    const child = definePrompt({ ...named, output: z.object({ n: z.number() }) });
    defineTool({
      ...base,
      input: z.object({}),
      async execute(_, context) {
        const answer = await context.evaluate(child, { key: 'a', input: 'b' });
        expectTypeOf(answer.output).toEqualTypeOf<{ n: number } | undefined>();
        // @ts-expect-error: a child inherits its session
        await context.evaluate(child, { session: {} as AnySession });
      },
    });
  });
});

describe('definePrompt and evaluate', () => {
  test("the output has the schema's output type", async () => {
    const prompt = definePrompt({
      ...named,
      output: z.object({ verdict: z.enum(['good', 'bad']), n: z.coerce.number() }),
    });
    expectTypeOf(prompt).toEqualTypeOf<Prompt<{ verdict: 'good' | 'bad'; n: number }>>();
    const response = await adapter.evaluate(prompt, { input: 'x' });
    expectTypeOf(response.output).toEqualTypeOf<{ verdict: 'good' | 'bad'; n: number } | undefined>();
    expectTypeOf(adapter.stream(prompt).response).resolves.toEqualTypeOf<typeof response>();
  });

  test('the output of z.object has its properties and no others; that of z.looseObject may have more', async () => {
    const strict = await adapter.evaluate(definePrompt({ ...named, output: z.object({ n: z.number() }) }));
    if (strict.status !== 'completed') return;
    expectTypeOf(strict.output).toEqualTypeOf<{ n: number }>();
    // @ts-expect-error: stripped
    strict.output.extra;
    const loose = await adapter.evaluate(definePrompt({ ...named, output: z.looseObject({ n: z.number() }) }));
    if (loose.status === 'completed') expectTypeOf(loose.output.extra).toEqualTypeOf<unknown>();
  });

  test('without a schema there is no output', async () => {
    const prompt = definePrompt(named);
    expectTypeOf(prompt).toEqualTypeOf<Prompt<undefined>>();
    const response = await adapter.evaluate(prompt);
    expectTypeOf(response).toEqualTypeOf<EvaluationResponse<undefined>>();
    expectTypeOf(response.output).toEqualTypeOf<undefined>();
  });

  test('a response is narrowed by its status', async () => {
    const schema = z.object({ verdict: z.enum(['good', 'bad']) });
    const response = await adapter.evaluate(definePrompt({ ...named, output: schema }));
    if (response.status === 'completed') {
      expectTypeOf(response.output).toEqualTypeOf<{ verdict: 'good' | 'bad' }>();
      expectTypeOf(response.reason).toEqualTypeOf<undefined>();
    } else {
      expectTypeOf(response.output).toEqualTypeOf<undefined>();
      expectTypeOf(response.reason).toEqualTypeOf<SuspendReason>();
      expectTypeOf(response.message).toEqualTypeOf<string>();
      expectTypeOf(response.pending).toEqualTypeOf<readonly CallRef[]>();
      expectTypeOf(response.failure?.status).toEqualTypeOf<number | undefined>();
    }
  });

  test('a response is a union of two, discriminated by status', async () => {
    const response = await adapter.evaluate(definePrompt({ ...named, output: z.object({ n: z.number() }) }));
    expectTypeOf(response).toEqualTypeOf<CompletedResponse<{ n: number }> | SuspendedResponse>();
    switch (response.status) {
      case 'completed':
        expectTypeOf(response).toEqualTypeOf<CompletedResponse<{ n: number }>>();
        expectTypeOf(response.message).toEqualTypeOf<undefined>();
        expectTypeOf(response.failure).toEqualTypeOf<undefined>();
        break;
      case 'suspended':
        expectTypeOf(response).toEqualTypeOf<SuspendedResponse>();
        expectTypeOf(response.failure).toEqualTypeOf<ProviderFailure | undefined>();
        expectTypeOf(response.failure?.provider).toEqualTypeOf<string | undefined>();
        // @ts-expect-error: a suspended response has no output
        response.output.n;
        // @ts-expect-error: unknown reason
        response.reason === 'TIRED';
        break;
      default:
        response satisfies never;
    }
    // @ts-expect-error: it may be suspended
    response.output.n;
    // @ts-expect-error: it may be completed
    response.reason.length;
  });

  test('a response has its status', async () => {
    const response = await adapter.evaluate(definePrompt(named));
    expectTypeOf(response.status).toEqualTypeOf<'completed' | 'suspended'>();
    expectTypeOf(response.reason).toEqualTypeOf<SuspendReason | undefined>();
    expectTypeOf(response.pending).toEqualTypeOf<readonly CallRef[]>();
    expectTypeOf(response.text).toEqualTypeOf<string>();
  });

  test('options: values of resume, and the type of signal', () => {
    const prompt = definePrompt(named);
    for (const resume of [true, false, 'auto', { evaluationId: 'x' }] as const)
      void adapter.evaluate(prompt, { resume });
    // @ts-expect-error: unknown value of resume
    void adapter.evaluate(prompt, { resume: 'maybe' });
    // @ts-expect-error: unknown option
    void adapter.evaluate(prompt, { retries: 3 });
    void adapter.evaluate(prompt, { onEvent: (event) => expectTypeOf(event).toEqualTypeOf<EvaluationEvent>() });
  });

  test("the events of an evaluation narrow by their type: built-in ones, those of the session's slices, and ones outside the log", async () => {
    const notes = defineSlice({
      name: 'notes',
      initial: [] as string[],
      on: { 'note/added': (all, event: { readonly text: string }) => [...all, event.text] },
    });
    const prompt = definePrompt(named);
    const open = () => openSession({ store: memoryStore(), id: 's1', slices: [notes] });
    const session = {} as Awaited<ReturnType<typeof open>>;
    const heard = (event: EvaluationEvent<readonly [typeof notes]>): void => {
      if (event.type === 'note/added') expectTypeOf(event.text).toEqualTypeOf<string>();
      if (event.type === 'message/recorded') expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
      if (event.type === 'message/delta') expectTypeOf(event).toEqualTypeOf<MessageDelta>();
      if (event.type === 'tool/progress') expectTypeOf(event).toEqualTypeOf<ToolProgress>();
    };
    void adapter.evaluate(prompt, { session, onEvent: heard });
    void adapter.evaluate(prompt, {
      session,
      onEvent(event) {
        if (event.type === 'note/added') expectTypeOf(event.text).toEqualTypeOf<string>();
      },
    });
    void adapter.run(prompt, { session, onEvent: heard });
    for await (const event of adapter.stream(prompt, { session })) heard(event);
    for await (const event of adapter.stream(prompt, { session: session as AnySession })) {
      expectTypeOf(event).toEqualTypeOf<EvaluationEvent>();
      if (event.type === 'message/recorded') expectTypeOf(event).toEqualTypeOf<MessageRecorded>();
      // @ts-expect-error: the session's slices are not known here
      event.type === 'note/added';
    }
  });

  test('tools of ours and of the AI SDK, of different inputs, in a list and by name', () => {
    const ours = defineTool({ ...base, input: z.object({ n: z.number() }), execute: ({ n }) => n });
    const zod = aiTool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city.length });
    const json = aiTool({ inputSchema: jsonSchema<{ a: string }>({}), execute: async ({ a }) => a });
    const dynamic = dynamicTool({ inputSchema: z.object({ b: z.boolean() }), execute: async (input) => input });
    const search = openai.tools.webSearch();
    const set: AiToolSet = { zod, json };
    definePrompt({ ...named, tools: [ours] });
    definePrompt({ ...named, tools: { ours, zod, json, dynamic, search } });
    definePrompt({ ...named, tools: [ours, { zod, json }, { dynamic, search }, set] });
    definePrompt({ ...named, tools: [{ ...zod, name: 'zod' }, ours, { ...search, name: 'search' }] });
    definePrompt({
      ...named,
      tools: [
        defineTool({
          ...base,
          input: z.object({ n: z.number() }),
          execute: ({ n }) => expectTypeOf(n).toEqualTypeOf<number>() as unknown,
        }),
        {
          inline: aiTool({
            inputSchema: z.object({ city: z.string() }),
            execute: async ({ city }) => expectTypeOf(city).toEqualTypeOf<string>() as unknown,
          }),
        },
      ],
    });
    // @ts-expect-error: in a list a tool of the AI SDK has no name
    definePrompt({ ...named, tools: [zod] });
  });

  test('a real MCP client is accepted', async () => {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    expectTypeOf(new Client({ name: 'a', version: '1' })).toExtend<McpClient>();
  });
});

describe('{{name}} in instructions', () => {
  const dated = definePrompt({ ns: 'n', key: 'k', instructions: 'Today is {{date}}; you have {{ n }} tries.' });

  test('is a param that every evaluation must give', () => {
    void adapter.evaluate(dated, { input: 'x', params: { date: '2026-11-18', n: 3 } });
    void adapter.stream(dated, { params: { date: '2026-11-18', n: 3 } });
    void adapter.run(dated, { session: {} as AnySession, params: { date: '2026-11-18', n: 3 } });
    // @ts-expect-error: params are missing
    void adapter.evaluate(dated, { input: 'x' });
    // @ts-expect-error: params are missing
    void adapter.run(dated, { session: {} as AnySession });
    // @ts-expect-error: n is missing
    void adapter.stream(dated, { params: { date: '2026-11-18' } });
    // @ts-expect-error: misspelt
    void adapter.evaluate(dated, { params: { dat: '2026-11-18', n: 3 } });
    // @ts-expect-error: an object would be bound as [object Object]
    void adapter.evaluate(dated, { params: { date: { day: 1 }, n: 3 } });
  });

  test('is not asked of an evaluation that is resumed with its own', () => {
    void adapter.evaluate(dated, { resume: true });
    void adapter.evaluate(dated, { resume: { evaluationId: 'ev_1' } });
    // @ts-expect-error: may begin one
    void adapter.evaluate(dated, { resume: 'auto' });
  });

  test('is required for a child, too', () => {
    defineTool({
      ...base,
      input: z.object({}),
      effect: 'idempotent',
      execute: async (_, context) => {
        await context.evaluate(dated, { params: { date: 'x', n: 1 } });
        // @ts-expect-error: params are missing
        await context.evaluate(dated, { input: 'x' });
        // @ts-expect-error: a child has no option to resume
        await context.evaluate(dated, { resume: true });
      },
    });
  });

  test('is found at run time only, if the compiler does not know the text', () => {
    const text: string = 'Today is {{date}}.';
    const loose = definePrompt({ ns: 'n', key: 'k', instructions: text });
    expectTypeOf(loose).toEqualTypeOf<Prompt>();
    void adapter.evaluate(loose, { input: 'x' });
    void adapter.evaluate(loose, { params: { date: new Date() } });
    expectTypeOf(dated).toExtend<Prompt>();
    void adapter.evaluate(dated as Prompt, {});
  });

  test('is only what the binding takes for a name', () => {
    type Needed<P> = P extends Prompt<undefined, infer Params> ? keyof Params : never;
    const named = <const T extends string>(instructions: T) => definePrompt({ ns: 'n', key: 'k', instructions });
    const json = named('Answer {"a":{"b":{}}} or {{"x": 1}} or {{}} or {{ two words }}, {{ {{a.b-c_1}} }}');
    expectTypeOf<Needed<typeof json>>().toEqualTypeOf<'a.b-c_1'>();
    const lines = named(`{{first}}
      {{
        second
      }}{{first}} {{open`);
    expectTypeOf<Needed<typeof lines>>().toEqualTypeOf<'first' | 'second'>();
    void adapter.evaluate(named('No names.'), { input: 'x' });
    void adapter.evaluate(named(''));
  });

  test('leaves the output typed', () => {
    const prompt = definePrompt({
      ns: 'n',
      key: 'k',
      instructions: 'On {{date}}.',
      output: z.object({ n: z.number() }),
    });
    expectTypeOf(adapter.evaluate(prompt, { params: { date: 'x' } })).resolves.toEqualTypeOf<
      EvaluationResponse<{ n: number }>
    >();
  });
});

describe('MainLoop', () => {
  test('prepare decides the output; finalize gets it', () => {
    const prompt = definePrompt({ ...named, output: z.object({ n: z.number() }) });
    const loop = new MainLoop({
      adapter,
      prepare: (request: { readonly id: string }) => ({ prompt, input: request.id }),
      finalize: (request, response) => {
        expectTypeOf(request).toEqualTypeOf<{ readonly id: string }>();
        expectTypeOf(response.output).toEqualTypeOf<{ n: number } | undefined>();
      },
    });
    expectTypeOf(loop.execute({ id: 'a' })).resolves.toEqualTypeOf<EvaluationResponse<{ n: number }>>();
    // @ts-expect-error: not a request
    void loop.execute({ name: 'a' });
  });
});
