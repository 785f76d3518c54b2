/** One worker: what it runs, what it leaves, how it fails, and how it stops. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { createAgent, defineTool, memoryStore, openSession, scriptedModel, suspendUntil } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createWorker } from '../../src/worker.ts';
import { HeldModel } from '../server/support.ts';
import { chat, echoing, isCompleted, send, untilSession, work } from './support.ts';

test('a worker runs what is sent, each input once, also what was sent before it started', async () => {
  const store = memoryStore();
  await send(store, 'before');
  const { errors, worker } = work({ store, pollMs: 1_000_000 });
  await send(store, 'after');
  for (const id of ['before', 'after']) {
    const session = await untilSession(store, id, isCompleted);
    expect(session.messages().map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
  }
  expect(errors).toEqual([]);
  // It searched once, when it started: the doorbell rang for the other.
  expect(worker.stats().counts).toMatchObject({ searches: 1, failures: 0 });
});

test('concurrency limits what runs in a worker and for a tag; a full tag does not hold up other sessions', async () => {
  const model = new HeldModel();
  let most = 0;
  const { store, worker } = work({
    concurrency: { worker: 3, tags: { slow: 1 } },
    agents: () => {
      most = Math.max(most, slow());
      return createAgent({ model, prompt: chat });
    },
  });
  const ids = ['slow-1', 'slow-2', 'slow-3', 'quick-1', 'quick-2', 'quick-3'];
  const slow = (): number => worker.stats().running.filter(({ sessionId }) => sessionId.startsWith('slow')).length;
  for (const id of ids) {
    const session = await openSession({ store, id });
    await session.describe({ tags: [id.split('-')[0] ?? ''] });
    await session.send('Hello');
  }
  while (worker.stats().running.length < 3) await setImmediate();
  expect(slow()).toBe(1);
  for (const _ of ids) {
    model.say('Done.');
    model.say(undefined);
  }
  for (const id of ids) await untilSession(store, id, isCompleted);
  expect(most).toBe(1);
});

test('a session that another worker has run while it waited for a place is not opened', async () => {
  const store = memoryStore();
  const model = new HeldModel();
  const opened: string[] = [];
  await send(store, 'b');
  await send(store, 'c');
  await send(store, 'a');
  const { worker } = work({
    store,
    concurrency: 1,
    pollMs: 1_000_000,
    doorbell: { listen: async () => async () => {} },
    agents: (session) => {
      opened.push(session.id);
      return opened.length === 1 ? createAgent({ model, prompt: chat }) : echoing();
    },
  });
  while (worker.stats().running.length < 1 || opened.length < 1) await setImmediate();
  const [running] = opened;
  const [taken = '', left = ''] = ['a', 'b', 'c'].filter((id) => id !== running);
  const { adapter, prompt } = echoing();
  await adapter.run(prompt, { session: await openSession({ store, id: taken }) });
  await send(store, left, 'And another thing.'); // is no reason to skip it
  model.say('Done.');
  model.say(undefined);
  await untilSession(store, left, (session) => isCompleted(session) && session.messages().length >= 5);
  while (worker.stats().running.length > 0 || worker.stats().waiting > 0) await setImmediate();
  expect(new Set(opened)).toEqual(new Set([running, left]));
});

test('an approval that is given while no evaluation runs is work, and its expiry is a wake-up', async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys',
    input: z.object({}),
    effect: 'once',
    needsApproval: { expiresAfterMs: 60_000 },
    execute: () => 'deployed',
  });
  const prompt = definePrompt({ ns: 'test', key: 'deploy', instructions: 'Deploy.', tools: [deploy] });
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'deploy', arguments: {} }] },
  );
  work({ store, clock, agents: () => createAgent({ model, prompt }), pollMs: 1000 });
  for (const id of ['approved', 'expired']) {
    const session = await openSession({ store, id, clock });
    await session.send('Deploy it.');
    const waiting = await untilSession(store, id, ({ summary }) => summary?.status === 'suspended');
    const [call] = waiting.pending();
    if (id === 'approved' && call) await session.approve(call, { by: 'Ann' });
    if (id === 'expired') {
      clock.advance(59_000);
      while ((await store.listSessions({ status: 'suspended' })).sessions.length > 0) {
        clock.advance(1000);
        await setImmediate();
      }
    }
    const ended = await untilSession(store, id, isCompleted);
    const result = ended.messages().find(({ role }) => role === 'tool');
    expect(JSON.stringify(result)).toContain(id === 'approved' ? 'deployed' : 'denied');
  }
});

test('a timer is fired by a worker at its time, once, and by the next worker when the first is gone', async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  let looks = 0;
  const look = defineTool({
    name: 'look',
    description: 'Looks at the build',
    input: z.object({}),
    effect: 'read',
    execute: (_, { attempt }) => {
      looks++;
      return attempt === 1 ? suspendUntil(clock.now() + 1_800_000) : 'green';
    },
  });
  const prompt = definePrompt({ ns: 'test', key: 'look', instructions: 'Look.', tools: [look] });
  const model = scriptedModel([{ toolCalls: [{ name: 'look', arguments: {} }] }, 'It is green.']);
  const agents = () => createAgent({ model, prompt });
  const { worker } = work({ store, clock, agents });
  const session = await openSession({ store, id: 'a', clock });
  await session.send('Look at the build in half an hour.');
  await untilSession(store, 'a', ({ summary }) => summary?.wakeAt !== undefined);
  await worker.stop();
  clock.advance(7_200_000); // long after it was due
  const others = [work({ store, clock, agents }), work({ store, clock, agents })];
  await untilSession(store, 'a', isCompleted);
  expect(looks).toBe(2);
  expect(others.flatMap(({ errors }) => errors)).toEqual([]);
});

test('an input that is sent while an attempt fails is a reason to try again at once', async () => {
  const store = memoryStore();
  let attempts = 0;
  const { errors } = work({
    store,
    pollMs: 1_000_000,
    agents: async (session) => {
      attempts++;
      if (attempts > 1) return echoing();
      await session.send('And another thing.');
      throw new Error('not today');
    },
  });
  await send(store, 'a');
  const session = await untilSession(store, 'a', (one) => isCompleted(one) && one.messages().length === 6);
  expect(errors).toHaveLength(1);
  expect(session.summary?.queued).toBeUndefined();
});

test('a session that fails again and again backs off, is suspended with its error, and runs again when a person says so', async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  let isBroken = true;
  const times: number[] = [];
  const { worker, errors } = work({
    store,
    clock,
    maxAttempts: 4,
    agents: () => {
      times.push(clock.now());
      if (isBroken) throw new Error('the tools are missing');
      return echoing();
    },
  });
  const session = await openSession({ store, id: 'a', clock });
  await session.send('Hello');
  for (let failures = 1; failures < 4; failures++) {
    while (worker.stats().failures.length === 0 || errors.length < failures) await setImmediate();
    const [failure] = worker.stats().failures;
    expect(failure).toMatchObject({ sessionId: 'a', attempts: failures });
    clock.advance(Date.parse(failure?.retryAt ?? '') - clock.now());
  }
  const suspended = await untilSession(store, 'a', ({ summary }) => summary?.suspended !== undefined);
  expect(times.map((time, i) => time - (times[i - 1] ?? time))).toEqual([0, 1000, 2000, 4000]);
  expect(suspended.summary).toMatchObject({
    status: 'suspended',
    suspended: { error: { code: 'INTERNAL', message: 'the tools are missing' }, attempts: 4, work: 'input' },
  });
  expect(await store.listSessions({ work: true })).toEqual({ sessions: [] });
  expect((await store.listSessions({ status: 'suspended' })).sessions).toHaveLength(1);
  expect(worker.stats()).toMatchObject({ failures: [], counts: { suspended: 1, failures: 4 } });
  isBroken = false;
  await session.resume({ by: 'Ann' });
  const ended = await untilSession(store, 'a', isCompleted);
  expect(ended.summary).not.toHaveProperty('suspended');
  await expect(session.resume()).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('a late ring does not run a session that workers gave up on; an input does', async () => {
  const { store, worker, ...made } = work({ pollMs: 1_000_000 });
  const session = await openSession({ store, id: 'a' });
  const error = { code: 'INTERNAL', message: 'the tools are missing' };
  await session.append([
    { type: 'input/queued', inputId: 'i', mode: 'next', content: [{ type: 'text', text: 'Hello' }] },
    { type: 'session/suspended', error, attempts: 5 },
  ]);
  worker.wake('a');
  while (worker.status('a') !== undefined) await setImmediate();
  await session.refresh();
  expect(session.summary).toMatchObject({ status: 'suspended', suspended: { error } });
  expect(worker.stats().counts.runs).toBe(0);
  await session.send('Again');
  await untilSession(store, 'a', isCompleted);
  expect(made.errors).toEqual([]);
});

test('stopping waits for what runs; what takes too long is left for the next worker, which continues it', async () => {
  const store = memoryStore();
  const model = new HeldModel();
  const agents = () => createAgent({ model, prompt: chat });
  const first = work({ store, agents });
  await send(store, 'a');
  await untilSession(store, 'a', ({ summary }) => summary?.status === 'running');
  expect((await first.worker.fetch(new Request('http://localhost/ready'))).status).toBe(200);
  const stopping = first.worker.stop({ drainMs: 0 });
  expect((await first.worker.fetch(new Request('http://localhost/ready'))).status).toBe(503);
  expect((await first.worker.fetch(new Request('http://localhost/health'))).status).toBe(200);
  await stopping;
  expect(first.worker.stats()).toMatchObject({ state: 'stopped', running: [] });
  work({ store, agents });
  model.say('Whole.');
  model.say(undefined);
  const session = await untilSession(store, 'a', isCompleted);
  expect(session.messages().at(-1)).toMatchObject({ content: [{ text: 'Whole.' }] });
});

test('a run that is silent for too long is reported once and fails the health check; it may be stopped, for a person', async () => {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const stuck: string[] = [];
  const models = { a: new HeldModel(), b: new HeldModel() };
  const { worker } = work({
    store,
    clock,
    stuckAfterMs: 5000,
    pollMs: 1000,
    onStuck: ({ sessionId }) => {
      stuck.push(sessionId);
      return sessionId === 'b' ? 'stop' : undefined;
    },
    agents: ({ id }) => createAgent({ model: models[id as 'a'], prompt: chat }),
  });
  for (const id of ['a', 'b']) {
    const session = await openSession({ store, id, clock });
    await session.send('Hello');
    await untilSession(store, id, ({ summary }) => summary?.status === 'running');
  }
  while (stuck.length < 2) {
    clock.advance(1000);
    await setImmediate();
  }
  const stopped = await untilSession(store, 'b', ({ summary }) => summary?.status === 'suspended');
  expect(stopped.summary?.work).toBeUndefined();
  const unhealthy = await worker.fetch(new Request('http://localhost/health'));
  expect(unhealthy.status).toBe(503);
  expect(await unhealthy.json()).toMatchObject({ problems: [expect.stringContaining('session a is stuck')] });
  models.a.say('I was thinking.');
  models.a.say(undefined);
  await untilSession(store, 'a', isCompleted);
  while (worker.stats().running.length > 0) await setImmediate();
  expect((await worker.fetch(new Request('http://localhost/health'))).status).toBe(200);
  expect(stuck.toSorted()).toEqual(['a', 'b']);
});

test.for([
  [{ concurrency: 0 }, 'concurrency'],
  [{ pollMs: 0.5 }, 'pollMs'],
  [{ agents: undefined }, 'agents'],
  [{ store: undefined }, 'store'],
  [{ workers: 3 }, 'workers'],
] as const)('createWorker refuses %o and names %s', ([wrong, name]) => {
  const options = { store: memoryStore(), agents: echoing, ...wrong } as never;
  expect(() => createWorker(options)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(name) }),
  );
});
