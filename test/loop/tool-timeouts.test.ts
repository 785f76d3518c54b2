import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { toolContent } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing, agent, call, resultText, tool } from './agent.ts';

const hang = (): Promise<never> => new Promise(() => {});
const script = [{ toolCalls: [call('slow')] }, 'ok'];
const LATE = '"slow" did not return within 1000 ms';

describe('D20: a tool that times out', () => {
  test.for(['read', 'idempotent'] as const)('%s: fails, and the model receives the failure', async (effect) => {
    const clock = fakeClock();
    const slow = tool('slow', hang, { effect, timeoutMs: 1_000 });
    const { session, evaluate, results } = await agent({ script, tools: [slow], clock });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed', text: 'ok' });
    expect(resultText(session, 'call_1_1')).toBe(LATE);
    expect(results().call_1_1?.isError).toBe(true);
  });

  test.for(['read', 'idempotent'] as const)('%s: is retried as often as it allows', async (effect) => {
    const clock = fakeClock();
    const execute = vi.fn().mockImplementationOnce(hang).mockImplementationOnce(hang).mockResolvedValue('at last');
    const { session, evaluate } = await agent({
      script,
      tools: [tool('slow', execute, { effect, timeoutMs: 1_000, retries: 2 })],
      clock,
    });
    await advancing(clock, evaluate());
    expect(execute).toHaveBeenCalledTimes(3);
    expect(resultText(session, 'call_1_1')).toBe('at last');
  });

  test('once: its outcome is unknown, and a person settles it', async () => {
    const clock = fakeClock();
    const slow = tool('slow', hang, { timeoutMs: 1_000, retries: 5 });
    const { session, evaluate } = await agent({ script, tools: [slow], clock });
    const response = await advancing(clock, evaluate());
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(response.pending).toEqual([
      { evaluationId: response.evaluationId, turn: 1, callId: 'call_1_1', attempt: 1 },
    ]);
    for (const pending of response.pending) await session.settle(pending, { result: 'it had happened' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(resultText(session, 'call_1_1')).toBe('it had happened');
  });

  test.for([
    [
      { happened: true, result: 'it did' },
      { text: 'it did', isError: false },
    ],
    [{ happened: false }, { text: LATE, isError: true }],
  ] as const)('once with reconcile %o: %o', async ([found, { text, isError }]) => {
    const clock = fakeClock();
    const execute = vi.fn(hang);
    const reconcile = vi.fn(() => found);
    const slow = tool('slow', execute, { timeoutMs: 1_000, reconcile });
    const { session, evaluate, results } = await agent({ script, tools: [slow], clock });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe(text);
    expect(results().call_1_1?.isError).toBe(isError);
    expect(execute).toHaveBeenCalledTimes(1);
    expect(reconcile).toHaveBeenCalledTimes(1);
  });

  test.for([
    ['says so', () => ({ happened: 'unknown' as const })],
    ['returns an invalid value', () => undefined as never],
    [
      'throws',
      () => {
        throw new Error('the bank is closed');
      },
    ],
  ] as const)('once with a reconcile that does not know and %s: unknown', async ([, reconcile]) => {
    const clock = fakeClock();
    const slow = tool('slow', hang, { timeoutMs: 1_000, reconcile });
    const { evaluate } = await agent({ script, tools: [slow], clock });
    expect(await advancing(clock, evaluate())).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
  });

  test('its signal aborts, with the reason', async () => {
    const clock = fakeClock();
    let reason: unknown;
    const slow = tool(
      'slow',
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(new Error('stopped'));
          });
        }),
      { effect: 'read', timeoutMs: 1_000 },
    );
    const { session, evaluate } = await agent({ script, tools: [slow], clock });
    await advancing(clock, evaluate());
    expect(reason).toMatchObject({ message: LATE });
    expect(resultText(session, 'call_1_1')).toBe(LATE);
  });

  test("the tool's signal has no listeners besides the tool's own, so it can be garbage collected", async () => {
    let listeners = -1;
    const work = tool(
      'work',
      (_, { signal }) => {
        listeners = getEventListeners(signal, 'abort').length;
        return 'ok';
      },
      { timeoutMs: 1000 },
    );
    const { evaluate } = await agent({ script: [{ toolCalls: [call('work')] }, 'ok'], tools: [work] });
    await evaluate();
    expect(listeners).toBe(0);
  });

  test('a tool that returns in time leaves no timer', async () => {
    const clock = fakeClock();
    const { evaluate } = await agent({ script, tools: [tool('slow', () => 'quick', { timeoutMs: 1_000 })], clock });
    await evaluate();
    expect(clock.waiting).toBe(0);
  });

  test('does not delay its siblings: their results are recorded meanwhile (D22)', async () => {
    const clock = fakeClock();
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('slow'), call('quick')] }, 'ok'],
      tools: [tool('slow', hang, { effect: 'read', timeoutMs: 60_000 }), tool('quick', () => 'done')],
      clock,
    });
    const response = evaluate();
    await vi.waitFor(() => expect(resultText(session, 'call_1_2')).toBe('done'));
    expect(resultText(session, 'call_1_1')).toBeUndefined();
    await advancing(clock, response, 10_000);
  });
});

describe('D18: what may be retried', () => {
  test.for([
    ['read', 3],
    ['idempotent', 3],
    ['once', 1],
  ] as const)('a %s tool that throws twice runs %i times', async ([effect, runs]) => {
    const clock = fakeClock();
    const execute = vi
      .fn()
      .mockRejectedValueOnce(new Error('first'))
      .mockRejectedValueOnce(new Error('second'))
      .mockResolvedValue('third');
    const { session, evaluate } = await agent({
      script,
      tools: [tool('slow', execute, { effect, retries: 2 })],
      clock,
    });
    await advancing(clock, evaluate());
    expect(execute).toHaveBeenCalledTimes(runs);
    expect(resultText(session, 'call_1_1')).toBe(runs === 1 ? 'first' : 'third');
  });

  test('the last error is the result, and backoffs grow', async () => {
    const clock = fakeClock();
    const at: number[] = [];
    const failing = tool(
      'slow',
      () => {
        at.push(clock.now());
        throw new Error(`failure ${at.length}`);
      },
      { effect: 'read', retries: 3 },
    );
    const { session, evaluate } = await agent({ script, tools: [failing], clock });
    await advancing(clock, evaluate(), 1);
    expect(resultText(session, 'call_1_1')).toBe('failure 4');
    const waits = at.slice(1).map((time, i) => time - (at[i] ?? 0));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(new Set(waits).size).toBe(3);
  });

  test('a tool that reports an error without throwing is not retried', async () => {
    const execute = vi.fn(() => toolContent([{ type: 'text', text: 'not found' }], { isError: true }));
    const { evaluate, results } = await agent({
      script,
      tools: [tool('slow', execute, { effect: 'read', retries: 3 })],
    });
    await evaluate();
    expect(execute).toHaveBeenCalledTimes(1);
    expect(results().call_1_1).toMatchObject({ isError: true, content: [{ text: 'not found' }] });
  });
});
