import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  abandonEvaluation,
  approveToolCall,
  type CallRef,
  cancelEvaluation,
  getLatestEvaluation,
  getMessages,
  getQueuedInputs,
  type Model,
  type ModelRequest,
  memoryStore,
  openSession,
  type RunOptions,
  type RunResult,
  resumeEvaluation,
  type ScriptedTurn,
  type Store,
  settleToolCall,
  textOf,
} from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { type Agent, type AgentOptions, agent, call, deferred, eventTypes, tool, toolUntilAborted } from './agent.ts';

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

/** Responds to each user message with its text. */
const ECHO = ({ messages }: ModelRequest): ScriptedTurn => `You said: ${textOf(messages.findLast(isUser) as never)}`;
const isUser = ({ role }: { readonly role: string }): boolean => role === 'user';

/** A model that responds with what `answer` returns. */
function answering(answer: (asked: number, signal: AbortSignal | undefined) => Promise<string> | string): Model {
  let asked = 0;
  return {
    provider: 'test',
    modelId: 'test',
    async *stream({ signal }) {
      const text = await answer(++asked, signal);
      yield { type: 'finish', answer: { content: [{ type: 'text', text }], toolCalls: [] } };
    },
  };
}

interface Chat extends Agent {
  run(options?: Partial<RunOptions>): Promise<RunResult<unknown>>;
  /** The messages of the newest evaluation's requests, without instructions. */
  said(): readonly string[];
}

async function chat(options: Partial<AgentOptions> = {}): Promise<Chat> {
  const made = await agent({ script: ECHO, ...options });
  const { session, adapter, prompt } = made;
  return {
    ...made,
    run: (more = {}) => adapter.run(prompt, { session, ...more }),
    said: () =>
      getMessages(session, getLatestEvaluation(session)?.id, { continued: true })
        .filter(({ role }) => role !== 'system')
        .map((message) => `${message.role}: ${textOf(message)}`),
  };
}

/** Calls `work` for the first message, and responds to the others as `ECHO` does. */
const WORK_FIRST = (request: ModelRequest): ScriptedTurn =>
  request.messages.filter(isUser).length === 1 && request.turn === 1 ? { toolCalls: [call('work')] } : ECHO(request);

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
    const inputs = getQueuedInputs(session).map(({ content }) => textOf({ content } as never));
    const { responses } = await run();
    expect(responses.map(({ text }) => text)).toEqual(inputs.map((text) => `You said: ${text}`));
    expect(getQueuedInputs(session)).toEqual([]);
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
    expect(getQueuedInputs(session)).toMatchObject([{ id: 'late', mode: 'steer' }]);
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
    expect(getQueuedInputs(session)).toMatchObject([{ id: 's', waitsFor: 'APPROVAL_REQUIRED' }]);
    expect(await run()).toMatchObject({
      status: 'suspended',
      responses: [{ reason: 'APPROVAL_REQUIRED', pending: [{}] }],
    });
    const [pending] = responses[0]?.pending ?? [];
    if (pending) await approveToolCall(session, pending);
    expect(session.summary).toMatchObject({ work: 'decision' });
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'done' }] });
    expect(said()).toEqual(['user: Pay.', 'assistant: ', 'tool: paid', 'user: In euros.', 'assistant: done']);
  });
});

