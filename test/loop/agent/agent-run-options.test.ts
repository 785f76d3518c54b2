/** Options of `agent.run`: what is refused sends nothing, and what is undefined is not given (D80). */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, defineTool, openStore } from '../../../src/index.ts';
import { agentOf, gate, oneCall, openMemory } from './run-fixtures.ts';

test.for([
  ['a number of turns that is none', {}, { maxTurns: -1 }],
  ['a budget that is no number', {}, { budget: { maxTokens: Number.NaN } }],
  ['a signal that is none', {}, { signal: 'x' }],
  ['a missing param', { instructions: 'You are {{who}}.' }, {}],
] as const)('a run that is refused sends nothing: %s (D80)', async ([, options, given]) => {
  const session = await openMemory();
  const run = agentOf(options).run(session, 'Hi.', { id: 'm1', ...given } as never);
  await expect(run).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(session.queue()).toEqual([]);
});

test('an option that is undefined leaves the default of the agent (D80)', async () => {
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    effect: 'read',
    execute: () => 'seen',
  });
  const agent = agentOf({ maxTurns: 1, tools: [look], model: oneCall('look') } as Partial<AgentOptions>);
  const response = await agent.run(await openMemory(), 'Hi.', { maxTurns: undefined } as never);
  expect(response).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT' });
});

test('wait: undefined waits, as without it (D80)', async () => {
  const store = await openStore('memory:');
  const { model, begun, go } = gate();
  const agent = agentOf({ model } as Partial<AgentOptions>);
  const first = agent.run(await store.session('s'), 'Hi.', { id: 'm1' });
  await begun;
  const second = agent.run(await store.session('s'), 'Hi.', { id: 'm1', wait: undefined } as never);
  for (let i = 0; i < 20; i++) await setImmediate();
  go();
  expect(await first).toMatchObject({ status: 'completed' });
  expect(await second).toMatchObject({ status: 'completed' });
});
