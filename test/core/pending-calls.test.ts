/** `session.pending()` says what each call waits for, so that a program that decides takes those that wait for it. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AnyTool, createAgent, defineTool, openStore, scriptedModel, suspendUntil } from '../../src/index.ts';

const input = z.object({});
const tool = (name: string, rest: Partial<AnyTool>): AnyTool =>
  defineTool({ name, description: name, input, execute: () => 'done', ...rest } as never);

test.for([
  ['approval', { needsApproval: true }],
  ['time', { effect: 'read', execute: () => suspendUntil(new Date('2100-01-01'), { result: 'late' }) }],
  ['outcome', { timeoutMs: 1, execute: () => new Promise(() => {}) }],
] as const)('a call that waits for %s', async ([waitsFor, rest]) => {
  const session = await (await openStore('memory:')).session('s');
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [{ name: 'work', arguments: {} }] }, 'Done.']),
    instructions: '',
    tools: [tool('work', rest as Partial<AnyTool>)],
  });
  const response = await agent.run(session, 'Go.', { id: 'm1' });
  expect(response.status).toBe('suspended');
  expect(session.pending()).toMatchObject([{ name: 'work', waitsFor }]);
  const [call] = session.pending();
  if (call && waitsFor === 'approval') await session.approve(call);
  if (call && waitsFor === 'outcome') await session.settle(call, { result: 'done' });
  if (waitsFor !== 'time') expect(session.pending().map((one) => one.waitsFor)).toEqual([undefined]);
});

test('a call that runs waits for nothing', async () => {
  const session = await (await openStore('memory:')).session('s');
  const seen: unknown[] = [];
  const agent = createAgent({
    name: 'a',
    model: scriptedModel([{ toolCalls: [{ name: 'work', arguments: {} }] }, 'Done.']),
    instructions: '',
    tools: [tool('work', { execute: () => void seen.push(...session.pending().map(({ waitsFor }) => waitsFor)) })],
  });
  await agent.run(session, 'Go.');
  expect(seen).toEqual([undefined]);
});
