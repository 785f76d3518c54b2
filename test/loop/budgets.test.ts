import { describe, expect, test } from 'vitest';
import { definePrompt } from '../../src/evaluate.ts';
import { summarize } from '../../src/history.ts';
import {
  createSharedUsage,
  type Model,
  memoryStore,
  type ScriptedTurn,
  scriptedModel,
  type Usage,
} from '../../src/index.ts';
import { agent, call, tool } from './agent.ts';

const look = tool('look', () => 'seen', { effect: 'read' });
const usage: Usage = { inputTokens: 1_000_000, outputTokens: 100_000 };
const forever = (): ScriptedTurn => ({ toolCalls: [call('look')], usage });
const price = { input: 1, output: 10 };

describe('D66: a cost limit', () => {
  test('that cannot be measured suspends with a message that names the missing option', async () => {
    const { evaluate, requests } = await agent({ script: forever, tools: [look] });
    const response = await evaluate({ budget: { maxCostUsd: 5 } });
    expect(response).toMatchObject({
      status: 'suspended',
      reason: 'BUDGET_EXCEEDED',
      turns: 1,
      message: expect.stringMatching(/maxCostUsd.*"scripted".*prices/),
    });
    expect(requests).toHaveLength(1);
  });

  test('prices give a cost to responses that report none, and it is recorded', async () => {
    const { evaluate, session } = await agent({
      script: forever,
      tools: [look],
      adapter: { prices: { scripted: price } },
    });
    const response = await evaluate({ budget: { maxCostUsd: 5 } });
    expect(response).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      turns: 3,
      message: expect.stringContaining('dollars'),
    });
    expect(response.usage.costUsd).toBeCloseTo(6);
    expect(session.state.record.usage.map((item) => item.usage.costUsd)).toEqual([2, 2, 2]);
  });

  test('prices of evaluate override those of the adapter', async () => {
    const { evaluate } = await agent({ script: forever, tools: [look], adapter: { prices: { scripted: price } } });
    const prices = { scripted: { input: 5, output: 0 } };
    expect(await evaluate({ budget: { maxCostUsd: 5 }, prices })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      turns: 1,
    });
  });

  test('prices passed on resume measure responses that were recorded without a cost', async () => {
    const { evaluate } = await agent({ script: forever, tools: [look] });
    await evaluate({ budget: { maxCostUsd: 5 } });
    const prices = { scripted: price };
    const response = await evaluate({ resume: true, budget: { maxCostUsd: 5 }, prices });
    expect(response).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      turns: 3,
      message: expect.stringMatching(/of 5 dollars/),
    });
  });

  test('cached tokens have prices of their own', async () => {
    const cached = { ...usage, cachedInputTokens: 600_000, cacheWriteTokens: 200_000 };
    const prices = { scripted: { input: 10, output: 0, cacheRead: 1, cacheWrite: 20 } };
    const { evaluate } = await agent({ script: [{ text: 'hi', usage: cached }], adapter: { prices } });
    expect((await evaluate()).usage.costUsd).toBeCloseTo(2 + 0.6 + 4);
  });

  test('a cost that the model reports overrides prices', async () => {
    const reported = { ...usage, costUsd: 0.5 };
    const { evaluate } = await agent({
      script: [{ text: 'hi', usage: reported }],
      adapter: { prices: { scripted: price } },
    });
    expect((await evaluate()).usage.costUsd).toBe(0.5);
  });

  test('a reported cost does not hide a response without one', async () => {
    const { evaluate } = await agent({
      script: ({ turn }) => ({ toolCalls: [call('look')], usage: turn === 1 ? { ...usage, costUsd: 1 } : usage }),
      tools: [look],
    });
    expect(await evaluate({ budget: { maxCostUsd: 50 } })).toMatchObject({ reason: 'BUDGET_EXCEEDED', turns: 2 });
  });

  test('a response without usage cannot be measured either', async () => {
    const scripted = scriptedModel(() => ({ toolCalls: [call('look')] }));
    const silent: Model = {
      ...scripted,
      async *stream(request) {
        for await (const part of scripted.stream(request)) {
          if (part.type !== 'finish') yield part;
          else {
            const { usage: _, ...response } = part.response;
            yield { type: 'finish', response };
          }
        }
      },
    };
    const { evaluate } = await agent({ script: silent, tools: [look] });
    expect(await evaluate({ budget: { maxCostUsd: 50 } })).toMatchObject({ reason: 'BUDGET_EXCEEDED', turns: 1 });
  });

  test('children that cannot be measured suspend their parent', async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [look] });
    const delegate = tool('delegate', async (_, context) => (await context.evaluate(child)).text, {
      effect: 'idempotent',
    });
    const { evaluate, requests } = await agent({
      script: ({ prompt }) =>
        prompt.key === 'child' ? forever() : { toolCalls: [call('delegate')], usage: { ...usage, costUsd: 1 } },
      tools: [delegate],
    });
    expect(await evaluate({ budget: { maxCostUsd: 50 } })).toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    expect(requests).toHaveLength(2);
  });

  test('without a cost limit nothing has to be measured', async () => {
    const { evaluate } = await agent({ script: forever, tools: [look] });
    expect(await evaluate({ maxTurns: 5, budget: { maxTokens: 1e9 } })).toMatchObject({ reason: 'TURN_LIMIT' });
  });

  test('summaries have a cost, too', async () => {
    const { evaluate } = await agent({
      script: scriptedModel(({ turn }) =>
        turn === 0
          ? { text: 'before', usage }
          : turn < 4
            ? { toolCalls: [call('look')], usage }
            : { text: 'ok', usage },
      ),
      tools: [look],
      adapter: { prices: { scripted: price } },
    });
    const response = await evaluate({ history: summarize({ size: 2, low: 1 }) });
    const spent = response.usage.inputTokens / usage.inputTokens;
    expect(spent).toBeGreaterThan(response.turns); // a summary was created
    expect(response.usage.costUsd).toBeCloseTo(2 * spent);
  });
});

