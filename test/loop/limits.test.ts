import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import type { ReachedLimit } from '../../src/core/log/waiting-events.ts';
import { definePrompt, type EvaluateOptions } from '../../src/evaluate.ts';
import { type Script, type ScriptedTurn, scriptedModel, type Usage } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { advancing, agent, call, deferred, eventTypes, said, tool } from './agent.ts';

const look = tool('look', () => 'seen', { effect: 'read' });
const cost = (inputTokens: number, outputTokens: number): Usage => ({ inputTokens, outputTokens });
const forever =
  (usage: Usage): (() => ScriptedTurn) =>
  () => ({ toolCalls: [call('look')], usage });

describe('D23: the turn limit', () => {
  test('suspends before the first turn beyond it; a higher limit continues', async () => {
    const { session, evaluate, requests } = await agent({
      script: [...Array.from({ length: 4 }, () => ({ toolCalls: [call('look')] })), 'ok'],
      tools: [look],
    });
    const response = await evaluate({ maxTurns: 3 });
    expect(response).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT', turns: 3, pending: [] });
    expect(requests).toHaveLength(3);
    expect(session.state.record.messages.at(-1)).toMatchObject({ role: 'tool', turn: 3 });
    expect(await evaluate({ resume: true, maxTurns: 5 })).toMatchObject({ status: 'completed', turns: 5 });
  });

  test('a model and tools that return at once let timers run, so that a cancellation works', async () => {
    const cancel = new AbortController();
    const { evaluate } = await agent({ script: () => ({ toolCalls: [call('look'), call('look')] }), tools: [look] });
    setTimeout(() => cancel.abort(), 1);
    expect(await evaluate({ signal: cancel.signal, maxTurns: 1e9 })).toMatchObject({ reason: 'CANCELLED' });
  });

  test('with zero turns no request is sent', async () => {
    const { evaluate, requests } = await agent({ script: ['hi'] });
    expect(await evaluate({ maxTurns: 0 })).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT' });
    expect(requests).toEqual([]);
  });
});

describe('D23: budgets count across responses and resumes', () => {
  test.for([
    ['maxTokens', { maxTokens: 250 }, 3],
    ['maxInputTokens', { maxInputTokens: 250 }, 3],
    ['maxOutputTokens', { maxOutputTokens: 15 }, 2],
    ['maxCostUsd', { maxCostUsd: 0.2 }, 2],
  ] as const)('%s', async ([, budget, turns]) => {
    const usage = { ...cost(100, 10), costUsd: 0.1 };
    const { evaluate, session } = await agent({ script: forever(usage), tools: [look] });
    const response = await evaluate({ budget });
    expect(response).toMatchObject({ status: 'suspended', reason: 'BUDGET_EXCEEDED', turns });
    expect(response.usage).toMatchObject({ inputTokens: 100 * turns, outputTokens: 10 * turns });
    expect(await evaluate({ resume: true, budget })).toMatchObject({ reason: 'BUDGET_EXCEEDED', turns });
    expect(session.state.record.usage.length).toBe(turns);
  });

  test('a resume in another process counts the usage of the first one', async () => {
    const options = { script: forever(cost(100, 0)), tools: [look] };
    const first = await agent(options);
    await first.evaluate({ budget: { maxTokens: 200 } });
    const second = await agent({ ...options, store: first.store });
    expect(await second.evaluate({ resume: true, budget: { maxTokens: 500 } })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      turns: 5,
    });
    expect(second.requests).toHaveLength(3);
  });

  test('another evaluation of the session has its own budget', async () => {
    const { evaluate } = await agent({ script: [{ text: 'hi', usage: cost(100, 0) }] });
    await evaluate();
    expect(await evaluate({ budget: { maxTokens: 50 } })).toMatchObject({ status: 'completed' });
  });

  test("children use their parent's budget (D52): they stop when it is used up", async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [look] });
    const { evaluate, session } = await agent({
      script: ({ prompt, turn }) =>
        prompt.key === 'child'
          ? { toolCalls: [call('look')], usage: cost(100, 0) }
          : { toolCalls: [call('delegate')], usage: cost(300 * turn, 0) },
      tools: [tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect: 'idempotent' })],
    });
    const response = await evaluate({ budget: { maxTokens: 500 } });
    expect(response).toMatchObject({ status: 'suspended', reason: 'BUDGET_EXCEEDED', pending: [] });
    expect(response.usage).toMatchObject({ inputTokens: 500 }); // 300 of its own and two responses of the child
    expect(session.state.record.evaluations.items.map(({ status }) => status)).toEqual(['suspended', 'suspended']);
    const more = await evaluate({ resume: true, budget: { maxTokens: 700 } });
    expect(more).toMatchObject({ reason: 'BUDGET_EXCEEDED', usage: { inputTokens: 700 } });
  });

  test('a child with its own budget stops at it, and its parent is suspended with it', async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [look] });
    const { evaluate } = await agent({
      script: ({ prompt }) =>
        prompt.key === 'child'
          ? { toolCalls: [call('look')], usage: cost(100, 0) }
          : { toolCalls: [call('delegate')], usage: cost(1, 0) },
      tools: [
        tool('delegate', async (_, context) => (await context.evaluate(child, { budget: { maxTokens: 200 } })).text, {
          effect: 'idempotent',
        }),
      ],
    });
    expect(await evaluate()).toMatchObject({ reason: 'BUDGET_EXCEEDED', usage: { inputTokens: 201 } });
  });
});

