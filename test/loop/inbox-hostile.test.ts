import { describe, expect, test } from 'vitest';
import {
  HoldfastError,
  type ModelRequest,
  memoryStore,
  openSession,
  type ScriptedTurn,
  type Store,
  textOf,
} from '../../src/index.ts';
import { agent, call, deferred, tool } from './agent.ts';

/** D61 with faulty programs and restored states. */

const isUser = ({ role }: { readonly role: string }): boolean => role === 'user';
const ECHO = ({ messages }: ModelRequest): ScriptedTurn => `You said: ${textOf(messages.findLast(isUser) as never)}`;

describe('redact', () => {
  test('that drops the inputId of a message is rejected: the input would be run for ever', async () => {
    const { session, adapter, prompt, requests } = await agent({
      script: ECHO,
      redact: (event) => {
        const { inputId: _, ...rest } = event as typeof event & { readonly inputId?: string };
        return event.type === 'message/recorded' ? rest : event;
      },
    });
    await session.send('Hello.', { id: 'm' });
    await expect(adapter.run(prompt, { session })).rejects.toMatchObject({ code: 'EVENT_INVALID' });
    expect(requests).toEqual([]);
    expect(session.queue()).toMatchObject([{ id: 'm' }]);
  });

  test('that drops the successor of a superseded evaluation is rejected: it would be an abandoned one', async () => {
    const { session } = await agent({
      script: ECHO,
      redact: (event) => {
        const { by: _, ...rest } = event as typeof event & { readonly by?: string };
        return rest;
      },
    });
    const superseded = { type: 'evaluation/superseded', evaluationId: 'a', by: 'b' };
    await expect(session.append([superseded])).rejects.toMatchObject({ code: 'EVENT_INVALID' });
    await session.send('Hello.', { by: 'ada' });
    expect(session.queue()[0]).not.toHaveProperty('by');
  });
});

describe('a tool that runs its own session', () => {
  test.each([
    ['run', false],
    ['run', true],
    ['evaluate', false],
    ['evaluate', true],
  ] as const)('does not wait for itself: called by %s, wait: %s, run is busy', async (by, wait) => {
    const statuses: string[] = [];
    const nest = tool('nest', async () => {
      statuses.push((await adapter.run(prompt, { session: await openSession({ store, id: 'session' }), wait })).status);
    });
    const { session, store, adapter, prompt, evaluate } = await agent({
      tools: [nest],
      script: (request) =>
        request.turn === 1 && request.messages.filter(isUser).length === 1
          ? { toolCalls: [call('nest')] }
          : ECHO(request),
    });
    if (by === 'evaluate') await evaluate({ input: 'Go.' });
    await session.send('Next.');
    expect(await adapter.run(prompt, { session })).toMatchObject({ status: 'idle', responses: [{}] });
    expect(statuses).toEqual(['busy']);
  });

  test('can steer itself', async () => {
    const steer = tool('steer', async () => {
      await session.send('From the tool.', { id: 'own', mode: 'steer' });
    });
    const { session, adapter, prompt } = await agent({
      tools: [steer],
      script: (request) => (request.turn === 1 ? { toolCalls: [call('steer')] } : ECHO(request)),
    });
    await session.send('Go.');
    expect((await adapter.run(prompt, { session })).responses.map(({ text }) => text)).toEqual([
      'You said: From the tool.',
    ]);
  });

  test('can start work that runs the session later', async () => {
    const later = deferred();
    let left: Promise<{ readonly status: string }> | undefined;
    const leave = tool('leave', () => {
      left = later.promise.then(() => adapter.run(prompt, { session }));
    });
    const { session, adapter, prompt, evaluate } = await agent({
      tools: [leave],
      script: (request) =>
        request.turn === 1 && request.messages.filter(isUser).length === 1
          ? { toolCalls: [call('leave')] }
          : ECHO(request),
    });
    await evaluate({ input: 'Go.' });
    await session.send('Next.');
    later.resolve();
    expect(await left).toMatchObject({ status: 'idle', responses: [{ text: 'You said: Next.' }] });
  });
});

