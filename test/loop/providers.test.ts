import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createAdapter, type EvaluateOptions, type EvaluationResponse } from '../../src/evaluate.ts';
import { type NewEvent, openSession, type Session, type ToolContext } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { languageModel, modelOf, PROVIDERS, type Provider, serve } from '../models/providers.ts';
import type { ProviderServer } from '../support/provider-server/start-provider-server.ts';
import { advancing, agent, tool } from './agent.ts';
import { Life, World } from './mortal.ts';
import { CRASH_TURN, CRASHES, type Crash, promptWith, script } from './provider-agent.ts';
import { normalized } from './random-agent.ts';

/** The real clients, over HTTP, against a server that rejects what the real ones reject (I4). */

/** One process with one provider; it is killed at the crash point, if there is one. */
async function evaluate(
  life: Life,
  provider: Provider,
  server: ProviderServer,
  options: EvaluateOptions & { readonly crash?: Crash } = {},
): Promise<{ readonly response: EvaluationResponse; readonly session: Session } | 'died'> {
  const { crash, ...rest } = options;
  const session = await openSession({ store: life.store, id: 's' });
  const model = modelOf(provider, server.url);
  const isResult = ({ session: view }: ToolContext): boolean =>
    view.state.record.messages.toArray().some(({ role, turn }) => role === 'tool' && turn === CRASH_TURN);
  const prompt = promptWith(async (name, context) => {
    if (context.turn !== CRASH_TURN || name === 'read') return;
    if (crash === 'between results') while (!isResult(context)) await setImmediate();
    if (crash === 'in a tool' || crash === 'between results') await life.kill();
  });
  life.afterWrite = (_, [, events]) =>
    crash === 'after the answer' && Array.isArray(events) && (events as NewEvent[]).some(isCrashTurn)
      ? life.kill()
      : undefined;
  const adapter = createAdapter({
    model: {
      ...model,
      async *stream(request) {
        if (crash === 'before the request' && request.turn === CRASH_TURN) await life.kill();
        for await (const part of model.stream(request)) {
          if (crash === 'in mid-stream' && request.turn === CRASH_TURN && part.type === 'text-delta') await life.kill();
          yield part;
        }
      },
    },
  });
  const answered = adapter.evaluate(prompt, { session, input: 'Please.', resume: 'auto', ...rest });
  return Promise.race([answered.then((response) => ({ response, session })), life.died]);
}

function isCrashTurn(event: NewEvent): boolean {
  const { message } = event as { message?: { role?: string; turn?: number } };
  return message?.role === 'assistant' && message.turn === CRASH_TURN;
}

async function toTheEnd(
  world: World,
  provider: Provider,
  server: ProviderServer,
  options: EvaluateOptions = {},
): Promise<{ readonly response: EvaluationResponse; readonly session: Session }> {
  const end = await evaluate(new Life(world), provider, server, options);
  if (end === 'died') throw new Error('nobody told it to');
  return end;
}

