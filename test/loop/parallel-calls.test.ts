import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { memoryStore, textOf } from '../../src/index.ts';
import { agent, call, deferred, eventTypes, resultText, tool } from './agent.ts';

const calls = (n: number, name = 'work'): { readonly toolCalls: ReturnType<typeof call>[] } => ({
  toolCalls: Array.from({ length: n }, (_, i) => call(name, { n: i + 1 })),
});

/** A tool whose runs end when the test resolves them, in any order. */
function gated(effect: 'read' | 'idempotent' | 'once' = 'idempotent') {
  const gates = new Map<number, ReturnType<typeof deferred<string>>>();
  let running = 0;
  let most = 0;
  const work = tool(
    'work',
    async ({ n }: { n: number }) => {
      const gate = deferred<string>();
      gates.set(n, gate);
      most = Math.max(most, ++running);
      try {
        return await gate.promise;
      } finally {
        running--;
      }
    },
    { effect },
  );
  const open = async (n: number): Promise<void> => {
    while (!gates.has(n)) await setImmediate();
    gates.get(n)?.resolve(`done ${n}`);
  };
  return { work, open, gates, most: () => most };
}

describe('D22: calls of one turn run concurrently', () => {
  test('all start at once, each is recorded when it finishes, and results are sent in call order (D10)', async () => {
    const { work, open, most } = gated();
    const { session, evaluate, requests } = await agent({ script: [calls(3), 'ok'], tools: [work] });
    const response = evaluate();
    for (const n of [3, 1, 2]) {
      await open(n);
      while (resultText(session, `call_1_${n}`) === undefined) await setImmediate();
    }
    await response;
    expect(most()).toBe(3);
    const recorded = session.state.record.messages.toArray().filter(({ role }) => role === 'tool');
    expect(recorded.map(textOf)).toEqual(['done 3', 'done 1', 'done 2']);
    const sent = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(sent.map(textOf)).toEqual(['done 1', 'done 2', 'done 3']);
  });

  test('at most maxParallelCalls run at a time', async () => {
    const { work, open, most } = gated();
    const { evaluate } = await agent({ script: [calls(5), 'ok'], tools: [work] });
    const response = evaluate({ maxParallelCalls: 2 });
    for (const n of [2, 1, 3, 5, 4]) await open(n);
    expect(await response).toMatchObject({ status: 'completed' });
    expect(most()).toBe(2);
  });

  test('results that are ready together share one commit', async () => {
    const store = memoryStore();
    const commits: number[] = [];
    const append = store.append.bind(store);
    store.append = (id, events, options) => {
      commits.push(events.length);
      return append(id, events, options);
    };
    const { evaluate, session } = await agent({
      script: [calls(4), 'ok'],
      tools: [tool('work', () => 'instant', { effect: 'idempotent' })],
      store,
    });
    await evaluate();
    expect(await eventTypes(session)).toHaveLength(3 + 5 + 4 + 2);
    expect(commits).toEqual([3, 5, 4, 2]); // start; response and starts; results; response and end
  });

  test('many calls cause no warning about listeners', async () => {
    const warnings: string[] = [];
    const warn = (warning: Error): number => warnings.push(warning.name);
    process.on('warning', warn);
    const { evaluate } = await agent({ script: [calls(60), 'ok'], tools: [tool('work', () => setImmediate('x'))] });
    await evaluate();
    await setImmediate();
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });
});

describe('D9: a start is recorded before the call acts, and as late as possible', () => {
  test("starts of calls that run at once are in the response's append; those beyond the limit are recorded when they run", async () => {
    const { work, open } = gated('once');
    const { session, evaluate } = await agent({ script: [calls(3), 'ok'], tools: [work] });
    const started = (): readonly string[] => session.state.record.toolStarts.toArray().map(({ callId }) => callId);
    const response = evaluate({ maxParallelCalls: 1 });
    while (started().length === 0) await setImmediate();
    expect(started()).toEqual(['call_1_1']);
    await open(1);
    while (started().length === 1) await setImmediate();
    expect(started()).toEqual(['call_1_1', 'call_1_2']);
    await open(2);
    await open(3);
    await response;
  });

  test('a once call that was not started because of the limit has no unknown outcome after a crash', async () => {
    const { work, gates } = gated('once');
    const first = await agent({ script: [calls(3), 'ok'], tools: [work], adapter: { leaseTtlMs: 1 } });
    void first.evaluate({ maxParallelCalls: 1 }).catch(() => {}); // as if killed
    while (!gates.has(1)) await setImmediate();
    const runs: number[] = [];
    const quick = tool('work', ({ n }: { n: number }) => `done ${runs.push(n) && n}`, { effect: 'once' });
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const second = await agent({ script: [calls(3), 'ok'], tools: [quick], store: first.store });
    const response = await second.evaluate({ resume: true });
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(response.pending.map(({ callId }) => callId)).toEqual(['call_1_1']);
    expect(runs).toEqual([2, 3]); // every runnable sibling ran first (D18)
  });

  test('starts of read tools are not recorded', async () => {
    const { session, evaluate } = await agent({
      script: [calls(2), 'ok'],
      tools: [tool('work', () => 'seen', { effect: 'read' })],
    });
    await evaluate();
    expect(session.state.record.toolStarts.length).toBe(0);
  });

  test('a call that waits for approval has not started', async () => {
    const { session, evaluate } = await agent({
      script: [calls(1), 'ok'],
      tools: [tool('work', () => 'done', { needsApproval: true })],
    });
    await evaluate();
    expect(session.state.record.toolStarts.length).toBe(0);
  });
});
