/** The promise of `agent.run` (D80), attacked: each rule held against repeats, other agents, other processes and careless callers. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { UnstoredEvent } from '../../../src/core/log/events.ts';
import { createAdapter, definePrompt } from '../../../src/evaluate.ts';
import {
  type Agent,
  type AgentOptions,
  type ConversationMessage,
  createAgent,
  defineTool,
  type Model,
  ModelError,
  memoryStore,
  openSession,
  openStore,
  type Store,
  scriptedModel,
  suspendUntil,
  textOf,
} from '../../../src/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { Life, World } from '../mortal.ts';

const newestUser = (messages: readonly ConversationMessage[]): string => {
  const message = messages.findLast(({ role }) => role === 'user');
  return message ? textOf(message) : '';
};
const echo = scriptedModel(({ messages }) => `You said: ${newestUser(messages)}`);
const agentOf = (more: Partial<AgentOptions> = {}): Agent =>
  createAgent({ name: 'echo', model: echo, instructions: '', ...more } as AgentOptions);
const oneCall = (name: string): Model =>
  scriptedModel(({ turn }) => (turn === 1 ? { toolCalls: [{ name, arguments: {} }] } : 'Done.'));
const openMemory = async (options = {}) => (await openStore('memory:')).session('s', options);

/** A model whose responses wait until `go`. */
function gate() {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const model: Model = {
    provider: 'test',
    modelId: 'test',
    async *stream({ messages, signal }) {
      begun.resolve();
      const aborted = new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      await Promise.race([released.promise, aborted]);
      const content = [{ type: 'text' as const, text: `You said: ${newestUser(messages)}` }];
      yield { type: 'finish', response: { content, toolCalls: [] } };
    },
  };
  return { model, begun: begun.promise, go: () => released.resolve() };
}

/** A store that calls `called` before each call of `method`, and `answered` before each of its results is given. */
function watching(
  store: Store,
  method: keyof Store,
  { called, answered }: { called?: () => void; answered?: (args: readonly unknown[]) => unknown },
): Store {
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== method) return value.bind(target);
      return async (...args: unknown[]) => {
        called?.();
        const result: unknown = await value.apply(target, args);
        await answered?.(args);
        return result;
      };
    },
  });
}

/** A session in whose evaluation by the agent "one" a process died. */
async function leftRunning() {
  const world = new World();
  const life = new Life(world);
  const session = await openSession({ store: life.store, id: 's', clock: life.clock });
  const dying: Model = {
    provider: 'test',
    modelId: 'test',
    // biome-ignore lint/correctness/useYield: it dies before its first part
    async *stream() {
      await life.kill();
    },
  };
  void agentOf({ name: 'one', model: dying } as Partial<AgentOptions>).run(session, 'Hi.', { id: 'm1' });
  await life.died;
  await world.clock.advance(120_000); // its lease has expired
  return openSession({ store: world.store, id: 's', clock: world.clock });
}

// ---- the same line again

test('resumeCancelled resumes the cancelled evaluation of the same input (D61, D80)', async () => {
  const session = await openMemory();
  const { model, begun, go } = gate();
  const agent = agentOf({ model } as Partial<AgentOptions>);
  const cancelled = agent.run(session, 'Hi.', { id: 'm1' });
  await begun;
  await session.cancel();
  expect(await cancelled).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  go();
  expect(await agent.run(session, 'Hi.', { id: 'm1', resumeCancelled: true })).toMatchObject({ status: 'completed' });
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  effect: 'once',
  needsApproval: true,
  execute: () => 'paid',
});
const sleep = defineTool({
  name: 'sleep',
  description: 'Sleeps',
  input: z.object({}),
  effect: 'idempotent',
  execute: () => suspendUntil(Date.parse('2100-01-01T00:00:00.000Z')),
});
const slowDown = scriptedModel(() => {
  throw new ModelError('slow down', { status: 429, retryable: true, retryAfterMs: 3_600_000 });
});
test.for([
  ['an approval', { tools: [pay], model: oneCall('pay') }],
  ['a time', { tools: [sleep], model: oneCall('sleep') }],
  ['a provider', { model: slowDown }],
] as const)(
  'a run that waits for %s returns the same when it is repeated: all of it is read from the log (D80)',
  async ([, options]) => {
    const session = await openMemory({ clock: fakeClock() });
    const agent = agentOf(options as Partial<AgentOptions>);
    const response = await agent.run(session, 'Hi.', { id: 'm1' });
    expect(response.status).toBe('suspended');
    expect(await agent.run(session, 'Hi.', { id: 'm1' })).toEqual(response);
  },
);

test('the same long text is the same input for a handle with another maxInlineLength (D61, D80)', async () => {
  const store = await openStore('memory:');
  const text = 'long '.repeat(100);
  const response = await agentOf().run(await store.session('s', { maxInlineLength: 64 }), text, { id: 'm1' });
  expect(await agentOf().run(await store.session('s'), text, { id: 'm1' })).toEqual(response);
});