describe('a snapshot that is restored elsewhere', () => {
  test('a decision that no runner has acted on is work', async () => {
    const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
    const { session, adapter, prompt } = await agent({
      tools: [pay],
      script: ({ turn }) => (turn === 1 ? { toolCalls: [call('pay')] } : 'done'),
    });
    await session.send('Pay.');
    const { responses } = await adapter.run(prompt, { session });
    const undecided = await openSession({ store: memoryStore(), id: 'undecided' });
    await undecided.restore(session.snapshot());
    expect(undecided.summary?.work).toBeUndefined();
    const [pending] = responses[0]?.pending ?? [];
    if (pending) await session.approve(pending);
    const copy = await openSession({ store: memoryStore(), id: 'copy' });
    await copy.restore(session.snapshot());
    expect(copy.summary?.work).toBe('decision');
    expect(await adapter.run(prompt, { session: copy })).toMatchObject({
      status: 'idle',
      responses: [{ text: 'done' }],
    });
  });

  test('an evaluation that an aborted signal stopped is superseded by a later input; a request to resume is work', async () => {
    const began = deferred();
    const controller = new AbortController();
    const work = tool('work', (_, { signal }) => {
      began.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const { session, adapter, prompt } = await agent({
      tools: [work],
      script: (request) =>
        request.messages.filter(isUser).length === 1 ? { toolCalls: [call('work')] } : ECHO(request),
    });
    await session.send('Work.');
    const running = adapter.run(prompt, { session, signal: controller.signal });
    await began.promise;
    controller.abort();
    await running;
    const copy = await openSession({ store: memoryStore(), id: 'copy' });
    await copy.restore(session.snapshot());
    expect(copy.summary?.work).toBeUndefined();
    await copy.send('Next.');
    expect(copy.summary?.work).toBe('input');
    expect(await adapter.run(prompt, { session: copy })).toMatchObject({ responses: [{ text: 'You said: Next.' }] });
    await session.resume();
    const requested = await openSession({ store: memoryStore(), id: 'requested' });
    await requested.restore(session.snapshot());
    expect(requested.summary?.work).toBe('resume');
  });
});

test('an abandoned evaluation has no pending calls', async () => {
  const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
  const { session, adapter, prompt } = await agent({ tools: [pay], script: () => ({ toolCalls: [call('pay')] }) });
  await session.send('Pay.');
  await adapter.run(prompt, { session });
  expect(session.pending()).toHaveLength(1);
  await session.abandon();
  expect(session.pending()).toEqual([]);
});

test('a list of empty texts is rejected like an empty text', async () => {
  const { session } = await agent({ script: ECHO });
  const empty = { type: 'text', text: '' } as const;
  await expect(session.send([empty, empty])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(session.send([empty, { type: 'text', text: 'x' }])).resolves.toMatchObject({ status: 'queued' });
});

test('ids that are names of object fields, or hard to print, work like any other', async () => {
  const { session, store, adapter, prompt } = await agent({ script: ECHO });
  const ids = ['__proto__', 'constructor', '\u0000', '😀'.repeat(100), 'x'.repeat(200), '1', '0', ' ', '\n'];
  for (const id of ids) await session.send(`the text of ${ids.indexOf(id)}`, { id });
  expect(await session.withdraw('constructor')).toBe(true);
  await session.compact();
  const again = await openSession({ store, id: 'session' });
  expect(again.queue().map(({ id }) => id)).toEqual(ids.filter((id) => id !== 'constructor'));
  const { responses } = await adapter.run(prompt, { session: again });
  expect(responses.map(({ text }) => text)).toEqual([0, 2, 3, 4, 5, 6, 7, 8].map((n) => `You said: the text of ${n}`));
  expect(again.summary).not.toHaveProperty('queued');
});

test('a store that fails once when the lease is released loses no wake-up', async () => {
  const raw = memoryStore();
  let failures = 1;
  const store = new Proxy(raw, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'releaseLease') return value.bind(target);
      return async (...args: Parameters<Store['releaseLease']>) => {
        if (failures-- > 0) throw new HoldfastError('STORE_FAILED', 'the disk is away for a moment');
        return target.releaseLease(...args);
      };
    },
  });
  const { session, adapter, prompt } = await agent({ store, script: ECHO });
  const other = await openSession({ store: raw, id: 'session' });
  await session.send('One.');
  expect(await adapter.run(prompt, { session })).toMatchObject({ status: 'idle', responses: [{}] });
  await other.send('Two.');
  expect(await adapter.run(prompt, { session: other })).toMatchObject({ status: 'idle', responses: [{}] });
});
