/** What a response of `agent.run` says about its input, about what is left, and about other agents (D80). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type AgentOptions,
  createAgent,
  defineTool,
  ModelError,
  openStore,
  scriptedModel,
} from '../../../src/index.ts';
import { agentOf, echo, leftRunning, oneCall, openMemory } from './run-fixtures.ts';

test('left says what was sent after the input, not that the input itself may be tried again (D80)', async () => {
  const model = scriptedModel(() => {
    throw new ModelError('no such key', { status: 401, retryable: false });
  });
  const response = await agentOf({ model } as Partial<AgentOptions>).run(await openMemory(), 'Hi.', { id: 'm1' });
  expect(response).toMatchObject({ status: 'suspended', reason: 'PROVIDER_FAILED' });
  expect(response).not.toHaveProperty('left');
});

test('an evaluation that a dead process left is neither busy nor cancelled when the deadline has passed (D80)', async () => {
  const session = await leftRunning();
  const agent = agentOf({ name: 'one' } as Partial<AgentOptions>);
  const deadline = session.clock.now() - 1;
  const waiting = { status: 'queued', blockedBy: { status: 'running' } };
  expect(await agent.run(session, 'Hi.', { id: 'm1', deadline })).toMatchObject({ ...waiting, inputId: 'm1' });
  expect(await agent.run(session, undefined, { deadline })).toMatchObject({ ...waiting, left: true });
});

test('a run without an input does not call an evaluation cancelled that another agent has to resume (D80)', async () => {
  const response = await agentOf({ name: 'two' } as Partial<AgentOptions>).run(await leftRunning());
  expect(response).toMatchObject({ status: 'idle', left: true, blockedBy: { status: 'running', agent: 'one' } });
  expect(response).not.toHaveProperty('reason');
});

test("a run without an input that does nothing does not return another agent's response (D80)", async () => {
  const session = await openMemory();
  await agentOf({ name: 'one' } as Partial<AgentOptions>).run(session, 'For one.');
  await session.send('For one again.', { agent: 'one' });
  const response = await agentOf({ name: 'two' } as Partial<AgentOptions>).run(session);
  expect(response).toMatchObject({ status: 'idle', left: true, blockedBy: { agent: 'one' } });
});

test('a steer that names an agent does not join the evaluation of another one (D80)', async () => {
  const store = await openStore('memory:');
  const other = await store.session('s');
  const work = defineTool({
    name: 'work',
    description: 'Works',
    input: z.object({}),
    effect: 'read',
    execute: async () => {
      await other.send('For two.', { id: 'm2', mode: 'steer', agent: 'two' });
      return 'worked';
    },
  });
  const one = agentOf({ name: 'one', tools: [work], model: oneCall('work') } as Partial<AgentOptions>);
  const two = agentOf({ name: 'two', model: scriptedModel(() => 'From two.') } as Partial<AgentOptions>);
  await one.run(await store.session('s'), 'For one.', { id: 'm1' });
  expect(await two.run(other, 'For two.', { id: 'm2', mode: 'steer' })).toMatchObject({ text: 'From two.' });
});

test('a completed response has the output of its agent, also when another agent has done the input (D80)', async () => {
  const session = await openMemory();
  await session.send('Hi.', { id: 'm1', agent: 'one' });
  await agentOf({ name: 'one' } as Partial<AgentOptions>).run(session);
  const two = createAgent({ name: 'two', model: echo, instructions: '', output: z.object({ n: z.number() }) });
  const response = await two.run(session, 'Hi.', { id: 'm1' });
  expect(response).toMatchObject({ status: 'failed', text: 'You said: Hi.', error: { code: 'OUTPUT_INVALID' } });
});