const hiding = (types: readonly string[]) => (event: UnstoredEvent) =>
  types.includes(event.type) ? JSON.parse(JSON.stringify(event).replaceAll('Ann', '@Ann')) : event;
test.for([
  ['changes a text each time', ['input/queued', 'message/recorded']],
  ['changes only messages', ['message/recorded']],
] as const)('the same text is the same input when redact %s (D58, D80)', async ([, types]) => {
  const session = await openMemory({ redact: hiding(types) });
  const response = await agentOf().run(session, 'I am Ann.', { id: 'm1' });
  expect(await agentOf().run(session, 'I am Ann.', { id: 'm1' })).toEqual(response);
});

test.for([
  ['its schema has changed', false],
  ['it was erased', true],
] as const)(
  'a recorded response that is no output any more is returned, not thrown: %s (D80)',
  async ([, isErased]) => {
    const session = await openMemory();
    const outputOf = (n: z.ZodType) =>
      createAgent({ name: 'n', model: scriptedModel(() => '{"n":1}'), instructions: '', output: z.object({ n }) });
    await outputOf(z.number()).run(session, 'Hi.', { id: 'm1' });
    const answer = session.messages().find(({ role }) => role === 'assistant');
    if (isErased && answer) await session.eraseMessage(answer.id);
    const again = outputOf(isErased ? z.number() : z.string()).run(session, 'Hi.', { id: 'm1' });
    await expect(again).resolves.toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
  },
);

// ---- what a response says

test('left says what was sent after the input, not that the input itself may be tried again (D80)', async () => {
  const model = scriptedModel(() => {
    throw new ModelError('no such key', { status: 401, retryable: false });
  });
  const response = await agentOf({ model } as Partial<AgentOptions>).run(await openMemory(), 'Hi.', { id: 'm1' });
  expect(response).toMatchObject({ status: 'suspended', reason: 'PROVIDER_FAILED' });
  expect(response).not.toHaveProperty('left');
});

test('an evaluation that a dead process left is neither busy nor cancelled when the deadline has passed (D80)', async () => {
  const session = await leftRunning();
  const agent = agentOf({ name: 'one' } as Partial<AgentOptions>);
  const deadline = session.clock.now() - 1;
  expect((await agent.run(session, 'Hi.', { id: 'm1', deadline })).status).not.toBe('busy');
  expect((await agent.run(session, undefined, { deadline })).reason).not.toBe('CANCELLED');
});

test('a run without an input does not call an evaluation cancelled that another agent has to resume (D80)', async () => {
  const response = await agentOf({ name: 'two' } as Partial<AgentOptions>).run(await leftRunning());
  expect(response).toMatchObject({ left: true });
  expect(response.reason).not.toBe('CANCELLED');
});

test("a run without an input that does nothing does not return another agent's response (D80)", async () => {
  const session = await openMemory();
  await agentOf({ name: 'one' } as Partial<AgentOptions>).run(session, 'For one.');
  await session.send('For one again.', { agent: 'one' });
  const { status } = await agentOf({ name: 'two' } as Partial<AgentOptions>).run(session);
  expect(status).not.toBe('completed');
});

// ---- two agents in one session

test('a steer that names an agent does not join the evaluation of another one (D80)', async () => {
  const store = await openStore('memory:');
  const other = await store.session('s');
  const work = defineTool({
    name: 'work',
    description: 'Works',
    input: z.object({}),
    effect: 'read',
    execute: async () => {
      await other.send('For two.', { id: 'm2', mode: 'steer', agent: 'two' });
      return 'worked';
    },
  });
  const one = agentOf({ name: 'one', tools: [work], model: oneCall('work') } as Partial<AgentOptions>);
  const two = agentOf({ name: 'two', model: scriptedModel(() => 'From two.') } as Partial<AgentOptions>);
  await one.run(await store.session('s'), 'For one.', { id: 'm1' });
  expect(await two.run(other, 'For two.', { id: 'm2', mode: 'steer' })).toMatchObject({ text: 'From two.' });
});

test('a completed response has the output of its agent, also when another agent has done the input (D80)', async () => {
  const session = await openMemory();
  await session.send('Hi.', { id: 'm1', agent: 'one' });
  await agentOf({ name: 'one' } as Partial<AgentOptions>).run(session);
  const two = createAgent({ name: 'two', model: echo, instructions: '', output: z.object({ n: z.number() }) });
  const response = await two.run(session, 'Hi.', { id: 'm1' });
  expect([response.status, response.output]).not.toEqual(['completed', undefined]);
});

// ---- options