describe('D66: budget over the session', () => {
  const once = [{ text: 'hi', usage: { inputTokens: 100, outputTokens: 0 } }];

  test('counts all evaluations of the session; raising it resumes', async () => {
    const { evaluate, requests } = await agent({ script: once });
    const budget = { maxTokens: 250, over: 'session' } as const;
    for (const input of ['a', 'b', 'c'])
      expect(await evaluate({ input, budget })).toMatchObject({ status: 'completed' });
    const stopped = await evaluate({ input: 'd', budget });
    expect(stopped).toMatchObject({
      status: 'suspended',
      reason: 'BUDGET_EXCEEDED',
      message: expect.stringMatching(/300 of 250 tokens.*session/),
    });
    expect(requests).toHaveLength(3);
    const raised = await evaluate({ input: 'd', resume: 'auto', budget: { ...budget, maxTokens: 400 } });
    expect(raised).toMatchObject({ status: 'completed', evaluationId: stopped.evaluationId });
  });

  test('counts the usage of other processes', async () => {
    const first = await agent({ script: once });
    await first.evaluate();
    const second = await agent({ script: once, store: first.store });
    const budget = { maxTokens: 100, over: 'session' } as const;
    expect(await second.evaluate({ budget })).toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    expect(second.requests).toEqual([]);
  });

  test('counts children once, running and finished', async () => {
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Research.', tools: [look] });
    const spend = { usage: { inputTokens: 100, outputTokens: 0 } };
    const delegate = tool('delegate', async (_, context) => (await context.evaluate(child)).text, {
      effect: 'idempotent',
    });
    const { evaluate } = await agent({
      script: ({ prompt, turn }) =>
        prompt.key === 'child'
          ? turn < 3
            ? { toolCalls: [call('look')], ...spend }
            : { text: 'found', ...spend }
          : turn === 1
            ? { toolCalls: [call('delegate')], ...spend }
            : { text: 'ok', ...spend },
      tools: [delegate],
    });
    await evaluate({ input: 'a' }); // 500
    const budget = { maxTokens: 700, over: 'session' } as const;
    const stopped = await evaluate({ input: 'b', budget });
    expect(stopped).toMatchObject({ reason: 'BUDGET_EXCEEDED', usage: { inputTokens: 200 } });
    expect(await evaluate({ input: 'b', resume: 'auto', budget: { ...budget, maxTokens: 1_000 } })).toMatchObject({
      status: 'completed',
      usage: { inputTokens: 500 },
    });
  });

  test('measures costs of all evaluations, priced ones included', async () => {
    const costly = [{ text: 'hi', usage }];
    const { evaluate } = await agent({ script: costly });
    await evaluate({ input: 'a' });
    const budget = { maxCostUsd: 3, over: 'session' } as const;
    expect(await evaluate({ input: 'b', budget })).toMatchObject({ message: expect.stringContaining('prices') });
    const prices = { scripted: price };
    expect(await evaluate({ input: 'b', resume: 'auto', budget, prices })).toMatchObject({ status: 'completed' });
    expect(await evaluate({ input: 'c', budget, prices })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      message: expect.stringMatching(/4 of 3 dollars/),
    });
  });

  test('the default counts one evaluation', async () => {
    const { evaluate } = await agent({ script: once });
    for (const over of [undefined, 'evaluation'] as const) {
      const budget = { maxTokens: 50, ...(over && { over }) };
      expect(await evaluate({ budget })).toMatchObject({ status: 'completed' });
    }
  });
});

