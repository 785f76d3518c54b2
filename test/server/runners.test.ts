/** The server runs what is sent: one runner for each session, also after a crash, beside other servers, and until it closes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { createAgent, memoryStore, openSession, scriptedModel, textOf } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { chat, counting, HeldModel, JSON_HEADERS, type Served, serve, until } from './support.ts';

const isIdle = (served: Served, id: string) => async (): Promise<boolean> => {
  const { summary, runner } = await served.json(`/sessions/${id}`);
  return (summary as { readonly work?: string }).work === undefined && runner === undefined;
};

test('what is sent is run, each session by one runner, and nothing that is sent meanwhile is missed', async () => {
  const running = new Map<string, number>();
  let most = 0;
  const served = await serve({
    agents: ({ id }) => {
      const model = scriptedModel(({ messages }) => {
        running.set(id, (running.get(id) ?? 0) + 1);
        most = Math.max(most, running.get(id) ?? 0);
        queueMicrotask(() => running.set(id, (running.get(id) ?? 0) - 1));
        return `${messages.length}`;
      });
      return createAgent({ model, prompt: chat });
    },
    maxRunners: 2,
  });
  const ids = ['a', 'b', 'c', 'd'];
  await Promise.all(
    ids.flatMap((id) =>
      Array.from({ length: 5 }, (_, i) =>
        served.send('POST', `/sessions/${id}/inputs`, { input: `${i}`, id: `m${i}` }),
      ),
    ),
  );
  for (const id of ids) await until(isIdle(served, id));
  expect(most).toBe(1);
  for (const id of ids) {
    const { evaluations } = (await served.json(`/sessions/${id}/evaluations`)) as { evaluations: { status: string }[] };
    expect(evaluations.map(({ status }) => status)).toEqual(Array(5).fill('completed'));
  }
});

test('a server that starts runs what was left, and what other processes send later', async () => {
  const store = memoryStore();
  const left = await openSession({ store, id: 'left' });
  await left.send('Hello');
  const served = await serve({ store, agents: counting, pollMs: 5 });
  await until(isIdle(served, 'left'));
  expect(JSON.stringify(await served.json('/sessions/left/messages'))).toContain('I have read 1 messages.');
  const later = await openSession({ store, id: 'later' });
  await later.send('Hello');
  await until(isIdle(served, 'later'));
  expect(await served.json('/sessions/later')).toMatchObject({ summary: { status: 'completed' } });
});

test('a runner that throws is reported and visible, is tried again, and breaks nothing else', async () => {
  let isBroken = true;
  const served = await serve({
    agents: ({ id }) => {
      if (id === 'bad' && isBroken) throw new Error('no agent today');
      return counting();
    },
  });
  await served.send('POST', '/sessions/bad/inputs', { input: 'Hello' });
  await served.send('POST', '/sessions/good/inputs', { input: 'Hello' });
  await until(isIdle(served, 'good'));
  await until(() => served.errors.length > 0);
  expect(served.errors).toMatchObject([{ message: 'no agent today' }]);
  expect(await served.json('/sessions/bad')).toMatchObject({
    queued: 1,
    runner: {
      state: 'failed',
      error: { code: 'INTERNAL', message: expect.not.stringContaining('no agent today') },
      retryAt: expect.any(String),
    },
  });
  isBroken = false;
  await served.send('POST', '/sessions/bad/inputs', { input: 'And now?' });
  await until(isIdle(served, 'bad'));
  expect(await served.json('/sessions/bad')).toMatchObject({ queued: 0, summary: { status: 'completed' } });
});

test('an input that is sent while an attempt fails is run at once, without the poll', async () => {
  const failing: (() => void)[] = [];
  let attempts = 0;
  const served = await serve({
    pollMs: 0,
    agents: async () => {
      if (++attempts > 1) return counting();
      await new Promise<void>((resolve) => failing.push(resolve));
      throw new Error('no agent yet');
    },
  });
  await served.send('POST', '/sessions/a/inputs', { input: 'One' });
  await until(() => failing.length === 1);
  await served.send('POST', '/sessions/a/inputs', { input: 'Two' });
  failing[0]?.();
  await until(isIdle(served, 'a'));
  expect(attempts).toBe(2);
  expect(served.errors).toHaveLength(1);
  expect(await served.json('/sessions/a')).toMatchObject({ queued: 0, summary: { status: 'completed' } });
});

test('a runner that failed is tried again after its pause, without the poll', async () => {
  let attempts = 0;
  const served = await serve({
    pollMs: 0,
    agents: () => {
      if (++attempts === 1) throw new Error('no agent yet');
      return counting();
    },
  });
  await served.send('POST', '/sessions/a/inputs', { input: 'One' });
  await until(isIdle(served, 'a'));
  expect(attempts).toBe(2);
});

test('GET /workers shows what runs, what waits and what workers gave up on; POST resume lets that run again', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 'given-up' });
  await session.send('Hello');
  await session.append([{ type: 'session/suspended', error: { code: 'INTERNAL', message: 'no tools' }, attempts: 5 }]);
  const model = new HeldModel();
  const served = await serve({
    store,
    agents: ({ id }) => (id === 'held' ? createAgent({ model, prompt: chat }) : counting()),
  });
  await served.send('POST', '/sessions/held/inputs', { input: 'Hello' });
  await until(async () => ((await served.json('/sessions/held')).summary as { status?: string }).status === 'running');
  expect(await served.json('/workers')).toMatchObject({
    runs: [{ sessionId: 'held', isLive: true, holder: { pid: process.pid } }],
    backlog: 0,
    suspended: [{ sessionId: 'given-up', attempts: 5, error: { code: 'INTERNAL', message: 'no tools' } }],
    isComplete: true,
    worker: { state: 'running', running: [{ sessionId: 'held' }] },
  });
  await served.send('POST', '/sessions/given-up/resume', { by: 'Ann' });
  await until(isIdle(served, 'given-up'));
  expect(await served.json('/sessions/given-up')).toMatchObject({ summary: { status: 'completed' } });
});

test('a prompt that changed since the evaluation began is reported as PROMPT_MISMATCH', async () => {
  const store = memoryStore();
  const model = new HeldModel();
  const stop = new AbortController();
  const before = await openSession({ store, id: 'a' });
  await before.send('Hello');
  const running = createAdapter({ model }).run(chat, { session: before, signal: stop.signal });
  model.say('One');
  await until(async () => (await store.readDraft('a')).length > 0);
  stop.abort();
  await running;
  const other = definePrompt({ ns: 'test', key: 'chat', instructions: 'Be rude.' });
  const served = await serve({ store, agents: () => ({ ...counting(), prompt: other }) });
  await served.send('POST', '/sessions/a/resume', {});
  await until(() => served.errors.length > 0);
  expect(served.errors).toMatchObject([{ code: 'PROMPT_MISMATCH' }]);
});

test('a session that agents declines is left to other processes', async () => {
  let calls = 0;
  const served = await serve({
    pollMs: 1,
    agents: () => {
      calls++;
      return undefined;
    },
  });
  await served.send('POST', '/sessions/a/inputs', { input: 'Hello' });
  await until(() => calls === 1);
  // Many polls later it was looked at no further: nothing has changed.
  for (let i = 0; i < 20; i++) await served.json('/sessions');
  expect(calls).toBe(1);
  expect(await served.json('/sessions/a')).toMatchObject({ queued: 1 });
});

test('closing waits for runners; one that takes too long is left for the next server, which continues it', async () => {
  const store = memoryStore();
  const model = new HeldModel();
  const agents = () => createAgent({ model, prompt: chat });
  const first = await serve({ store, agents });
  await first.send('POST', '/sessions/a/inputs', { input: 'Hello' });
  model.say('Partial');
  await until(async () => (await store.readDraft('a')).length > 0);
  await first.server.close({ graceMs: 0 });
  const session = await openSession({ store, id: 'a' });
  expect(session.summary).toMatchObject({ status: 'suspended', work: 'resume' });
  await serve({ store, agents });
  model.say('Whole.');
  model.say(undefined);
  await until(async () => {
    await session.refresh();
    return session.summary?.status === 'completed';
  });
  expect(textOf(session.messages().at(-1) as never)).toBe('Whole.');
  expect(first.errors).toEqual([]);
});

test('closing keeps what a person cancelled cancelled', async () => {
  const store = memoryStore();
  const model = new HeldModel();
  const served = await serve({ store, agents: () => createAgent({ model, prompt: chat }) });
  await served.send('POST', '/sessions/a/inputs', { input: 'Hello' });
  await until(async () => (await served.json('/sessions/a')).runner !== undefined);
  await until(async () => ((await served.json('/sessions/a')).summary as { status?: string }).status === 'running');
  await served.send('POST', '/sessions/a/cancel', {});
  await served.server.close({ graceMs: 0 });
  const session = await openSession({ store, id: 'a' });
  expect(session.summary?.work).toBeUndefined();
  expect(session.summary?.status).toBe('suspended');
});

test('two servers on one database: each input is run once, and each sees what the other does', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-servers-'));
  const stores = [await sqliteStore(join(directory, 'a.db')), await sqliteStore(join(directory, 'a.db'))] as const;
  onTestFinished(async () => {
    await Promise.all(servers.map(({ server }) => server.close()));
    for (const store of stores) await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const servers = [
    await serve({ store: stores[0], agents: counting, pollMs: 20 }),
    await serve({ store: stores[1], agents: counting, pollMs: 20 }),
  ] as const;
  const [one, two] = servers;
  await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? one : two).send('POST', '/sessions/a/inputs', { input: `${i}`, id: `m${i}` }),
    ),
  );
  await until(isIdle(one, 'a'));
  await until(isIdle(two, 'a'));
  const { messages } = (await two.json('/sessions/a/messages')) as { messages: { role: string }[] };
  expect(messages.filter(({ role }) => role === 'user')).toHaveLength(10);
  expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(10);
  expect([...one.errors, ...two.errors]).toEqual([]);
});

test('a server that is killed in the middle of a response: the next one resumes it when it starts', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
  const database = join(directory, 'a.db');
  const child = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'server-child.ts'), database], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { value: url } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const body = JSON.stringify({ input: 'Hello', id: 'm1' });
  await fetch(`${url}/sessions/a/inputs`, { method: 'POST', headers: JSON_HEADERS, body });
  const store = await sqliteStore(database);
  await until(async () => (await store.readDraft('a')).length > 0);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const served = await serve({ store, agents: counting });
  onTestFinished(async () => {
    await served.server.close();
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await until(isIdle(served, 'a'));
  const { state } = (await served.json('/sessions/a/state')) as { state: { blocks: Record<string, unknown>[] } };
  expect(state.blocks.filter(({ type }) => type !== 'system')).toMatchObject([
    { type: 'user_message', content: 'Hello' },
    { type: 'assistant_text', content: 'The beginning', status: 'error' },
    { type: 'assistant_text', content: 'I have read 1 messages.', status: 'complete' },
  ]);
  expect(served.errors).toEqual([]);
});

test('a session that is deleted while it runs ends its runner without an error', async () => {
  const model = new HeldModel();
  const served = await serve({ agents: () => createAgent({ model, prompt: chat }) });
  await served.send('POST', '/sessions/a/inputs', { input: 'Hello' });
  await until(async () => ((await served.json('/sessions/a')).summary as { status?: string }).status === 'running');
  expect((await served.send('DELETE', '/sessions/a')).status).toBe(200);
  model.say('x');
  model.say(undefined);
  await until(() => served.server.stats().runners === 0);
  expect(served.errors).toEqual([]);
});

test('without listen, start begins the runners; a closed server takes nothing more', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 'a' });
  await session.send('Hello');
  const server = createServer({ store, agents: counting });
  server.start();
  await until(async () => {
    await session.refresh();
    return session.summary?.status === 'completed';
  });
  await server.close();
  const response = await server.fetch(new Request('http://localhost/sessions/a'));
  expect(response.status).toBe(503);
  await expect(server.listen()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
});
