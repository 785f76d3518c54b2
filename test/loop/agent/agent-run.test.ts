/** The front door (D80): `agent.run` sends an input once and returns the response to it, whatever happens around it. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Agent,
  type AgentOptions,
  createAgent,
  defineSlice,
  defineTool,
  type EvaluationEvent,
  type Model,
  ModelError,
  openStore,
  scriptedModel,
  textOf,
} from '../../../src/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';

const echo = scriptedModel(
  ({ messages }) => `You said: ${textOf(messages.findLast(({ role }) => role === 'user') as never)}`,
);
const looked: string[] = [];
const weather = defineTool({
  name: 'weather',
  description: 'Looks up the weather of a city',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => {
    looked.push(city);
    return { city, sky: 'clear' };
  },
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ amount: z.number() }),
  effect: 'once',
  needsApproval: true,
  execute: ({ amount }) => `paid ${amount}`,
});
const paying = (): Agent =>
  createAgent({
    name: 'payer',
    model: scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return `Done: ${textOf(last)}`;
      return textOf(last as never) === 'Pay.' ? { toolCalls: [{ name: 'pay', arguments: { amount: 3 } }] } : 'Hello.';
    }),
    instructions: 'Pay.',
    tools: [pay],
  });
const echoing = (more: Partial<AgentOptions> = {}): Agent =>
  createAgent({ name: 'echo', model: echo, instructions: 'Be brief.', ...more } as AgentOptions);

test('a run sends its input, and returns the response to it', async () => {
  const agent = createAgent({
    name: 'weather',
    model: scriptedModel([{ toolCalls: [{ name: 'weather', arguments: { city: 'Lisbon' } }] }, 'Clear in Lisbon.']),
    instructions: 'Be brief.',
    tools: [weather],
  });
  const store = await openStore('memory:');
  const session = await store.session('ada');
  const response = await agent.run(session, 'Lisbon?', { id: 'm1' });
  expect(response).toMatchObject({ status: 'completed', inputId: 'm1', text: 'Clear in Lisbon.', turns: 2 });
  expect(response).not.toHaveProperty('left');
  expect(looked.splice(0)).toEqual(['Lisbon']);
  // The same line again, also in a new handle: the recorded response.
  expect(await agent.run(session, 'Lisbon?', { id: 'm1' })).toEqual(response);
  expect(await agent.run(await store.session('ada'), 'Lisbon?', { id: 'm1' })).toEqual(response);
  expect(looked).toEqual([]);
});

test('the same id with another text is KEY_REUSED', async () => {
  const session = await (await openStore('memory:')).session('s');
  await echoing().run(session, 'One.', { id: 'm1' });
  await expect(echoing().run(session, 'Two.', { id: 'm1' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
});

test('each input of a chat continues the one before', async () => {
  const session = await (await openStore('memory:')).session('s');
  const agent = createAgent({
    name: 'counter',
    model: scriptedModel(({ messages }) => `I have read ${messages.length}.`),
    instructions: '',
  });
  expect((await agent.run(session, 'One.')).text).toBe('I have read 1.');
  expect((await agent.run(session, 'Two.')).text).toBe('I have read 3.');
});

test('inputs that were sent before are done first, later ones are left', async () => {
  const session = await (await openStore('memory:')).session('s');
  const agent = echoing();
  await session.send('First.', { id: 'a' });
  let sent: Promise<unknown> | undefined;
  const response = await agent.run(session, 'Second.', {
    id: 'b',
    onEvent: (event) => {
      if (event.type === 'input/queued' && event.inputId === 'b') sent = session.send('Third.', { id: 'c' });
    },
  });
  await sent;
  expect(response).toMatchObject({ status: 'completed', text: 'You said: Second.', left: true });
  expect(await agent.run(session, 'First.', { id: 'a' })).toMatchObject({ text: 'You said: First.', left: true });
  expect(await agent.run(session)).toMatchObject({ status: 'completed', text: 'You said: Third.' });
  expect(await agent.run(session)).toEqual({ status: 'idle', message: expect.any(String) });
});

test('an approval suspends; decided, the same line returns the response', async () => {
  const session = await (await openStore('memory:')).session('s');
  const agent = paying();
  const waiting = await agent.run(session, 'Pay.', { id: 'm1' });
  expect(waiting).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED', inputId: 'm1' });
  expect(waiting.pending).toHaveLength(1);
  // Another input waits behind it.
  const behind = await agent.run(session, 'Hi.', { id: 'm2' });
  expect(behind).toMatchObject({
    status: 'queued',
    inputId: 'm2',
    blockedBy: {
      evaluationId: waiting.evaluationId,
      status: 'suspended',
      reason: 'APPROVAL_REQUIRED',
      pending: waiting.pending,
    },
  });
  expect(await agent.run(session, 'Pay.', { id: 'm1' })).toMatchObject({ status: 'suspended' });
  const [call] = waiting.pending ?? [];
  if (call) await session.approve(call, { by: 'Ann' });
  expect(await agent.run(session, 'Pay.', { id: 'm1' })).toMatchObject({
    status: 'completed',
    text: 'Done: paid 3',
    left: true,
  });
  expect(await agent.run(session, 'Hi.', { id: 'm2' })).toMatchObject({ status: 'completed', text: 'Hello.' });
});

test('a withdrawn input is withdrawn', async () => {
  const session = await (await openStore('memory:')).session('s');
  await session.send('Never mind.', { id: 'm1' });
  await session.withdraw('m1');
  expect(await echoing().run(session, 'Never mind.', { id: 'm1' })).toMatchObject({
    status: 'withdrawn',
    inputId: 'm1',
  });
});

test('a failed evaluation is returned, and inputs behind it are queued until it is abandoned', async () => {
  const session = await (await openStore('memory:')).session('s');
  const agent = createAgent({
    name: 'failing',
    model: scriptedModel(({ messages }) => (messages.length === 1 ? 'not json' : '{"n":1}')),
    instructions: '',
    output: z.object({ n: z.number() }),
    outputRetries: 0,
  });
  const failed = await agent.run(session, 'One.', { id: 'm1' });
  expect(failed).toMatchObject({ status: 'failed', inputId: 'm1', error: { code: 'OUTPUT_INVALID' } });
  expect(await agent.run(session, 'One.', { id: 'm1' })).toMatchObject({ status: 'failed', message: failed.message });
  expect(await agent.run(session, 'Two.', { id: 'm2' })).toMatchObject({
    status: 'queued',
    blockedBy: { status: 'failed' },
  });
  await session.abandon({ by: 'Ann' });
  const completed = await agent.run(session, 'Two.', { id: 'm2' });
  expect(completed.status === 'completed' && completed.output.n).toBe(completed.status === 'completed' ? 1 : false);
  expect(await agent.run(session, 'One.', { id: 'm1' })).toMatchObject({ status: 'superseded' });
});

test('a cancelled evaluation is superseded by the next input', async () => {
  const session = await (await openStore('memory:')).session('s');
  const stalled: Model = {
    provider: 'test',
    modelId: 'test',
    async *stream({ messages, signal }) {
      if (textOf(messages.at(-1) as never) === 'Wait.') {
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      }
      yield { type: 'finish', response: { content: [{ type: 'text', text: 'Here.' }], toolCalls: [] } };
    },
  };
  const agent = createAgent({ name: 'stalled', model: stalled, instructions: '' });
  const first = agent.run(session, 'Wait.', {
    id: 'm1',
    onEvent: (event) => {
      if (event.type === 'message/recorded' && event.message.role === 'user')
        void setImmediate().then(() => session.cancel());
    },
  });
  expect(await first).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  expect(await agent.run(session, 'Hello.', { id: 'm2' })).toMatchObject({ status: 'completed', text: 'Here.' });
  expect(await agent.run(session, 'Wait.', { id: 'm1' })).toMatchObject({ status: 'superseded', inputId: 'm1' });
});

test('a steer returns the response of the evaluation that it joined', async () => {
  const store = await openStore('memory:');
  const session = await store.session('s');
  let works: () => void = () => {};
  const working = new Promise<void>((resolve) => {
    works = resolve;
  });
  const steered = working.then(async () => agent.run(await store.session('s'), 'Left.', { id: 'm2', mode: 'steer' }));
  const agent: Agent = createAgent({
    name: 'steered',
    model: scriptedModel(({ messages, turn }) =>
      turn === 1
        ? { toolCalls: [{ name: 'slow', arguments: {} }] }
        : messages
            .filter(({ role }) => role === 'user')
            .map((message) => textOf(message))
            .join(' '),
    ),
    instructions: '',
    tools: [
      defineTool({
        name: 'slow',
        description: 'Takes its time',
        input: z.object({}),
        effect: 'read',
        execute: async () => {
          works();
          while (!(await store.session('s')).queue().some(({ id }) => id === 'm2')) await setImmediate();
          return 'done';
        },
      }),
    ],
  });
  const first = await agent.run(session, 'Go.', { id: 'm1' });
  expect(first).toMatchObject({ status: 'completed', text: 'Go. Left.' });
  expect(await steered).toMatchObject({ status: 'completed', inputId: 'm2', evaluationId: first.evaluationId });
});

test('while another run has the session, a run follows it, and is busy when it may not wait', async () => {
  const store = await openStore('memory:');
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let started: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    started = resolve;
  });
  let requests = 0;
  const slow: Model = {
    provider: 'test',
    modelId: 'test',
    async *stream() {
      requests++;
      started();
      await released;
      yield { type: 'finish', response: { content: [{ type: 'text', text: 'Here.' }], toolCalls: [] } };
    },
  };
  const agent = createAgent({ name: 'slow', model: slow, instructions: '' });
  const first = agent.run(await store.session('s'), 'Hi.', { id: 'm1' });
  await begun;
  expect(await agent.run(await store.session('s'), 'Hi.', { id: 'm1', wait: false })).toMatchObject({
    status: 'busy',
    inputId: 'm1',
  });
  const follower = agent.run(await store.session('s'), 'Hi.', { id: 'm1' });
  await setImmediate();
  release();
  expect(await first).toMatchObject({ status: 'completed', text: 'Here.' });
  expect(await follower).toEqual(await first);
  expect(requests).toBe(1);
});

test("the slices of an agent's tools arrive with its first run, folded from the log", async () => {
  const notes = defineSlice({
    name: 'notes',
    initial: [] as string[],
    on: { 'note/added': (all, event: { readonly text: string }) => [...all, event.text] },
  });
  const note = defineTool({
    name: 'note',
    description: 'Notes a text',
    input: z.object({ text: z.string() }),
    slices: [notes],
    effect: 'idempotent',
    execute: async ({ text }, ctx) => {
      await ctx.session.dispatch({ type: 'note/added', text });
      return 'noted';
    },
  });
  const agent = createAgent({
    name: 'noter',
    model: scriptedModel(({ turn }) =>
      turn === 1 ? { toolCalls: [{ name: 'note', arguments: { text: 'a' } }] } : 'Noted.',
    ),
    instructions: '',
    tools: [note],
  });
  const store = await openStore('memory:');
  const session = await store.session('s');
  expect(await agent.run(session, 'Note a.')).toMatchObject({ status: 'completed' });
  expect(session.select(notes).all()).toEqual(['a']);
  const again = await store.session('s');
  await agent.run(again);
  expect(again.select(notes).all()).toEqual(['a']);
  const other = defineSlice({ name: 'notes', initial: [] as string[], on: {} });
  const clash = await store.session('s', { slices: [other] });
  await expect(agent.run(clash)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('notes'),
  });
});

test('two agents share a session: each does its own inputs, in order', async () => {
  const session = await (await openStore('memory:')).session('s');
  const one = createAgent({ name: 'one', model: scriptedModel(() => 'From one.'), instructions: '' });
  const two = createAgent({ ns: 'team', key: 'two', model: scriptedModel(() => 'From two.'), instructions: '' });
  expect(two.name).toBe('team/two');
  await session.send('For one.', { id: 'a', agent: 'one' });
  expect(await two.run(session, 'For two.', { id: 'b' })).toMatchObject({
    status: 'queued',
    blockedBy: { agent: 'one' },
  });
  expect(await two.run(session)).toMatchObject({ status: 'idle' });
  expect(await one.run(session)).toMatchObject({ status: 'completed', text: 'From one.', left: true });
  expect(await two.run(session, 'For two.', { id: 'b' })).toMatchObject({ status: 'completed', text: 'From two.' });
  expect(await one.run(session, 'For one.', { id: 'a' })).toMatchObject({ status: 'completed', text: 'From one.' });
});

test('listeners of the agent, of the run and of the stream get every event once', async () => {
  const ofAgent: [string, string][] = [];
  const agent = echoing({ onEvent: (event, { sessionId }) => void ofAgent.push([sessionId, event.type]) });
  const session = await (await openStore('memory:')).session('s');
  const stream = agent.stream(session, 'Hi.', { id: 'm1' });
  const events: EvaluationEvent[] = [];
  for await (const event of stream) events.push(event);
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => type !== 'message/delta')).toEqual([
    'input/queued',
    'evaluation/started',
    'message/recorded',
    'message/recorded',
    'message/recorded',
    'evaluation/completed',
  ]);
  expect(ofAgent).toEqual(types.map((type) => ['s', type]));
  expect(await stream.response).toMatchObject({ status: 'completed', text: 'You said: Hi.' });
});

test('a provider that refuses suspends; the same line tries again', async () => {
  let isUp = false;
  const agent = createAgent({
    name: 'down',
    model: scriptedModel(() => {
      if (!isUp) throw new ModelError('no such key', { status: 401, retryable: false });
      return 'Up.';
    }),
    instructions: '',
  });
  const session = await (await openStore('memory:')).session('s');
  expect(await agent.run(session, 'Hi.', { id: 'm1' })).toMatchObject({
    status: 'suspended',
    reason: 'PROVIDER_FAILED',
    failure: { status: 401 },
  });
  isUp = true;
  expect(await agent.run(session, 'Hi.', { id: 'm1' })).toMatchObject({ status: 'completed', text: 'Up.' });
});

test('a deadline that has passed leaves the input queued', async () => {
  const clock = fakeClock();
  const session = await (await openStore('memory:')).session('s', { clock });
  const agent = echoing();
  const late = await agent.run(session, 'Hi.', { id: 'm1', deadline: clock.now() - 1 });
  expect(['queued', 'suspended']).toContain(late.status);
  expect(await agent.run(session, 'Hi.', { id: 'm1' })).toMatchObject({ status: 'completed' });
});

test('an imported or read-only session is refused', async () => {
  const store = await openStore('memory:');
  await echoing().run(await store.session('s'), 'Hi.');
  await expect(echoing().run(await store.session('s', { readOnly: true }), 'Again.')).rejects.toMatchObject({
    code: 'SESSION_READ_ONLY',
  });
});