describe('after a stop', () => {
  test('a message that is sent after a cancellation supersedes the evaluation; its open calls are closed as stopped', async () => {
    const began = deferred();
    const work = tool('work', (_, { signal }) => {
      began.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    let asked = 0;
    const { session, run, said, requests } = await chat({
      tools: [work],
      script: () => (++asked === 1 ? { toolCalls: [call('work', {}, 'w')] } : 'Sorry.'),
    });
    await session.send('Work.');
    await session.send('Queued before the stop.');
    const running = run();
    await began.promise;
    await cancelEvaluation(session, { by: 'ada' });
    expect(await running).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
    expect(session.summary?.work).toBeUndefined();
    const sent = await session.send('Do not do that.', { mode: 'steer' });
    expect(sent.waitsFor).toBeUndefined();
    expect(session.summary?.work).toBe('input');
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'Sorry.' }, { text: 'Sorry.' }] });
    expect(said()).toEqual([
      'user: Work.',
      'assistant: ',
      'tool: The user stopped this before its result was recorded. It may have taken effect.',
      'user: Queued before the stop.',
      'assistant: Sorry.',
      'user: Do not do that.',
      'assistant: Sorry.',
    ]);
    expect(requests).toHaveLength(3);
    expect((await eventTypes(session)).filter((type) => type === 'evaluation/superseded')).toHaveLength(1);
  });

  test('a call that a person settled before the cancellation keeps that result', async () => {
    const store = memoryStore();
    const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
    const { session, run, said } = await chat({
      store,
      tools: [pay],
      script: ({ turn, messages }) =>
        turn === 1 && messages.filter(isUser).length === 1 ? { toolCalls: [call('pay', {}, 'p')] } : 'ok',
    });
    await session.send('Pay.');
    const [response] = (await run()).responses;
    await settleToolCall(session, response?.pending[0] as CallRef, { result: 'paid by hand' });
    await cancelEvaluation(session);
    await session.send('Thank you.');
    await run();
    expect(said()).toContain('tool: paid by hand');
  });

  test('a message that is sent after an aborted signal does the same; resumeCancelled resumes it instead', async () => {
    for (const resumeCancelled of [false, true]) {
      const controller = new AbortController();
      const { work, began, runs } = toolUntilAborted();
      const { session, run } = await chat({ tools: [work], script: WORK_FIRST });
      await session.send('Work.');
      const running = run({ signal: controller.signal });
      await began;
      controller.abort();
      expect(await running).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
      await session.send('Next.');
      expect(session.summary?.work).toBe('input');
      const { status, responses } = await run({ resumeCancelled });
      expect(status).toBe('idle');
      const texts = responses.map(({ text }) => text);
      expect(texts).toEqual(resumeCancelled ? ['You said: Work.', 'You said: Next.'] : ['You said: Next.']);
      expect(runs()).toBe(resumeCancelled ? 2 : 1);
    }
  });

  test('resumeEvaluation resumes a cancelled evaluation', async () => {
    const began = deferred();
    const { session, run } = await chat({
      script: answering(async (asked, signal) => {
        if (asked > 1) return 'ok';
        began.resolve();
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      }),
    });
    await session.send('Go.');
    const running = run();
    await began.promise;
    await cancelEvaluation(session);
    await running;
    await resumeEvaluation(session, { by: 'ada' });
    expect(session.summary?.work).toBe('resume');
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ status: 'completed', text: 'ok' }] });
    await expect(resumeEvaluation(session)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });
});

test('of a request to resume and one to cancel, the later one applies', async () => {
  const { session, run } = await chat({
    adapter: { maxModelRetries: 0 },
    script: (request) => (failures-- > 0 ? { error: { status: 500 } } : ECHO(request)),
  });
  let failures = 1;
  await session.send('Go.');
  await run();
  await resumeEvaluation(session);
  await cancelEvaluation(session);
  expect(session.summary?.work).toBeUndefined();
  expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
  await resumeEvaluation(session);
  expect(session.summary?.work).toBe('resume');
  expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Go.' }] });
});

