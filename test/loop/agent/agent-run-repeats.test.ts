/** The same line of `agent.run` again: all that it returns is read from the log (D61, D80). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { UnstoredEvent } from '../../../src/core/log/events.ts';
import { definePrompt } from '../../../src/evaluate.ts';
import {
  type AgentOptions,
  createAgent,
  defineTool,
  ModelError,
  openStore,
  scriptedModel,
  suspendUntil,
} from '../../../src/index.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { agentOf, gate, oneCall, openMemory } from './run-fixtures.ts';

test('resumeCancelled resumes the cancelled evaluation of the same input (D61, D80)', async () => {
  const session = await openMemory();
  const { model, begun, go } = gate();
  const agent = agentOf({ model } as Partial<AgentOptions>);
  const cancelled = agent.run(session, 'Hi.', { id: 'm1' });
  await begun;
  await session.cancel();
  expect(await cancelled).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  go();
  expect(await agent.run(session, 'Hi.', { id: 'm1', resumeCancelled: true })).toMatchObject({ status: 'completed' });
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  effect: 'once',
  needsApproval: true,
  execute: () => 'paid',
});
const sleep = defineTool({
  name: 'sleep',
  description: 'Sleeps',
  input: z.object({}),
  effect: 'idempotent',
  execute: () => suspendUntil(Date.parse('2100-01-01T00:00:00.000Z')),
});
const child = definePrompt({ ns: 'a', key: 'child', instructions: 'Help.' });
const delegate = defineTool({
  name: 'delegate',
  description: 'Has a child of its own',
  input: z.object({}),
  effect: 'idempotent',
  execute: async (_, context) => (await context.evaluate(child, { input: 'Go.', maxTurns: 0 })).text,
});
const slowDown = scriptedModel(() => {
  throw new ModelError('slow down', { status: 429, retryable: true, retryAfterMs: 3_600_000 });
});
test.for([
  ['an approval', { tools: [pay], model: oneCall('pay') }],
  ['a time', { tools: [sleep], model: oneCall('sleep') }],
  ['a provider', { model: slowDown }],
  ['a child with a limit', { tools: [delegate], model: oneCall('delegate') }],
] as const)(
  'a run that waits for %s returns the same when it is repeated: all of it is read from the log (D80)',
  async ([, options]) => {
    const session = await openMemory({ clock: fakeClock() });
    const agent = agentOf(options as Partial<AgentOptions>);
    const response = await agent.run(session, 'Hi.', { id: 'm1' });
    expect(response.status).toBe('suspended');
    expect(await agent.run(session, 'Hi.', { id: 'm1' })).toEqual(response);
  },
);

test('the same long text is the same input for a handle with another maxInlineLength (D61, D80)', async () => {
  const store = await openStore('memory:');
  const text = 'long '.repeat(100);
  const response = await agentOf().run(await store.session('s', { maxInlineLength: 64 }), text, { id: 'm1' });
  expect(await agentOf().run(await store.session('s'), text, { id: 'm1' })).toEqual(response);
});

const hiding = (types: readonly string[]) => (event: UnstoredEvent) =>
  types.includes(event.type) ? JSON.parse(JSON.stringify(event).replaceAll('Ann', '@Ann')) : event;
test.for([
  ['changes a text each time', ['input/queued', 'message/recorded']],
  ['changes only messages', ['message/recorded']],
] as const)('the same text is the same input when redact %s (D58, D80)', async ([, types]) => {
  const session = await openMemory({ redact: hiding(types) });
  const response = await agentOf().run(session, 'I am Ann.', { id: 'm1' });
  expect(await agentOf().run(session, 'I am Ann.', { id: 'm1' })).toEqual(response);
});

test.for([
  ['its schema has changed', false],
  ['it was erased', true],
] as const)(
  'a recorded response that is no output any more is returned, not thrown: %s (D80)',
  async ([, isErased]) => {
    const session = await openMemory();
    const outputOf = (n: z.ZodType) =>
      createAgent({ name: 'n', model: scriptedModel(() => '{"n":1}'), instructions: '', output: z.object({ n }) });
    await outputOf(z.number()).run(session, 'Hi.', { id: 'm1' });
    const answer = session.messages().find(({ role }) => role === 'assistant');
    if (isErased && answer) await session.eraseMessage(answer.id);
    const again = outputOf(isErased ? z.number() : z.string()).run(session, 'Hi.', { id: 'm1' });
    await expect(again).resolves.toMatchObject({
      status: 'failed',
      error: { code: 'OUTPUT_INVALID' },
      message: expect.stringContaining(isErased ? 'was erased' : 'does not fit'),
    });
  },
);