test.for([
  ['a number of turns that is none', {}, { maxTurns: -1 }],
  ['a budget that is no number', {}, { budget: { maxTokens: Number.NaN } }],
  ['a signal that is none', {}, { signal: 'x' }],
  ['a missing param', { instructions: 'You are {{who}}.' }, {}],
] as const)('a run that is refused sends nothing: %s (D80)', async ([, options, given]) => {
  const session = await openMemory();
  const run = agentOf(options).run(session, 'Hi.', { id: 'm1', ...given } as never);
  await expect(run).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(session.queue()).toEqual([]);
});

test('an option that is undefined leaves the default of the agent (D80)', async () => {
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    effect: 'read',
    execute: () => 'seen',
  });
  const agent = agentOf({ maxTurns: 1, tools: [look], model: oneCall('look') } as Partial<AgentOptions>);
  const response = await agent.run(await openMemory(), 'Hi.', { maxTurns: undefined } as never);
  expect(response).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT' });
});

test('wait: undefined waits, as without it (D80)', async () => {
  const store = await openStore('memory:');
  const { model, begun, go } = gate();
  const agent = agentOf({ model } as Partial<AgentOptions>);
  const first = agent.run(await store.session('s'), 'Hi.', { id: 'm1' });
  await begun;
  const second = agent.run(await store.session('s'), 'Hi.', { id: 'm1', wait: undefined } as never);
  for (let i = 0; i < 20; i++) await setImmediate();
  go();
  expect(await first).toMatchObject({ status: 'completed' });
  expect(await second).toMatchObject({ status: 'completed' });
});

// ---- other runners

test('wait: false is busy at once, also while an evaluate holds the lease (D80)', async () => {
  const { model, begun, go } = gate();
  const base = memoryStore();
  const evaluating = createAdapter({ model }).evaluate(definePrompt({ ns: 'a', key: 'b', instructions: '' }), {
    session: await openSession({ store: base, id: 's' }),
    input: 'x',
  });
  await begun;
  let looks = 0;
  const store = watching(base, 'acquireLease', {
    called: () => {
      if (++looks === 2) go(); // it waits, which it must not
    },
  });
  const response = await agentOf().run(await openSession({ store, id: 's' }), 'Hi.', { id: 'm1', wait: false });
  go();
  await evaluating;
  expect(response).toMatchObject({ status: 'busy', inputId: 'm1' });
});

test('a run whose input another process has done before it was acknowledged does not wait for what that does next (D80)', async () => {
  const base = memoryStore();
  const acknowledged = Promise.withResolvers<void>();
  let looks = 0;
  let hasWaited = false;
  const { model: slow, begun, go } = gate();
  const late = watching(
    watching(base, 'readLease', {
      called: () => {
        if (++looks < 3) return;
        hasWaited = true; // the response has been in the log since before it began to wait
        go();
      },
    }),
    'append',
    { answered: () => acknowledged.promise },
  );
  let requests = 0;
  const model: Model = { ...slow, stream: (request) => (++requests === 1 ? echo : slow).stream(request) };
  const agent = agentOf({ model } as Partial<AgentOptions>);
  const response = agent.run(await openSession({ store: late, id: 's' }), 'One.', { id: 'm1' });
  const other = await openSession({ store: base, id: 's' });
  while (other.queue().length === 0) {
    await setImmediate();
    await other.refresh();
  }
  await other.send('Two.', { id: 'm2' });
  const others = agent.run(other);
  await begun; // One. is done, Two. is under way
  acknowledged.resolve();
  expect(await response).toMatchObject({ status: 'completed', text: 'You said: One.' });
  go();
  await others;
  expect(hasWaited).toBe(false);
});

test('a run that a listener starts follows the one that called the listener (D61, D80)', async () => {
  const session = await openMemory();
  const agent = agentOf();
  let started: Promise<unknown> | undefined;
  await agent.run(session, 'One.', {
    id: 'm1',
    onEvent: ({ type }) => {
      if (type === 'evaluation/started') started ??= agent.run(session, 'Two.', { id: 'm2' });
    },
  });
  expect(await started).toMatchObject({ status: 'completed', text: 'You said: Two.' });
});

// ---- listeners

test('a listener that throws does not keep events from the others (D80)', async () => {
  const seen: string[] = [];
  const agent = agentOf({ onEvent: ({ type }) => void seen.push(type) });
  await agent.run(await openMemory({ onError: () => {} }), 'Hi.', {
    onEvent: () => {
      throw new Error('a listener failed');
    },
  });
  expect(seen).toContain('evaluation/completed');
});

test("the agent's listener gets each event once, also when two runs use one handle (D80)", async () => {
  const seqs: number[] = [];
  const agent = agentOf({ onEvent: (event) => void ('seq' in event && seqs.push(event.seq)) });
  const session = await openMemory();
  await Promise.all([agent.run(session, 'One.', { id: 'm1' }), agent.run(session, 'Two.', { id: 'm2' })]);
  expect(seqs).toEqual([...new Set(seqs)]);
});
