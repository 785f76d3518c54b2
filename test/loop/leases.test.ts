import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { isHoldfastError, memoryStore, type ToolContext } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { agent, call, deferred, eventTypes, resultText, said, tool } from './agent.ts';

const script = [{ toolCalls: [call('work')] }, 'ok'];

/** An agent in the middle of its call, on a clock that the test advances. */
async function working(effect: 'idempotent' | 'once' = 'idempotent') {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const gate = deferred<string>();
  const contexts: ToolContext[] = [];
  const first = await agent({
    script,
    tools: [
      tool(
        'work',
        (_, context) => {
          contexts.push(context);
          return gate.promise;
        },
        { effect },
      ),
    ],
    store,
    clock,
    adapter: { leaseTtlMs: 30_000 },
  });
  const response = first.evaluate();
  response.catch(() => {});
  while (contexts.length === 0) await setImmediate();
  const another = () => agent({ script, tools: [tool('work', () => 'done by the second', { effect })], store, clock });
  return { ...first, clock, gate, contexts, response, another };
}

describe('D51: one process runs a session at a time', () => {
  test('two processes resuming the same evaluation: SESSION_BUSY names the holder and the expiry', async () => {
    const { another, gate, response } = await working();
    const second = await another();
    const { seq } = second.session;
    await expect(second.evaluate({ resume: 'auto' })).rejects.toMatchObject({
      code: 'SESSION_BUSY',
      message: expect.stringMatching(new RegExp(`process ${process.pid} on .*until 2026-01-01T00:00:30`)),
    });
    expect(second.session.seq).toBe(seq);
    gate.resolve('done');
    expect(await response).toMatchObject({ status: 'completed' });
    expect(await second.evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(second.requests).toEqual([]);
  });

  test('a lease is renewed while the run lasts', async () => {
    const { another, gate, response, clock } = await working();
    for (let i = 0; i < 12; i++) {
      clock.advance(10_000);
      await setImmediate();
    }
    await expect((await another()).evaluate({ resume: true })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
    gate.resolve('done');
    expect(await response).toMatchObject({ status: 'completed' });
  });

  test('a lease that expired is taken over: the new holder continues, the old one can no longer write', async () => {
    const { store, session, another, gate, response, clock } = await working();
    const renewLease = store.renewLease.bind(store);
    store.renewLease = () => new Promise(() => {}); // the first process sleeps: renewals do not complete
    clock.advance(31_000);
    store.renewLease = renewLease;
    const second = await another();
    expect(await second.evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'ok' });
    gate.resolve('done by the first'); // it wakes up and tries to record its result
    await expect(response).rejects.toSatisfy((error) => isHoldfastError(error, 'SESSION_CONFLICT'));
    await session.refresh();
    expect(resultText(session, 'call_1_1')).toBe('done by the second');
    expect((await eventTypes(session)).filter((type) => type === 'evaluation/completed')).toHaveLength(1);
    expect(said(session)).toHaveLength(5);
    expect(await store.readLease('session')).toBeUndefined(); // the old holder did not release the new one's lease
  });

  test('the old holder is notified at its next renewal: the signal of its tools aborts', async () => {
    const { store, another, response, contexts, clock } = await working();
    const renewLease = store.renewLease.bind(store);
    store.renewLease = () => Promise.reject(new Error('unreachable'));
    clock.advance(31_000);
    await setImmediate();
    const second = await another();
    await second.evaluate({ resume: 'auto' });
    expect(contexts[0]?.signal.aborted).toBe(false);
    store.renewLease = renewLease;
    clock.advance(10_000);
    await expect(response).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  test('a once call of the old holder has an unknown outcome for the new one, also while it still runs', async () => {
    const { store, another, clock, gate, response } = await working('once');
    store.renewLease = () => new Promise(() => {});
    clock.advance(31_000);
    const second = await another();
    const answer = await second.evaluate({ resume: 'auto' });
    expect(answer).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    gate.resolve('paid');
    await expect(response).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
    for (const pending of answer.pending) await second.session.settle(pending, { result: 'paid' });
    expect(await second.evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed' });
  });

  test("an approval or a user's event from another handle does not stop a run: it is folded, and the append retried", async () => {
    const { store, gate, response, another } = await working();
    const other = await another();
    await other.session.append([{ type: 'note/added', text: 'from elsewhere' }]);
    await other.session.describe({ title: 'A title' });
    gate.resolve('done');
    expect(await response).toMatchObject({ status: 'completed', text: 'ok' });
    expect((await store.head('session')).seq).toBe(10);
  });

  test('the lease is released in every case', async () => {
    const { store, evaluate } = await agent({ script: [{ error: { status: 400 } }] });
    await evaluate();
    expect(await store.readLease('session')).toBeUndefined();
    await expect(evaluate({ resume: { evaluationId: 'none' } })).rejects.toThrow();
    expect(await store.readLease('session')).toBeUndefined();
  });

  test('a lease that cannot be released does not fail the response', async () => {
    const { store, evaluate } = await agent({ script: ['hi'] });
    store.releaseLease = () => Promise.reject(new Error('the store is gone'));
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'hi' });
  });

  test('reading needs no lease', async () => {
    const { another, gate, response } = await working();
    const reader = (await another()).session;
    await reader.refresh();
    expect(said(reader)).toHaveLength(3);
    gate.resolve('done');
    await response;
  });
});
