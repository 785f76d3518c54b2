import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type CallRef, openSession, type Session } from '../../src/index.ts';
import { type Agent, agent, call, deferred, eventTypes, resultText, tool } from './agent.ts';

/** D18: a settlement is about one run of a call. */

const LATE = { code: 'TOOL_CALL_NOT_FOUND', detail: 'late' };
const script = [{ toolCalls: [call('pay')] }, 'ok'];

/** Processes that are killed during a payment, one after the other. */
async function dying(): Promise<{
  readonly runs: string[];
  readonly session: Session;
  /** Another process resumes, and is killed as soon as it pays. */
  die(): Promise<void>;
  resume(): ReturnType<Agent['evaluate']>;
}> {
  const runs: string[] = [];
  let lives = true;
  let paying = deferred();
  const pay = tool('pay', (_, { attempt }) => {
    runs.push(`attempt ${attempt}`);
    paying.resolve();
    return lives ? 'paid' : new Promise(() => {});
  });
  const first = await agent({ script, tools: [pay] });
  const { store } = first;
  const die = async (): Promise<void> => {
    lives = false;
    paying = deferred();
    const one = await agent({ script, tools: [pay], store });
    void one.evaluate({ resume: 'auto' });
    await paying.promise;
    await store.releaseLease('session', (await store.readLease('session'))?.fence ?? 0);
    lives = true;
  };
  await die();
  const session = await openSession({ store, id: 'session' });
  return { runs, session, die, resume: () => first.evaluate({ resume: true }) };
}

async function pendingOf(session: Session): Promise<CallRef> {
  await session.refresh();
  return session.pending()[0] as CallRef;
}

describe('settlements name the attempt', () => {
  test('the pending call has its attempt, and so do the response and the recorded settlement', async () => {
    const { session, resume } = await dying();
    const pending = await pendingOf(session);
    expect(pending).toMatchObject({ attempt: 1 });
    expect((await resume()).pending).toMatchObject([{ attempt: 1 }]);
    await session.settle(pending, { rerun: true });
    for await (const event of session.events({ types: ['tool/settled'] })) expect(event).toMatchObject({ attempt: 1 });
  });

  test('a second click on "run again" does not permit a third run', async () => {
    const { session, resume, die, runs } = await dying();
    const button = await pendingOf(session);
    await session.settle(button, { rerun: true });
    await die(); // the second run started, and its outcome is unknown
    await expect(session.settle(button, { rerun: true })).rejects.toMatchObject(LATE);
    expect(await resume()).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(runs).toEqual(['attempt 1', 'attempt 2']);
    await session.settle(await pendingOf(session), { rerun: true });
    expect(await resume()).toMatchObject({ status: 'completed' });
    expect(runs).toEqual(['attempt 1', 'attempt 2', 'attempt 3']);
  });

  test('a second click that arrives after the start of the second run is rejected, also without an attempt', async () => {
    const { session, die, runs, resume } = await dying();
    const { attempt: _, ...button } = await pendingOf(session);
    await session.settle(button, { rerun: true });
    // The click reads the call, and another process starts the second run before the click is recorded.
    const { store } = session;
    const append = store.append.bind(store);
    store.append = async (id, events, options) => {
      if (events.some(({ type }) => type === 'tool/settled')) {
        store.append = append;
        await die();
      }
      return append(id, events, options);
    };
    const late = await openSession({ store, id: session.id });
    await expect(late.settle(button, { result: 'it was paid' })).rejects.toMatchObject(LATE);
    expect(await resume()).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(runs).toHaveLength(2);
  });

  test('the same settlement from two handles at the same time is recorded once', async () => {
    const { session } = await dying();
    const pending = await pendingOf(session);
    const other = await openSession({ store: session.store, id: session.id });
    await Promise.all([session.settle(pending, { rerun: true }), other.settle(pending, { rerun: true })]);
    expect((await eventTypes(session)).filter((type) => type === 'tool/settled')).toHaveLength(1);
  });

  test('a settlement that an older version recorded applies to the attempt at its position', async () => {
    const { session, resume, runs } = await dying();
    const { attempt: _, evaluationId, turn, callId } = await pendingOf(session);
    await session.append([{ type: 'tool/settled', evaluationId, turn, callId, how: { rerun: true } }]);
    expect(await resume()).toMatchObject({ status: 'completed' });
    expect(runs).toEqual(['attempt 1', 'attempt 2']);
  });
});

describe('a running call cannot be settled', () => {
  test("while its process holds the lease the settlement is rejected, and the call's own result is recorded", async () => {
    const gate = deferred<string>();
    const pay = tool('pay', () => gate.promise);
    const { session, evaluate, store } = await agent({ script, tools: [pay] });
    const running = evaluate();
    while (session.state.record.toolStarts.length === 0) await setImmediate();
    const other = await openSession({ store, id: session.id });
    const pending = await pendingOf(other);
    for (const how of [{ result: 'paid, I think' }, { rerun: true }] as const) {
      await expect(other.settle(pending, how)).rejects.toMatchObject({ code: 'SESSION_BUSY' });
    }
    gate.resolve('paid');
    await running;
    expect(resultText(session, 'call_1_1')).toBe('paid');
    expect(await eventTypes(session)).not.toContain('tool/settled');
  });
});