describe('D66: the turn limit', () => {
  test('is 100 by default', async () => {
    const { evaluate, requests } = await agent({ script: () => ({ toolCalls: [call('look')] }), tools: [look] });
    expect(await evaluate()).toMatchObject({ reason: 'TURN_LIMIT', turns: 100 });
    expect(requests).toHaveLength(100);
  });
});

describe('invalid options', () => {
  test.for([
    { budget: { maxTokens: 1, over: 'month' as 'session' } },
    { prices: { scripted: { input: -1, output: 1 } } },
    { prices: { scripted: { input: Number.NaN, output: 1 } } },
    { prices: { scripted: { output: 1 } as { input: number; output: number } } },
  ])('%j is rejected before anything is recorded', async (options) => {
    const { session, evaluate } = await agent({ script: ['hi'], store: memoryStore() });
    await expect(evaluate(options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(session.seq).toBe(0);
  });
});

describe('a usage that several evaluations share', () => {
  const one: Usage = { inputTokens: 90, outputTokens: 10 };
  const working = (id: string, more: object = {}) =>
    agent({ script: () => ({ toolCalls: [call('look')], usage: one }), tools: [look], id, ...more });

  test('suspends the one that asks next, in whichever session, with what all of them used', async () => {
    const over = createSharedUsage();
    const [a, b] = [await working('a'), await working('b')];
    expect(await a.evaluate({ budget: { maxTokens: 300, over } })).toMatchObject({ turns: 3 });
    expect(over.total).toMatchObject({ inputTokens: 270, outputTokens: 30 });
    expect(await b.evaluate({ budget: { maxTokens: 300, over } })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      turns: 0,
      message: expect.stringMatching(/300 of 300 tokens are used up by all that share them/),
      limit: { name: 'maxTokens', max: 300, used: 300 },
    });
    expect(await b.evaluate({ resume: true, budget: { maxTokens: 500, over } })).toMatchObject({ turns: 2 });
  });

  test('counts runs at the same time as they record, each once', async () => {
    const over = createSharedUsage();
    const agents = [await working('a'), await working('b'), await working('c')];
    const responses = await Promise.all(agents.map(({ evaluate }) => evaluate({ budget: { maxTokens: 900, over } })));
    const turns = responses.reduce((sum, response) => sum + response.turns, 0);
    expect(turns).toBeGreaterThanOrEqual(9);
    expect(turns).toBeLessThanOrEqual(11); // those that asked before the last response was recorded
    expect(over.total.inputTokens).toBe(90 * turns);
  });

  test('counts an evaluation that is resumed with what it has used before, also in a new process', async () => {
    const first = await working('a');
    await first.evaluate({ maxTurns: 2 });
    const again = await working('a', { store: first.store });
    const over = createSharedUsage();
    expect(await again.evaluate({ resume: true, budget: { maxTokens: 300, over } })).toMatchObject({ turns: 3 });
    expect(over.total.inputTokens).toBe(270);
    const third = createSharedUsage({ sessions: [again.session] });
    expect(third.total).toEqual(over.total);
    const other = await working('b');
    expect(await other.evaluate({ budget: { maxTokens: 400, over: third } })).toMatchObject({ turns: 1 });
  });

  test('counts sessions of two stores that have the same id as two', async () => {
    const over = createSharedUsage();
    for (const _ of [1, 2]) {
      const { evaluate } = await working('a');
      await evaluate({ evaluationId: 'same', maxTurns: 1, budget: { over } });
    }
    expect(over.total.inputTokens).toBe(180);
  });

  test('has a cost limit that prices measure', async () => {
    const over = createSharedUsage();
    const priced = { script: forever, adapter: { prices: { scripted: price } } };
    const [a, b] = [await working('a', priced), await working('b', priced)];
    await a.evaluate({ maxTurns: 2, budget: { maxCostUsd: 5, over } });
    expect(over.total.costUsd).toBeCloseTo(4);
    expect(await b.evaluate({ budget: { maxCostUsd: 5, over } })).toMatchObject({
      turns: 1,
      message: expect.stringMatching(/6 of 5 dollars/),
    });
  });

  test('counts a child with its parent, whether or not the child names it, too', async () => {
    const over = createSharedUsage();
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Look.' });
    const delegate = tool('delegate', async (_, ctx) => (await ctx.evaluate(child, { budget: { over } })).text, {
      effect: 'idempotent',
    });
    const { evaluate } = await agent({
      script: ({ turn, prompt }) =>
        prompt.key === 'child' || turn > 1
          ? { text: 'done', usage: one }
          : { toolCalls: [call('delegate')], usage: one },
      tools: [delegate],
    });
    expect(await evaluate({ budget: { over } })).toMatchObject({ status: 'completed' });
    expect(over.total.inputTokens).toBe(270);
  });

  test('that is none is refused', async () => {
    const { evaluate } = await working('a');
    await expect(evaluate({ budget: { over: { total: one } } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('createSharedUsage'),
    });
  });
});
