import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryStore, openSession, type ScriptedTurn, type Store, textOf } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { call, deferred, tool } from './agent.ts';
import { answering, type Chat, chat, isUser, WORK_FIRST } from './chat-agent.ts';

/** D61: the log is the inbox. */

const STORES: readonly [name: string, open: () => Promise<Store>][] = [
  ['memory', async () => memoryStore()],
  [
    'SQLite',
    async () => {
      const directory = mkdtempSync(join(tmpdir(), 'holdfast-inbox-'));
      const store = await sqliteStore(join(directory, 'sessions.db'));
      onTestFinished(async () => {
        await store.close();
        rmSync(directory, { recursive: true, force: true });
      });
      return store;
    },
  ],
];

/** Two handles of one session, as two processes would have them, and a tool that runs until the test ends it. */
async function twoWorkers(store: Store) {
  const began = deferred();
  const goOn = deferred();
  const work = tool('work', async () => {
    began.resolve();
    await goOn.promise;
  });
  const make = () => chat({ store, tools: [work], script: WORK_FIRST });
  return { began, goOn, first: await make(), second: await make() };
}

describe.each(STORES)('the inbox in %s', (_, open) => {
  test('an input starts an evaluation, the next input continues it', async () => {
    const { session, run, said } = await chat({ store: await open() });
    expect(await session.send('Hello', { id: 'm1' })).toEqual({ id: 'm1', seq: 1, mode: 'next', status: 'queued' });
    expect(await run()).toMatchObject({
      status: 'idle',
      responses: [{ status: 'completed', text: 'You said: Hello' }],
    });
    await session.send('And now?', { id: 'm2', by: 'ada' });
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: And now?' }] });
    expect(said()).toEqual([
      'user: Hello',
      'assistant: You said: Hello',
      'user: And now?',
      'assistant: You said: And now?',
    ]);
    expect(await run()).toEqual({ status: 'idle', responses: [] });
  });

  test('several inputs are run in sending order, each once', async () => {
    const { session, run } = await chat({ store: await open() });
    await Promise.all(['one', 'two', 'three'].map((text) => session.send(text)));
    const inputs = session.queue().map(({ content }) => textOf({ content } as never));
    const { responses } = await run();
    expect(responses.map(({ text }) => text)).toEqual(inputs.map((text) => `You said: ${text}`));
    expect(session.queue()).toEqual([]);
  });

  test('the same id again is the same input, from any handle; with another text it is KEY_REUSED', async () => {
    const store = await open();
    const { session, run } = await chat({ store });
    const other = await openSession({ store, id: 'session' });
    const first = await session.send('Hello', { id: 'm1' });
    expect(await other.send('Hello', { id: 'm1' })).toEqual(first);
    await expect(other.send('Something else', { id: 'm1' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    const { responses } = await run();
    expect(responses).toHaveLength(1);
    expect(await other.send('Hello', { id: 'm1' })).toEqual({ ...first, status: 'placed' });
    await expect(session.send('Something else', { id: 'm1' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect((await run()).responses).toEqual([]);
  });

  test('a withdrawn input is not run; a placed one cannot be withdrawn', async () => {
    const store = await open();
    const { session, run } = await chat({ store });
    const other = await openSession({ store, id: 'session' });
    await session.send('one', { id: 'm1' });
    await session.send('two', { id: 'm2' });
    expect(await other.withdraw('m1', { by: 'ada' })).toBe(true);
    expect(await session.withdraw('m1')).toBe(true);
    expect((await run()).responses.map(({ text }) => text)).toEqual(['You said: two']);
    expect(await other.withdraw('m2')).toBe(false);
    expect(await session.send('one', { id: 'm1' })).toMatchObject({ status: 'withdrawn' });
    await expect(session.withdraw('m3')).rejects.toMatchObject({ code: 'INPUT_NOT_FOUND' });
  });

  test('a steer joins the running evaluation after the results of the turn; a next waits for its end', async () => {
    const store = await open();
    const began = deferred();
    const goOn = deferred();
    const work = tool('work', async () => {
      began.resolve();
      await goOn.promise;
      return 'worked';
    });
    const script = [
      { toolCalls: [{ name: 'work', arguments: {} }] },
      'steered',
      'followed',
    ] satisfies readonly ScriptedTurn[];
    let turns = 0;
    const { session, run, said } = await chat({ store, tools: [work], script: () => script[turns++] as ScriptedTurn });
    const other = await openSession({ store, id: 'session' });
    await session.send('Work.', { id: 'm1' });
    const running = run();
    await began.promise;
    await other.send('Later.', { id: 'm2' });
    await other.send('Differently!', { id: 'm3', mode: 'steer' });
    goOn.resolve();
    expect((await running).responses.map(({ text }) => text)).toEqual(['steered', 'followed']);
    expect(said()).toEqual([
      'user: Work.',
      'assistant: ',
      'tool: worked',
      'user: Differently!',
      'assistant: steered',
      'user: Later.',
      'assistant: followed',
    ]);
  });

  test('evaluate places steers, too; one that is too late is run next', async () => {
    const store = await open();
    const spoke = deferred();
    const goOn = deferred();
    const { session, run, evaluate } = await chat({
      store,
      script: answering(async (asked) => {
        if (asked === 1) {
          spoke.resolve();
          await goOn.promise;
        }
        return `answer ${asked}`;
      }),
    });
    const other = await openSession({ store, id: 'session' });
    const running = evaluate({ input: 'Go.' });
    await spoke.promise;
    await other.send('Wait!', { id: 'late', mode: 'steer' });
    goOn.resolve();
    expect(await running).toMatchObject({ text: 'answer 1' });
    await session.refresh();
    expect(session.queue()).toMatchObject([{ id: 'late', mode: 'steer' }]);
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'answer 2' }] });
  });

  test("of two runs of one session the second is busy, and the first runs its caller's input", async () => {
    const store = await open();
    const { began, goOn, first, second } = await twoWorkers(store);
    await first.session.send('Work.');
    const running = first.run();
    await began.promise;
    await second.session.send('More.');
    expect(await second.run()).toMatchObject({
      status: 'busy',
      responses: [],
      lease: { holder: { pid: process.pid, runs: true } },
    });
    const waiting = second.run({ wait: true });
    goOn.resolve();
    expect((await running).responses).toMatchObject([{ text: 'You said: Work.' }, { text: 'You said: More.' }]);
    expect(await waiting).toEqual({ status: 'idle', responses: [] });
  });

  test('run waits for an evaluate to end', async () => {
    const store = await open();
    const { began, goOn, first, second } = await twoWorkers(store);
    const evaluating = first.evaluate({ input: 'Work.' });
    await began.promise;
    await second.session.send('More.');
    const running = second.run();
    goOn.resolve();
    await evaluating;
    expect(await running).toMatchObject({ status: 'idle', responses: [{ text: 'You said: More.' }] });
    expect(second.said()).toHaveLength(6);
  });

  test('a steer to an evaluation that waits for approval waits, reports why, and is placed after the call', async () => {
    const store = await open();
    const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
    const script = [{ toolCalls: [call('pay')] }, 'done'] as const;
    const { session, run, said } = await chat({ store, tools: [pay], script });
    await session.send('Pay.');
    const { status, responses } = await run();
    expect(status).toBe('suspended');
    const sent = await session.send('In euros.', { id: 's', mode: 'steer' });
    expect(sent).toMatchObject({ status: 'queued', waitsFor: 'APPROVAL_REQUIRED' });
    expect(session.queue()).toMatchObject([{ id: 's', waitsFor: 'APPROVAL_REQUIRED' }]);
    expect(await run()).toMatchObject({
      status: 'suspended',
      responses: [{ reason: 'APPROVAL_REQUIRED', pending: [{}] }],
    });
    const [pending] = responses[0]?.pending ?? [];
    if (pending) await session.approve(pending);
    expect(session.summary).toMatchObject({ work: 'decision' });
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'done' }] });
    expect(said()).toEqual(['user: Pay.', 'assistant: ', 'tool: paid', 'user: In euros.', 'assistant: done']);
  });
});

