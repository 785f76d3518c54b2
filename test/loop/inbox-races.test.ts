import { describe, expect, test } from 'vitest';
import {
  type ModelRequest,
  memoryStore,
  openSession,
  type ScriptedTurn,
  type Session,
  textOf,
} from '../../src/index.ts';
import { agent, call, deferred, eventTypes, tool, toolUntilAborted } from './agent.ts';
import { type RacedStore, racedStore } from './raced-store.ts';

/** D61: events between a runner's plan and the append that acts on it. */

const isUser = ({ role }: { readonly role: string }): boolean => role === 'user';
const ECHO = ({ messages }: ModelRequest): ScriptedTurn => `You said: ${textOf(messages.findLast(isUser) as never)}`;

describe('a decision right before the suspension', () => {
  test('is acted on by the run that would have suspended', async () => {
    const store = racedStore();
    const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
    const { session, adapter, prompt, results } = await agent({
      store,
      tools: [pay],
      script: [{ toolCalls: [call('pay', {}, 'p')] }, 'done'],
    });
    await session.send('Pay.');
    store.before('evaluation/suspended', async (other) => {
      const [pending] = other.pending();
      if (pending) await other.approve(pending);
    });
    expect(await adapter.run(prompt, { session })).toMatchObject({ status: 'idle', responses: [{ text: 'done' }] });
    expect(results()).toMatchObject({ p: { isError: false } });
    expect(await eventTypes(session)).not.toContain('evaluation/suspended');
  });

  test('is acted on by evaluate, too', async () => {
    const store = racedStore();
    const pay = tool('pay', () => 'paid', { effect: 'once', needsApproval: true });
    const { evaluate } = await agent({ store, tools: [pay], script: [{ toolCalls: [call('pay')] }, 'done'] });
    store.before('evaluation/suspended', async (other) => {
      const [pending] = other.pending();
      if (pending) await other.approve(pending);
    });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'done' });
  });
});

describe('a cancelled evaluation that an input is about to supersede', () => {
  async function stopped(): Promise<{
    readonly store: RacedStore;
    readonly session: Session;
    run(): ReturnType<Awaited<ReturnType<typeof agent>>['adapter']['run']>;
  }> {
    const store = racedStore();
    const { work, began } = toolUntilAborted();
    const script = (request: ModelRequest): ScriptedTurn =>
      request.turn === 1 && request.messages.filter(isUser).length === 1
        ? { toolCalls: [call('work')] }
        : ECHO(request);
    const { session, adapter, prompt } = await agent({ store, tools: [work], script });
    const run = (): ReturnType<typeof adapter.run> => adapter.run(prompt, { session });
    await session.send('Work.');
    await session.send('Queued before the stop.', { id: 'before' });
    const running = run();
    await began;
    await session.cancel();
    await running;
    await session.send('Sent after the stop.', { id: 'after' });
    return { store, session, run };
  }

  test('is resumed when a resume is requested meanwhile', async () => {
    const { store, session, run } = await stopped();
    store.before('evaluation/started', (other) => other.resume());
    expect((await run()).responses.map(({ text }) => text)).toEqual([
      'You said: Work.',
      'You said: Queued before the stop.',
      'You said: Sent after the stop.',
    ]);
    expect(await eventTypes(session)).not.toContain('evaluation/superseded');
  });

  test('keeps waiting when the input that was sent after the stop is withdrawn meanwhile', async () => {
    const { store, session, run } = await stopped();
    store.before('evaluation/started', (other) => other.withdraw('after'));
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
    expect(session.queue()).toMatchObject([{ id: 'before', waitsFor: 'CANCELLED' }]);
  });

  test('keeps waiting when it is cancelled again meanwhile', async () => {
    const { store, session, run } = await stopped();
    store.before('evaluation/started', (other) => other.cancel());
    expect(await run()).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
    expect(session.queue()).toHaveLength(2);
  });
});

test('an evaluation that a runner is resuming cannot be abandoned, although it is suspended in the log', async () => {
  const store = memoryStore();
  const asked = deferred();
  const goOn = deferred();
  let requests = 0;
  const { session, adapter, prompt } = await agent({
    store,
    adapter: { maxModelRetries: 0 },
    script: {
      provider: 'test',
      modelId: 'test',
      async *stream() {
        if (++requests === 1) throw new Error('not now');
        asked.resolve();
        await goOn.promise;
        yield { type: 'finish', response: { content: [{ type: 'text', text: 'ok' }], toolCalls: [] } };
      },
    },
  });
  const other = await openSession({ store, id: 'session' });
  await session.send('Go.');
  expect(await adapter.run(prompt, { session })).toMatchObject({ status: 'suspended' });
  const running = adapter.run(prompt, { session });
  await asked.promise;
  await expect(other.abandon()).rejects.toMatchObject({ code: 'SESSION_BUSY', data: { holder: {} } });
  goOn.resolve();
  expect(await running).toMatchObject({ status: 'idle', responses: [{ text: 'ok' }] });
});