describe.for(PROVIDERS)('%s', (provider) => {
  test('a new conversation: reasoning, parallel calls, every request accepted', async () => {
    const server = await serve(script);
    const { response } = await toTheEnd(new World(), provider, server);
    expect(response).toMatchObject({ status: 'completed', text: 'All of them are fine.', turns: 3 });
    expect(server.refusals).toEqual([]);
    expect(server.requests.map(({ turn }) => turn)).toEqual([1, 2, 3]);
    expect(response.usage.outputTokens).toBe(30);
  });

  test.for(CRASHES)('killed %s: resumed by another process, with the same result', async (crash) => {
    const server = await serve(script);
    const uninterrupted = await toTheEnd(new World(), provider, server);
    const world = new World();
    expect(await evaluate(new Life(world), provider, server, { crash })).toBe('died');
    world.clock.advance(60_000);
    const { response, session } = await toTheEnd(world, provider, server);
    expect(response).toMatchObject({ status: 'completed', text: 'All of them are fine.', turns: 3 });
    expect(normalized(session.messages())).toEqual(normalized(uninterrupted.session.messages()));
    expect(server.refusals).toEqual([]);
    const bodies = server.requests.filter(({ turn }) => turn === 3).map(({ body }) => JSON.stringify(body));
    expect(new Set(bodies).size).toBe(1); // the last request is byte for byte that of an uninterrupted run
  });

  test.for([
    ['429 with retry-after', { error: { status: 429, retryAfterMs: 1_500 } }],
    ['500', { error: { status: 500 } }],
    ['529', { error: { status: 529 } }],
    ['a connection reset in mid-stream', { text: 'I was about to say', cut: { after: 4, how: 'reset' } }],
    ['a stream that ends too soon', { text: 'I was about to say', cut: { after: 4, how: 'end' } }],
  ] as const)('%s: retried, and the conversation continues', async ([, fault]) => {
    const server = await serve(({ turn, attempt }) => (turn === 2 && attempt === 1 ? fault : script({ turn })));
    const clock = fakeClock();
    const { evaluate: run, session } = await agent({
      script: modelOf(provider, server.url),
      tools: [tool('read', () => 'r', { effect: 'read' }), tool('write', () => 'w', { effect: 'idempotent' })],
      clock,
    });
    expect(await advancing(clock, run(), 250)).toMatchObject({ status: 'completed', turns: 3 });
    expect(server.refusals).toEqual([]);
    expect(server.requests.map(({ turn }) => turn)).toEqual([1, 2, 2, 3]);
    const said = JSON.stringify(server.requests.at(-1)?.body);
    expect(said).not.toContain('about to say'); // shown, never sent (D53)
    expect(session.messages()).toHaveLength(2 + 3 + 3 + 1);
  });

  test('unknown tools, malformed arguments and strange ids are sent back in a request that is accepted', async () => {
    const server = await serve([
      {
        toolCalls: [
          { name: 'no_such_tool', arguments: {}, id: 'functions.no:0' },
          { name: 'read', arguments: '{"path": ', id: `x${'0123456789'.repeat(8)}` },
        ],
      },
      { toolCalls: [{ name: 'read', arguments: {}, id: 'functions.no:0' }] },
      'I see.',
    ]);
    const { evaluate: run, results } = await agent({
      script: modelOf(provider, server.url),
      tools: [tool('read', () => undefined, { effect: 'read' })],
    });
    expect(await run()).toMatchObject({ status: 'completed', text: 'I see.' });
    expect(server.refusals).toEqual([]);
    expect(Object.values(results()).map(({ isError }) => isError)).toEqual([false, true]);
  });

  test('many user turns, with an open call in between', async () => {
    const server = await serve(({ turn }) =>
      turn === 2 ? { text: 'May I?', toolCalls: [{ name: 'ask', arguments: {} }] } : `answer ${turn}`,
    );
    const { evaluate: run } = await agent({
      script: modelOf(provider, server.url),
      tools: [tool('ask', () => 'yes', { needsApproval: true })],
    });
    for (const [input, status] of [
      ['one', 'completed'],
      ['two', 'suspended'],
      ['never mind', 'completed'],
    ] as const)
      expect(await run({ input, continues: true })).toMatchObject({ status });
    expect(server.refusals).toEqual([]);
  });

  test('a prompt without input: instructions alone are sent', async () => {
    const server = await serve(['Hello.']);
    const { adapter, prompt } = await agent({ script: modelOf(provider, server.url) });
    expect(await adapter.evaluate(prompt)).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(server.refusals).toEqual([]);
  });
});

describe('from one provider to another, within a conversation', () => {
  const pairs = PROVIDERS.flatMap((from) => PROVIDERS.filter((to) => to !== from).map((to) => [from, to] as const));

  test.for(pairs)(
    "%s → %s → back: each resumes the other's conversation, after a crash or a stop",
    async ([from, to]) => {
      const server = await serve(script);
      const world = new World();
      // One is killed in its second turn, the other resumes within it and stops, the first finishes.
      expect(await evaluate(new Life(world), from, server, { crash: 'between results' })).toBe('died');
      world.clock.advance(60_000);
      const stopped = await toTheEnd(world, to, server, { maxTurns: 2 });
      expect(stopped.response).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT', turns: 2 });
      const { response } = await toTheEnd(world, to, server);
      expect(response).toMatchObject({ status: 'completed', text: 'All of them are fine.', turns: 3 });
      const again = await toTheEnd(world, from, server, { input: 'And now?', continues: true, key: 'again' });
      expect(again.response).toMatchObject({ status: 'completed' });
      expect(server.refusals).toEqual([]);
      // No provider gets another one's reasoning: a signature is valid only for its own provider.
      const openai = (name: Provider): boolean => name.startsWith('openai');
      if (!(openai(from) && openai(to))) {
        const third = server.requests.find(({ turn }) => turn === 3);
        expect(JSON.stringify(third?.body)).not.toContain('thought 1');
      }
    },
  );

  test("createAdapter accepts the client's own model object", async () => {
    const server = await serve(['Hi.']);
    const { prompt } = await agent({ script: [] });
    for (const provider of PROVIDERS) {
      const adapter = createAdapter({ model: languageModel(provider, server.url) });
      expect(await adapter.evaluate(prompt, { input: 'Hello' })).toMatchObject({ text: 'Hi.' });
    }
    expect(server.refusals).toEqual([]);
  });
});
