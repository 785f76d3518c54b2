import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AnyTool, ToolContext } from '../../src/index.ts';
import { type Agent, agent, call, tool } from './agent.ts';

const script = [{ toolCalls: [call('act', {}, 'c1')] }, 'ok'];

function noting(effect: 'read' | 'idempotent' | 'once', result: () => unknown = () => 'done') {
  const seen: ToolContext[] = [];
  const execute: AnyTool['execute'] = (_, context) => {
    seen.push(context);
    return result();
  };
  const act = tool('act', execute, { effect });
  return { act, seen };
}

/** A process that started the call and was killed. */
async function dies(act: AnyTool, more: { readonly id?: string } = {}): Promise<Agent> {
  const first = await agent({ script, tools: [act], ...more });
  void first.evaluate();
  const open = (): boolean => first.session.state.record.evaluations.items.at(0)?.calls.length === 1;
  while (!open()) await setImmediate();
  await setImmediate();
  await first.store.releaseLease(first.session.id, (await first.store.readLease(first.session.id))?.fence ?? 0);
  return first;
}

describe('D19: the context of every tool', () => {
  test('contains the session, the call and its conversation, and that it is the first run', async () => {
    const { act, seen } = noting('once');
    const { evaluate } = await agent({ script, tools: [act], id: 's1' });
    const { evaluationId } = await evaluate();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      callId: 'c1',
      turn: 1,
      evaluationId,
      conversationId: 'main',
      sessionId: 's1',
      isResume: false,
      attempt: 1,
      idempotencyKey: `s1/${evaluationId}/1/c1`,
    });
    expect(seen[0]?.signal.aborted).toBe(false);
    expect(seen[0]?.session.id).toBe('s1');
  });

  test.for(['idempotent', 'once'] as const)(
    'isResume and attempt are set for a call that an earlier process had started (%s)',
    async (effect) => {
      const { act, seen } = noting(effect, () => (seen.length === 1 ? new Promise(() => {}) : 'done'));
      const first = await dies(act);
      const second = await agent({ script, tools: [act], store: first.store });
      let response = await second.evaluate({ resume: true });
      if (effect === 'once') {
        expect(response).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
        for (const pending of response.pending) await second.session.settle(pending, { rerun: true });
        response = await second.evaluate({ resume: true });
      }
      expect(response).toMatchObject({ status: 'completed' });
      expect(seen.map(({ isResume, attempt }) => ({ isResume, attempt }))).toEqual([
        { isResume: false, attempt: 1 },
        { isResume: true, attempt: 2 },
      ]);
      expect(seen[1]?.idempotencyKey).toBe(seen[0]?.idempotencyKey);
      const starts = second.session.state.record.toolStarts.toArray();
      expect(starts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    },
  );

  test('isResume is false for a call that no process had started, also after a crash', async () => {
    const { act, seen } = noting('read', () => (seen.length === 1 ? new Promise(() => {}) : 'done'));
    const first = await dies(act);
    const second = await agent({ script, tools: [act], store: first.store });
    await second.evaluate({ resume: true });
    expect(seen.map(({ isResume, attempt }) => ({ isResume, attempt }))).toEqual([
      { isResume: false, attempt: 1 },
      { isResume: false, attempt: 1 }, // the start of a read is not recorded
    ]);
  });

  test("D55: a fork's calls have their own idempotency keys", async () => {
    const { act, seen } = noting('once');
    const { session, adapter, prompt, evaluate } = await agent({ script, tools: [act] });
    await evaluate({ maxTurns: 0 });
    const fork = await session.fork({ id: 'fork' });
    await evaluate({ resume: true });
    await adapter.evaluate(prompt, { session: fork, resume: true });
    const [here, there] = seen.map(({ idempotencyKey }) => idempotencyKey);
    expect(here?.replace('session/', '')).toBe(there?.replace('fork/', ''));
    expect(here).not.toBe(there);
  });

  test('D55: a fork closes open calls: two sessions never run the same call', async () => {
    const { act, seen } = noting('idempotent', () => new Promise(() => {}));
    const first = await dies(act);
    const fork = await first.session.fork({ id: 'fork' });
    const response = await first.adapter.evaluate(first.prompt, { session: fork, resume: true });
    expect(response).toMatchObject({ status: 'completed', text: 'ok' });
    expect(seen).toHaveLength(1);
  });
});
