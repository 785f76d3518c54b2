import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import type { AnyTool, ModelRequest, ScriptedTurn } from '../../src/index.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { type Agent, advancing, agent, call, resultText, tool } from './agent.ts';

const script = [{ toolCalls: [call('act', { n: 1 }), call('look')] }, 'ok'];
const look = tool('look', () => 'seen', { effect: 'read' });
const hang = (): Promise<never> => new Promise(() => {});

/** The session of a process that was killed in a call, and an agent that resumes it with another `act`. */
async function afterCrash(act: AnyTool, effect: AnyTool['effect'], clock?: FakeClock): Promise<Agent> {
  const { timeoutMs: _, ...dying } = { ...act, execute: hang, effect };
  const first = await agent({ script, tools: [dying, look] });
  void first.evaluate();
  while (resultText(first.session, 'call_1_2') === undefined) await setImmediate();
  await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
  return agent({ script, tools: [act, look], store: first.store, ...(clock && { clock }) });
}

describe('D18: a started call of a killed process', () => {
  test.for(['read', 'idempotent'] as const)('%s: runs again', async (effect) => {
    const execute = vi.fn(() => 'done');
    const { session, evaluate } = await afterCrash(tool('act', execute, { effect }), effect);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(execute).toHaveBeenCalledTimes(1);
    expect(resultText(session, 'call_1_1')).toBe('done');
  });

  test("once, and it happened: reconcile's result is recorded, and the tool does not run", async () => {
    const execute = vi.fn(() => 'twice!');
    const reconcile = vi.fn(({ n }: { n: number }) => ({ happened: true as const, result: `it did ${n}` }));
    const { session, evaluate } = await afterCrash(tool('act', execute, { reconcile }), 'once');
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('it did 1');
    expect(execute).not.toHaveBeenCalled();
    expect(reconcile.mock.calls[0]).toMatchObject([{ n: 1 }, { callId: 'call_1_1', isResume: true, attempt: 1 }]);
  });

  test('once, and it did not happen: runs', async () => {
    const execute = vi.fn(() => 'now');
    const act = tool('act', execute, { reconcile: () => ({ happened: false }) });
    const { session, evaluate } = await afterCrash(act, 'once');
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('now');
    expect(execute).toHaveBeenCalledTimes(1);
  });

  test('once, and reconcile throws: unknown now, reconciled again on the next resume', async () => {
    const execute = vi.fn(() => 'twice!');
    const reconcile = vi
      .fn()
      .mockRejectedValueOnce(new Error('bank closed'))
      .mockResolvedValue({ happened: true, result: 'paid' });
    const { session, evaluate } = await afterCrash(tool('act', execute, { reconcile }), 'once');
    expect(await evaluate({ resume: true })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('paid');
    expect(execute).not.toHaveBeenCalled();
  });

  test('once, and reconcile times out: unknown', async () => {
    const clock = fakeClock();
    const act = tool('act', () => 'ran', { reconcile: hang, timeoutMs: 1_000 });
    const { evaluate } = await afterCrash(act, 'once', clock);
    expect(await advancing(clock, evaluate({ resume: true }))).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
  });

  test("reconcile may start a child conversation, which is separate from the handler's", async () => {
    const child = definePrompt({ ns: 'test', key: 'check', instructions: 'Did it happen?' });
    const other = definePrompt({ ns: 'test', key: 'other', instructions: 'Do it.' });
    const model = ({ prompt, turn }: ModelRequest): ScriptedTurn =>
      prompt.key === 'check' ? 'It did.' : (script[turn - 1] ?? '');
    let asked = 0;
    const first = await agent({
      script: model,
      tools: [tool('act', (_, context) => context.evaluate(other).then(hang), { effect: 'once' }), look],
    });
    void first.evaluate();
    while (first.session.state.record.evaluations.items.at(1)?.status !== 'completed') await setImmediate();
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const act = tool('act', () => 'ran', {
      reconcile: async (_, context) => {
        asked++;
        return { happened: true, result: (await context.evaluate(child)).text };
      },
    });
    const second = await agent({ script: model, tools: [act, look], store: first.store });
    expect(await second.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(second.session, 'call_1_1')).toBe('It did.');
    expect(asked).toBe(1);
  });

  test('once without reconcile: unknown on every resume, until a person settles it', async () => {
    const execute = vi.fn(() => 'ran');
    const { session, evaluate } = await afterCrash(tool('act', execute), 'once');
    for (let i = 0; i < 3; i++)
      expect(await evaluate({ resume: true })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(execute).not.toHaveBeenCalled();
    const { pending } = await evaluate({ resume: true });
    for (const one of pending) await session.settle(one, { rerun: true });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(execute).toHaveBeenCalledTimes(1);
  });

  test("the recorded effect applies, not the tool's current one (D54)", async () => {
    const execute = vi.fn(() => 'ran');
    const { evaluate } = await afterCrash(tool('act', execute, { effect: 'idempotent' }), 'once');
    expect(await evaluate({ resume: true })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(execute).not.toHaveBeenCalled();
  });

  test.for([
    ['is gone', []],
    ['takes other arguments', [tool('act', () => 'ran', { input: z.object({ other: z.string() }) })]],
  ] as const)('once, and its tool %s: still unknown, not failed', async ([, tools]) => {
    const first = await afterCrash(
      tool('act', () => 'ran'),
      'once',
    );
    const second = await agent({ script, tools: [...tools, look], store: first.store });
    const response = await second.evaluate({ resume: true, promptValidation: 'relaxed' });
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    for (const one of response.pending) await second.session.settle(one, { result: 'it had happened' });
    expect(await second.evaluate({ resume: true, promptValidation: 'relaxed' })).toMatchObject({ status: 'completed' });
  });
});

describe('D18: compensate undoes a partial effect before a rerun', () => {
  test.for(['idempotent', 'once'] as const)('%s: before the handler, only on a rerun', async (effect) => {
    const order: string[] = [];
    const act = tool('act', () => order.push('execute'), {
      effect,
      compensate: (_, { isResume, attempt }) => {
        order.push(`compensate ${isResume} ${attempt}`);
      },
    });
    const { session, evaluate } = await afterCrash(act, effect);
    const { pending } = await evaluate({ resume: true });
    for (const one of pending) await session.settle(one, { rerun: true });
    await evaluate({ resume: true });
    expect(order).toEqual(['compensate true 2', 'execute']);
    const fresh = await agent({ script, tools: [act, look] });
    await fresh.evaluate();
    expect(order).toEqual(['compensate true 2', 'execute', 'execute']);
  });

  test('a compensate that throws fails the call; the handler does not run after it', async () => {
    const execute = vi.fn(() => 'ran');
    const compensate = (): never => {
      throw new Error('cannot undo');
    };
    const { session, evaluate, results } = await afterCrash(
      tool('act', execute, { effect: 'idempotent', compensate }),
      'idempotent',
    );
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('cannot undo');
    expect(results().call_1_1?.isError).toBe(true);
    expect(execute).not.toHaveBeenCalled();
  });

  test('not before the rerun of a call that turned out to have happened', async () => {
    const compensate = vi.fn();
    const act = tool('act', () => 'ran', { compensate, reconcile: () => ({ happened: true, result: 'did' }) });
    const { evaluate } = await afterCrash(act, 'once');
    await evaluate({ resume: true });
    expect(compensate).not.toHaveBeenCalled();
  });
});

test('I2: calls with a result never run again, whatever their siblings do', async () => {
  const execute = vi.fn(() => 'seen');
  const tools = [tool('act', hang, { effect: 'idempotent' }), tool('look', execute, { effect: 'read' })];
  const first = await agent({ script, tools });
  void first.evaluate();
  while (resultText(first.session, 'call_1_2') === undefined) await setImmediate();
  for (let i = 0; i < 3; i++) {
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const next = await agent({ script, tools, store: first.store });
    void next.evaluate({ resume: true }).catch(() => {});
    while (next.session.state.record.toolStarts.length < i + 2) await setImmediate();
  }
  expect(execute).toHaveBeenCalledTimes(1);
});
