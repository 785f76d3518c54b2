/** The routes behind Studio on sessions of real agents: imported transcripts, and logs with crashes that older versions wrote. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ConversationBlock } from '../../src/conversation/blocks.ts';
import { definePrompt } from '../../src/evaluate.ts';
import type { Agents } from '../../src/index.ts';
import { createAgent, defineTool, memoryStore, scriptedModel } from '../../src/index.ts';
import type { Timeline } from '../../src/inspect.ts';
import type { OutcomeItem } from '../../src/server/inbox-items.ts';
import type { BlockPage } from '../../src/server/routes/block-routes.ts';
import type { InboxPage } from '../../src/server/routes/inbox-route.ts';
import type { RequestList } from '../../src/server/routes/record-routes.ts';
import { importTranscripts } from '../../src/transcripts.ts';
import { folder } from '../importers/places.ts';
import { copyOf } from '../stores/support/old-databases/fixture-copy.ts';
import { openStore } from '../stores/support/temporary.ts';
import { codeOf, counting, type Served, serve, until } from './support.ts';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');

/** A server of the sessions of Claude Code and Codex that the fixtures have. */
async function importing(): Promise<Served> {
  const store = memoryStore();
  const claude = folder();
  cpSync(join(FIXTURES, 'claude-code-2.1.325/nested/projects'), join(claude, 'projects'), { recursive: true });
  cpSync(join(FIXTURES, 'claude-code-2.1.325/tools/projects'), join(claude, 'projects'), { recursive: true });
  const { sessions, problems } = await importTranscripts(store, { paths: [claude] });
  expect(problems).toEqual([]);
  expect(sessions).toBe(2);
  return serve({ store, agents: (session) => (session.summary?.source ? undefined : counting()) });
}

async function idsOf(served: Served, query = ''): Promise<readonly string[]> {
  const { sessions } = (await served.json(`/sessions${query}`)) as { sessions: { id: string }[] };
  return sessions.map(({ id }) => id);
}

test('imported sessions have blocks in pages, their state and messages, and no requests or timeline', async () => {
  const served = await importing();
  expect(await idsOf(served, '?source=own')).toEqual([]);
  const ids = await idsOf(served, '?source=claude-sdk');
  expect(ids).toHaveLength(2);
  let subagents = 0;
  for (const id of ids) {
    const at = `/sessions/${encodeURIComponent(id)}`;
    const { state } = (await served.json(`${at}/state`)) as { state: { blocks: ConversationBlock[] } };
    expect(state.blocks.length).toBeGreaterThan(3);
    const read: ConversationBlock[] = [];
    for (let from = 0; ; from += 2) {
      const page = (await served.json(`${at}/blocks?from=${from}&limit=2&machinery=true`)) as unknown as BlockPage;
      read.push(...page.blocks);
      if (from === 0) subagents += page.subagents.length;
      if (from + 2 >= page.total) break;
    }
    expect(read).toEqual(state.blocks);
    expect(((await served.json(`${at}/messages`)) as { messages: object[] }).messages.length).toBeGreaterThan(2);
    expect(((await served.json(`${at}/requests`)) as unknown as RequestList).requests).toEqual([]);
    expect(await served.json(`${at}/timeline`)).toEqual({ evaluations: [], omitted: 0 });
  }
  expect(subagents).toBeGreaterThan(0);
});

test('an imported session is continued from a block, with its message in other words', async () => {
  const served = await importing();
  const [id = ''] = await idsOf(served);
  const at = `/sessions/${encodeURIComponent(id)}`;
  const { blocks } = (await served.json(`${at}/blocks?limit=500`)) as unknown as BlockPage;
  const asked = blocks.find(({ type }) => type === 'user_message')?.id;
  const answered = blocks.findLast(({ type }) => type === 'assistant_text')?.id;
  const fork = await served.send('POST', `${at}/fork`, { id: 'fork', block: answered, input: 'And now?' });
  expect(fork.status).toBe(201);
  await until(async () => JSON.stringify(await served.json('/sessions/fork/state')).includes('I have read'));
  const anew = await served.send('POST', `${at}/fork`, { id: 'anew', block: asked, before: true, input: 'Instead.' });
  expect(anew.status).toBe(201);
  await until(async () => JSON.stringify(await served.json('/sessions/anew/state')).includes('I have read'));
  expect(await codeOf(await served.send('POST', `${at}/fork`, { at: 1 }))).toBe('400 INVALID_ARGUMENT');
  expect(await codeOf(await served.send('POST', `${at}/fork`, { block: 'none' }))).toBe('404 CONVERSATION_NOT_FOUND');
});