describe('queued and placed inputs', () => {
  test('a fork has no queued input; the original runs it', async () => {
    const { session, run, store, prompt, adapter } = await chat();
    await session.send('Hello.');
    await run();
    await session.send('For the original.', { id: 'm2' });
    const fork = await session.fork({ id: 'fork' });
    expect(fork.queue()).toEqual([]);
    expect(fork.summary?.work).toBeUndefined();
    expect(await adapter.run(prompt, { session: fork })).toEqual({ status: 'idle', responses: [] });
    expect(await fork.send('Another text', { id: 'm2' })).toMatchObject({ status: 'queued' });
    expect((await run()).responses).toHaveLength(1);
    const listed = await store.listSessions({ work: true });
    expect(listed.sessions.map(({ id }) => id)).toEqual(['fork']);
  });

  test('a snapshot that is restored elsewhere has no queued input; reopening from a stored snapshot has it', async () => {
    const { session, store } = await chat();
    await session.send('One.', { id: 'm1' });
    await session.compact();
    const again = await openSession({ store, id: 'session' });
    expect(again.queue()).toMatchObject([{ id: 'm1' }]);
    const elsewhere = await openSession({ store: memoryStore(), id: 'copy' });
    await elsewhere.restore(session.snapshot());
    expect(elsewhere.queue()).toEqual([]);
  });

  test('erasing a placed message erases its input; it stays placed', async () => {
    const { session, run, store } = await chat({ script: () => 'ok' });
    await session.send('My password is hunter2.', { id: 'm1' });
    await run();
    const message = session.messages().find(isUser);
    await session.eraseMessage(message?.id ?? '');
    const log = JSON.stringify(await eventsOf(session));
    expect(log).not.toContain('My password is hunter2');
    const again = await openSession({ store, id: 'session' });
    expect(again.queue()).toEqual([]);
    expect(await again.send('My password is hunter2.', { id: 'm1' })).toMatchObject({ status: 'placed' });
  });

  test('a megabyte of input is external content, placed in full, and the same input again is the same', async () => {
    const text = 'x'.repeat(1_200_000);
    const { session, run, requests, store } = await chat({ script: () => 'ok' });
    await session.send(text, { id: 'm1' });
    await session.send(text, { id: 'm1' });
    const [queued] = session.queue();
    expect(queued?.content).toMatchObject([{ data: expect.stringMatching(/^sha256:/) }]);
    await run();
    expect(textOf(requests[0]?.messages.find(isUser) as never)).toBe(text);
    expect(await session.send(text, { id: 'm1' })).toMatchObject({ status: 'placed' });
    await expect(session.send(`${text}y`, { id: 'm1' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(await store.check()).toMatchObject({ ok: true });
  });

  test('an input of a session with redact is recorded redacted', async () => {
    const { session, run } = await chat({
      redact: (event) => JSON.parse(JSON.stringify(event).replaceAll('hunter2', '***')),
    });
    await session.send('It is hunter2.', { id: 'm1' });
    await session.send('It is hunter2.', { id: 'm1' });
    await run();
    expect(JSON.stringify(await eventsOf(session))).not.toContain('hunter2');
  });

  test.each<[string, (s: Chat['session']) => Promise<unknown>]>([
    ['an empty text', (s) => s.send('')],
    ['no parts', (s) => s.send([])],
    ['a part of another kind', (s) => s.send([{ type: 'reasoning', text: 'x' } as never])],
    ['an empty id', (s) => s.send('x', { id: '' })],
    ['a long id', (s) => s.send('x', { id: 'x'.repeat(201) })],
    ['another mode', (s) => s.send('x', { mode: 'now' as never })],
    ['an unknown option', (s) => s.send('x', { steer: true } as never)],
    ['nothing', (s) => s.send(undefined as never)],
  ])('%s is rejected and nothing is queued', async (_, send) => {
    const { session } = await chat();
    await expect(send(session)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(session.seq).toBe(0);
  });

  test('a deleted session accepts no input', async () => {
    const { session, store } = await chat();
    await session.send('One.');
    await store.deleteSession('session');
    await expect(session.send('Two.')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await expect(session.withdraw('m1')).rejects.toMatchObject({ code: expect.stringMatching(/NOT_FOUND/) });
  });

  test('run rejects options that the log decides, and a missing session', async () => {
    const { run, adapter, prompt } = await chat();
    await expect(run({ input: 'x' } as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(run({ resume: true } as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(adapter.run(prompt, {} as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

async function eventsOf(session: Chat['session']): Promise<readonly { readonly type: string }[]> {
  const events = [];
  for await (const event of session.events()) events.push(event);
  return events;
}