describe('a suspension at a limit names it, with what was used and how much was allowed, in its response and in the log (D3)', () => {
  const usage = { ...cost(100, 10), costUsd: 0.1 };
  /** The limits of the response and of the suspensions in the log. */
  async function limitsOf(
    options: Parameters<typeof agent>[0],
    evaluating: EvaluateOptions,
  ): Promise<readonly unknown[]> {
    const { evaluate, session } = await agent(options);
    const { limit } = await evaluate(evaluating);
    const limits: unknown[] = [limit];
    for await (const event of session.events()) if (event.type === 'evaluation/suspended') limits.push(event.limit);
    return limits;
  }

  test.for<[EvaluateOptions, ReachedLimit]>([
    [{ budget: { maxTokens: 250 } }, { name: 'maxTokens', max: 250, used: 330 }],
    [{ budget: { maxInputTokens: 250 } }, { name: 'maxInputTokens', max: 250, used: 300 }],
    [{ budget: { maxOutputTokens: 15 } }, { name: 'maxOutputTokens', max: 15, used: 20 }],
    [{ budget: { maxCostUsd: 0.2 } }, { name: 'maxCostUsd', max: 0.2, used: 0.2 }],
    [{ maxTurns: 3 }, { name: 'maxTurns', max: 3, used: 3 }],
  ])('%j', async ([evaluating, limit]) => {
    expect(await limitsOf({ script: forever(usage), tools: [look] }, evaluating)).toEqual([limit, limit]);
  });

  test('a cost that cannot be measured has no amount', async () => {
    const limit = { name: 'maxCostUsd', max: 1 };
    const options = { script: forever(cost(100, 10)), tools: [look] };
    expect(await limitsOf(options, { budget: { maxCostUsd: 1 } })).toEqual([limit, limit]);
  });

  test('a budget over the session counts what all its evaluations used', async () => {
    const { evaluate } = await agent({ script: [{ text: 'hi', usage: cost(100, 0) }] });
    await evaluate({ input: 'a' });
    const { limit } = await evaluate({ input: 'b', budget: { maxTokens: 100, over: 'session' } });
    expect(limit).toEqual({ name: 'maxTokens', max: 100, used: 100 });
  });

  test('a parent has the limit that its child reached', async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [look] });
    const script: Script = ({ prompt }) =>
      prompt.key === 'child'
        ? { toolCalls: [call('look')], usage }
        : { toolCalls: [call('delegate')], usage: cost(1, 0) };
    const delegate = tool('delegate', async (_, context) => (await context.evaluate(child)).text, {
      effect: 'idempotent',
    });
    const limit = { name: 'maxTokens', max: 200, used: 221 };
    expect(await limitsOf({ script, tools: [delegate] }, { budget: { maxTokens: 200 } })).toEqual([
      limit,
      limit,
      limit,
    ]);
  });

  test('a suspension for another reason has none', async () => {
    const clock = fakeClock();
    const options = { script: ['hi'], clock };
    expect(await limitsOf(options, { deadline: clock.now() })).toEqual([undefined, undefined]);
  });
});

describe('the deadline', () => {
  test('stops a slow response; the partial response is recorded, and a resume has a new deadline', async () => {
    const clock = fakeClock();
    const model = scriptedModel(['one two three four'], { beforePart: () => clock.advance(1_000) });
    const { evaluate, session } = await agent({ script: model, clock });
    const response = await evaluate({ deadline: clock.now() + 2_500 });
    expect(response).toMatchObject({ status: 'suspended', reason: 'DEADLINE_EXCEEDED' });
    expect(await eventTypes(session)).toContain('message/interrupted');
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'one two three four' });
  });

  test('stops a tool that hangs: its signal aborts, and it runs again on resume', async () => {
    const clock = fakeClock();
    const signals: AbortSignal[] = [];
    let hang = true;
    const slow = tool(
      'slow',
      (_, { signal }) => {
        signals.push(signal);
        return hang ? new Promise(() => {}) : 'done';
      },
      { effect: 'idempotent' },
    );
    const { evaluate } = await agent({ script: [{ toolCalls: [call('slow')] }, 'ok'], tools: [slow], clock });
    const response = await advancing(clock, evaluate({ deadline: new Date(clock.now() + 5_000) }));
    expect(response).toMatchObject({ status: 'suspended', reason: 'DEADLINE_EXCEEDED' });
    expect(signals[0]?.aborted).toBe(true);
    hang = false;
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(signals).toHaveLength(2);
  });

  test('if it has passed, the evaluation is recorded and no request is sent', async () => {
    const clock = fakeClock();
    const { evaluate, requests, session } = await agent({ script: ['hi'], clock });
    expect(await evaluate({ deadline: clock.now() })).toMatchObject({
      status: 'suspended',
      reason: 'DEADLINE_EXCEEDED',
    });
    expect(requests).toEqual([]);
    expect(said(session)).toEqual(['system: Do it.', 'user: Please.']);
  });

  test('children inherit it (D52)', async () => {
    const clock = fakeClock();
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [] });
    const model = scriptedModel(
      ({ prompt }) => (prompt.key === 'child' ? 'one two three four' : { toolCalls: [call('delegate')] }),
      { beforePart: (_, { prompt }) => (prompt.key === 'child' ? clock.advance(1_000) : undefined) },
    );
    const { evaluate, session } = await agent({
      script: model,
      tools: [tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect: 'idempotent' })],
      clock,
    });
    expect(await evaluate({ deadline: clock.now() + 2_500 })).toMatchObject({ reason: 'DEADLINE_EXCEEDED' });
    expect(session.state.record.evaluations.items.map(({ status }) => status)).toEqual(['suspended', 'suspended']);
    const types = await eventTypes(session);
    expect(types.slice(-3)).toEqual(['message/interrupted', 'evaluation/suspended', 'evaluation/suspended']);
  });

  test('leaves no timer behind', async () => {
    const clock = fakeClock();
    const { evaluate } = await agent({ script: ['hi'], clock });
    await evaluate({ deadline: clock.now() + 1_000 });
    expect(clock.waiting).toBe(0);
  });
});

