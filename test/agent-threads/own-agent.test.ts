/** docs/agents.md names the parts of `holdfast/agent`, and its adapter works as it is written. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import * as parts from '../../src/agent.ts';
import { definePrompt } from '../../src/evaluate.ts';
import { defineTool, memoryStore, openSession } from '../../src/index.ts';
import { programIn, readPage, withSources } from '../support/documents.ts';

const page = readPage('docs/agents.md');
const directory = mkdtempSync(join(tmpdir(), 'holdfast-own-agent-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What the example exports. */
interface Example {
  ownAgentAdapter(agent: unknown, options?: parts.StatefulOptions): parts.StatefulAdapter;
}
let ownAgentAdapter: Example['ownAgentAdapter'];
beforeAll(async () => {
  const path = join(directory, 'own-agent.ts');
  writeFileSync(path, withSources(programIn('docs/agents.md', 'own-agent.ts')));
  ({ ownAgentAdapter } = (await import(pathToFileURL(path).href)) as Example);
});

/** An agent that pays once and then reports its news. */
function payingAgent() {
  const sessions: (string | undefined)[] = [];
  const received: (readonly string[])[] = [];
  const agent = {
    async open(sessionId: string | undefined) {
      sessions.push(sessionId);
      return sessionId ?? 'theirs';
    },
    async next(_: string, news: readonly string[]) {
      received.push(news);
      if (received.length > 1) return { id: `msg_${received.length}`, text: `Received: ${news.join()}`, calls: [] };
      const calls = [{ callId: 'call_1', name: 'pay', arguments: '{"cents":5}' }];
      return { id: 'msg_1', text: '', calls };
    },
  };
  return { agent, sessions, received };
}

function payPrompt(needsApproval: boolean) {
  const paid: number[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ cents: z.number() }),
    needsApproval,
    execute: ({ cents }) => {
      paid.push(cents);
      return 'paid';
    },
  });
  return { prompt: definePrompt({ ns: 'test', key: 'own', instructions: 'Work.', tools: [pay] }), paid };
}

test('every function and constant of holdfast/agent is named in the page', () => {
  expect(Object.keys(parts).filter((name) => !page.includes(`\`${name}`) && !page.includes(`${name}(`))).toEqual([]);
});

test('it records the response, runs the tool once, sends the agent its result and captures its state', async () => {
  const { agent, sessions, received } = payingAgent();
  const { prompt, paid } = payPrompt(false);
  const session = await openSession({ store: memoryStore(), id: 's1' });
  const response = await ownAgentAdapter(agent).evaluate(prompt, { session, input: 'Pay.' });
  expect(response).toMatchObject({ status: 'completed', text: 'Received: paid', turns: 2 });
  expect(response.adapterState).toMatchObject({ adapterType: 'own-agent', sessionId: 'theirs', complete: true });
  expect([paid, sessions, received]).toEqual([[5], [undefined], [['Pay.'], ['paid']]]);
  expect(session.messages().map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']);
});

test('a call that needs approval suspends it; the agent continues in its session with the result', async () => {
  const { agent, sessions, received } = payingAgent();
  const { prompt, paid } = payPrompt(true);
  const session = await openSession({ store: memoryStore(), id: 's1' });
  const adapter = ownAgentAdapter(agent);
  const waiting = await adapter.evaluate(prompt, { session, input: 'Pay.' });
  expect(waiting).toMatchObject({ status: 'suspended', reason: 'APPROVAL_REQUIRED', pending: [{ callId: 'call_1' }] });
  expect(paid).toEqual([]);
  for (const call of waiting.pending) await session.approve(call);
  const response = await adapter.evaluate(prompt, { session, resume: true });
  expect(response).toMatchObject({ status: 'completed', text: 'Received: paid' });
  expect([paid, sessions, received]).toEqual([[5], [undefined, 'theirs'], [['Pay.'], ['paid']]]);
});

test('a signal suspends it while the agent works, and a resume continues it', async () => {
  const { agent, received } = payingAgent();
  const { prompt } = payPrompt(false);
  const cancelling = new AbortController();
  const hanging = {
    ...agent,
    async next() {
      cancelling.abort();
      return new Promise<never>(() => {});
    },
  };
  const session = await openSession({ store: memoryStore(), id: 's1' });
  const { signal } = cancelling;
  const stopped = await ownAgentAdapter(hanging).evaluate(prompt, { session, input: 'Pay.', signal });
  expect(stopped).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  const response = await ownAgentAdapter(agent).evaluate(prompt, { session, resume: true });
  expect(response).toMatchObject({ status: 'completed', text: 'Received: paid' });
  expect(received).toEqual([['Pay.'], ['paid']]);
});

test("a tool with the name of one of the agent's own is refused before anything is recorded", async () => {
  const browse = defineTool({ name: 'browse', description: 'Browses', input: z.object({}), execute: () => '' });
  const prompt = definePrompt({ ns: 'test', key: 'own', instructions: 'Work.', tools: [browse] });
  const session = await openSession({ store: memoryStore(), id: 's1' });
  const asked = ownAgentAdapter(payingAgent().agent).evaluate(prompt, { session, input: 'Browse.' });
  await expect(asked).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('rename yours'),
  });
  expect(session.seq).toBe(0);
});