test('every session of a database with crashes has a timeline, requests and blocks', async () => {
  const store = await openStore(copyOf('layout-2'));
  const served = await serve({ store });
  const kinds = new Set<string>();
  for (const id of await idsOf(served, '?limit=100')) {
    const at = `/sessions/${encodeURIComponent(id)}`;
    const { evaluations } = (await served.json(`${at}/timeline`)) as unknown as Timeline;
    for (const { spans } of evaluations) for (const { kind } of spans) kinds.add(kind);
    const { requests } = (await served.json(`${at}/requests`)) as unknown as RequestList;
    const { sessions } = (await served.json(`/sessions?idPrefix=${encodeURIComponent(id)}`)) as {
      sessions: { id: string; turns: number }[];
    };
    const main = evaluations.filter(({ conversationId }) => conversationId === 'main');
    expect(requests).toHaveLength(main.reduce((sum, { turns }) => sum + turns, 0));
    const listed = sessions.find((session) => session.id === id)?.turns;
    expect(listed).toBe(evaluations.reduce((sum, { turns }) => sum + turns, 0));
  }
  expect(kinds).toContain('model');
  expect(kinds).toContain('tool');
  expect(kinds).toContain('suspended');
});

test('an unknown outcome is in the inbox with the progress of the tool and what reconcile said', async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ euros: z.number() }),
    effect: 'once',
    timeoutMs: 20,
    execute: async (_, context) => {
      context.progress({ text: 'connected to the bank\n' });
      return new Promise<string>(() => {});
    },
    reconcile: () => {
      throw new Error('the bank is closed');
    },
  });
  const paying: Agents = () =>
    createAgent({
      model: scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }, 'Done.']),
      prompt: definePrompt({ ns: 'test', key: 'pay', instructions: 'Pay.', tools: [pay] }),
    });
  const served = await serve({ agents: paying });
  await served.send('POST', '/sessions/a/inputs', { input: 'Pay.' });
  const inbox = async (): Promise<readonly OutcomeItem[]> =>
    ((await served.json('/inbox')) as unknown as InboxPage).items as readonly OutcomeItem[];
  await until(async () => (await inbox()).length > 0);
  const [item] = await inbox();
  expect(item).toMatchObject({
    ...{ kind: 'outcome', toolName: 'pay', arguments: '{"euros":5}', effect: 'once', attempt: 1 },
    ...{ message: expect.stringContaining('reconcile failed: the bank is closed') },
    progress: { text: 'connected to the bank\n' },
  });
  const settle = await served.send('POST', '/sessions/a/calls/settle', { ...item?.call, result: 'paid' });
  expect(settle.status).toBe(202);
  await until(async () => (await inbox()).length === 0);
});

test('of several unknown outcomes, each is in the inbox with what the reconcile of its own tool said', async () => {
  const hanging = (name: string, reconcile?: () => { happened: 'unknown' }) =>
    defineTool({
      ...{ name, description: name, input: z.object({}), effect: 'once', timeoutMs: 20 },
      execute: () => new Promise<string>(() => {}),
      ...(reconcile && { reconcile }),
    });
  const tools = [
    hanging('pay', () => {
      throw new Error('the bank is closed');
    }),
    hanging('mail'),
    hanging('book', () => ({ happened: 'unknown' })),
  ];
  const calls = tools.map(({ name }) => ({ name, arguments: {} }));
  const agents: Agents = () =>
    createAgent({
      model: scriptedModel([{ toolCalls: calls }, 'Done.']),
      prompt: definePrompt({ ns: 'test', key: 'trip', instructions: 'Travel.', tools }),
    });
  const served = await serve({ agents });
  await served.send('POST', '/sessions/a/inputs', { input: 'Travel.' });
  const inbox = async () => ((await served.json('/inbox')) as unknown as InboxPage).items as readonly OutcomeItem[];
  await until(async () => (await inbox()).length > 0);
  expect((await inbox()).map(({ toolName, reconcile }) => [toolName, reconcile])).toEqual([
    ['pay', { status: 'failed', problem: 'the bank is closed' }],
    ['mail', undefined],
    ['book', { status: 'undecided' }],
  ]);
});
