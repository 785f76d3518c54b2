import { describe, expect, test } from 'vitest';
import { definePrompt } from '../../src/evaluate.ts';
import type { Usage } from '../../src/index.ts';
import { agent, call, tool } from './agent.ts';

describe('ctx.budget', () => {
  const one: Usage = { inputTokens: 90, outputTokens: 10, costUsd: 0.25 };

  test('is what is left when it is read, frozen, and empty without a budget', async () => {
    const seen: unknown[] = [];
    const asks = tool('asks', (_, { budget }) => void seen.push(budget, Object.isFrozen(budget)), { effect: 'read' });
    const script = ({ turn }: { turn: number }) => (turn < 3 ? { toolCalls: [call('asks')], usage: one } : 'ok');
    const limited = await agent({ script, tools: [asks] });
    await limited.evaluate({ budget: { maxTokens: 150, maxCostUsd: 1 } });
    await (await agent({ script, tools: [asks] })).evaluate({ maxTurns: 1 });
    expect(seen).toEqual([
      { maxTokens: 50, maxCostUsd: 0.75 },
      true,
      { maxTokens: 0, maxCostUsd: 0.5 },
      true,
      {},
      true,
    ]);
  });

  test('of a child is the least of its own and those above, and may be passed on', async () => {
    const seen: unknown[] = [];
    const asks = tool('asks', (_, { budget }) => void seen.push(budget), { effect: 'read' });
    const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Look.', tools: [asks] });
    const delegate = tool(
      'delegate',
      async (_, ctx) => {
        await ctx.evaluate(child, { key: 'a', budget: { ...ctx.budget, maxOutputTokens: 40 } });
        return (await ctx.evaluate(child, { key: 'b', budget: { maxTokens: 10_000 } })).text;
      },
      { effect: 'idempotent' },
    );
    const { evaluate } = await agent({
      script: ({ turn, prompt: { key } }) =>
        turn > 1
          ? { text: 'done', usage: one }
          : { toolCalls: [call(key === 'child' ? 'asks' : 'delegate')], usage: one },
      tools: [delegate],
    });
    await evaluate({ budget: { maxTokens: 1000 } });
    expect(seen).toEqual([{ maxTokens: 800, maxOutputTokens: 30 }, { maxTokens: 600 }]);
  });

  test('has nothing left of a cost that cannot be measured', async () => {
    const seen: unknown[] = [];
    const asks = tool('asks', (_, { budget }) => void seen.push(budget), { effect: 'read' });
    const { evaluate } = await agent({
      script: [{ toolCalls: [call('asks')], usage: { inputTokens: 90, outputTokens: 10 } }],
      tools: [asks],
    });
    expect(await evaluate({ budget: { maxCostUsd: 5 } })).toMatchObject({ reason: 'BUDGET_EXCEEDED' });
    expect(seen).toEqual([{ maxCostUsd: 0 }]);
  });
});

test('ctx.deadline is that of the evaluation, also in a child, and absent without one', async () => {
  const seen: unknown[] = [];
  const asks = tool('asks', (_, { deadline }) => void seen.push(deadline), { effect: 'read' });
  const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Look.', tools: [asks] });
  const delegate = tool('delegate', async (_, ctx) => (await ctx.evaluate(child)).text, { effect: 'idempotent' });
  const { evaluate } = await agent({
    script: ({ turn, prompt: { key } }) =>
      turn > 1 ? 'done' : { toolCalls: key === 'child' ? [call('asks')] : [call('asks'), call('delegate')] },
    tools: [asks, delegate],
  });
  const deadline = new Date(Date.now() + 1_000_000_000);
  await evaluate({ deadline: deadline.getTime() });
  await evaluate({});
  expect(seen).toEqual([deadline, deadline, undefined, undefined]);
});