describe('cancellation', () => {
  test('stops a tool; the session stays intact and continues when resumed', async () => {
    const cancel = new AbortController();
    const entered = deferred();
    let runs = 0;
    const slow = tool(
      'slow',
      () => {
        entered.resolve();
        return ++runs === 1 ? new Promise(() => {}) : 'done';
      },
      { effect: 'idempotent' },
    );
    const { evaluate } = await agent({ script: [{ toolCalls: [call('slow')] }, 'ok'], tools: [slow] });
    const response = evaluate({ signal: cancel.signal });
    await entered.promise;
    cancel.abort(new Error('the person left'));
    expect(await response).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(runs).toBe(2);
  });

  test('a once call that was running has an unknown outcome; one that was not started does not', async () => {
    const cancel = new AbortController();
    const runs: string[] = [];
    const pay = tool('pay', ({ to }: { to: string }) => {
      runs.push(to);
      return runs.length === 1 ? new Promise(() => cancel.abort()) : `paid ${to}`;
    });
    const script = [{ toolCalls: [call('pay', { to: 'a' }), call('pay', { to: 'b' })] }, 'ok'];
    const { evaluate } = await agent({ script, tools: [pay] });
    await evaluate({ signal: cancel.signal, maxParallelCalls: 1 });
    expect(runs).toEqual(['a']);
    const response = await evaluate({ resume: true });
    expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
    expect(response.pending.map(({ callId }) => callId)).toEqual(['call_1_1']);
    expect(runs).toEqual(['a', 'b']);
  });

  test('between the response and its calls none of them ran, so no outcome is unknown (D18)', async () => {
    const cancel = new AbortController();
    const runs: string[] = [];
    const pay = tool('pay', (_, { callId }) => runs.push(callId));
    const { evaluate, session } = await agent({
      script: [{ toolCalls: [call('pay'), call('pay')] }, 'ok'],
      tools: [pay],
    });
    session.subscribe((event) => {
      if (event.type === 'tool/started') cancel.abort();
    });
    expect(await evaluate({ signal: cancel.signal })).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(runs).toEqual([]);
    expect(session.pending().map(({ status }) => status)).toEqual(['started', 'started']);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
    expect(runs).toEqual(['call_1_1', 'call_1_2']);
  });

  test('no call starts after it, also when another one just ended', async () => {
    const cancel = new AbortController();
    const runs: number[] = [];
    const work = tool('work', ({ n }: { n: number }) => `done ${runs.push(n)}`);
    const { evaluate, session } = await agent({
      script: [{ toolCalls: [1, 2, 3, 4].map((n) => call('work', { n })) }, 'ok'],
      tools: [work],
    });
    session.subscribe((event) => {
      if (event.type === 'message/recorded' && JSON.stringify(event).includes('done')) cancel.abort();
    });
    expect(await evaluate({ signal: cancel.signal, maxParallelCalls: 1 })).toMatchObject({ reason: 'CANCELLED' });
    await setImmediate();
    expect(runs).toEqual([1]);
    expect(session.state.record.toolStarts.length).toBe(2); // the second start was recorded with the first result
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toEqual([1, 2, 3, 4]);
  });

  test('before the start the evaluation is recorded, and no request is sent', async () => {
    const { evaluate, requests, session } = await agent({ script: ['hi'] });
    expect(await evaluate({ signal: AbortSignal.abort() })).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(requests).toEqual([]);
    expect(session.state.record.messages.length).toBe(2);
  });

  test('leaves no listener on a signal that outlives it', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const { evaluate } = await agent({ script: ['hi'] });
    await evaluate({ signal });
    expect(added).toHaveBeenCalled();
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
  });
});