describe('what blocks the queue', () => {
  test('a failed evaluation, until it is abandoned; the next input continues the evaluation before it', async () => {
    const { session, run, said } = await chat({
      script: ({ messages }) => {
        const text = textOf(messages.findLast(isUser) as never);
        if (text === 'Break.') return { text: '', toolCalls: [] };
        return `You said: ${text}`;
      },
      tools: [],
    });
    await session.send('Hello.');
    await run();
    await session.append([
      {
        type: 'evaluation/started',
        evaluationId: 'bad',
        conversationId: 'main',
        promptNs: 'test',
        promptKey: 'agent',
        promptHash: 'x',
        inputHash: 'x',
        continues: getLatestEvaluation(session)?.id,
      },
      { type: 'evaluation/failed', evaluationId: 'bad', error: { code: 'OUTPUT_INVALID', message: 'no' } },
    ]);
    await session.send('Still there?', { id: 'm' });
    expect(getQueuedInputs(session)).toMatchObject([{ id: 'm', waitsFor: 'EVALUATION_FAILED' }]);
    expect(await run()).toMatchObject({ status: 'failed', responses: [], error: { code: 'OUTPUT_INVALID' } });
    expect(session.summary?.work).toBeUndefined();
    await abandonEvaluation(session, { by: 'ada', reason: 'it is broken' });
    expect(session.summary?.work).toBe('input');
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Still there?' }] });
    expect(said()).toEqual([
      'user: Hello.',
      'assistant: You said: Hello.',
      'user: Still there?',
      'assistant: You said: Still there?',
    ]);
    await expect(abandonEvaluation(session)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });

  test('an evaluation that fails while it runs is the result, with its error', async () => {
    const { z } = await import('zod');
    const { session, run } = await chat({ script: () => 'not JSON', output: z.object({ a: z.number() }) });
    await session.send('Go.');
    expect(await run()).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
  });

  test('a provider that refuses every request gets one request per run; abandoning the evaluation unblocks the queue', async () => {
    const { session, run, requests } = await chat({
      adapter: { maxModelRetries: 0 },
      script: ({ messages }) => {
        const text = textOf(messages.findLast(isUser) as never);
        return text === 'Refused.' ? { error: { status: 500 } } : `You said: ${text}`;
      },
    });
    await session.send('Refused.');
    await session.send('Next.');
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'PROVIDER_FAILED' }] });
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ failure: { status: 500 } }] });
    expect(requests).toHaveLength(2);
    await abandonEvaluation(session);
    expect(await run()).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Next.' }] });
  });

  test("resumeEvaluation raises a budget for the rest of the evaluation, over the runner's limit", async () => {
    const work = tool('work', () => 'worked', { effect: 'idempotent' });
    const { session, run } = await chat({
      tools: [work],
      script: ({ turn }) => (turn < 4 ? { toolCalls: [call('work')] } : 'done'),
    });
    await session.send('Work.');
    expect(await run({ maxTurns: 2 })).toMatchObject({ status: 'suspended', responses: [{ reason: 'TURN_LIMIT' }] });
    await resumeEvaluation(session, { maxTurns: 10 });
    expect(await run({ maxTurns: 2 })).toMatchObject({ status: 'idle', responses: [{ text: 'done' }] });
    await expect(resumeEvaluation(session, { budget: { maxTokens: -1 } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('queued and placed inputs', () => {
  test('a fork has no queued input; the original runs it', async () => {
    const { session, run, store, prompt, adapter } = await chat();
    await session.send('Hello.');
    await run();
    await session.send('For the original.', { id: 'm2' });
    const fork = await session.fork({ id: 'fork' });
    expect(getQueuedInputs(fork)).toEqual([]);
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
    expect(getQueuedInputs(again)).toMatchObject([{ id: 'm1' }]);
    const elsewhere = await openSession({ store: memoryStore(), id: 'copy' });
    await elsewhere.restore(session.snapshot());
    expect(getQueuedInputs(elsewhere)).toEqual([]);
  });

  test('erasing a placed message erases its input; it stays placed', async () => {
    const { session, run, store } = await chat({ script: () => 'ok' });
    await session.send('My password is hunter2.', { id: 'm1' });
    await run();
    const message = getMessages(session).find(isUser);
    await session.eraseMessage(message?.id ?? '');
    const log = JSON.stringify(await eventsOf(session));
    expect(log).not.toContain('My password is hunter2');
    const again = await openSession({ store, id: 'session' });
    expect(getQueuedInputs(again)).toEqual([]);
    expect(await again.send('My password is hunter2.', { id: 'm1' })).toMatchObject({ status: 'placed' });
  });

  test('a megabyte of input is external content, placed in full, and the same input again is the same', async () => {
    const text = 'x'.repeat(1_200_000);
    const { session, run, requests, store } = await chat({ script: () => 'ok' });
    await session.send(text, { id: 'm1' });
    await session.send(text, { id: 'm1' });
    const [queued] = getQueuedInputs(session);
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
