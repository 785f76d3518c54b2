/** The routes behind the views of a record: requests, replays, timelines, comparisons, blocks in pages, forks at blocks, the inbox. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ComparedRow } from '../../src/core/views/compare-logs.ts';
import { definePrompt } from '../../src/evaluate.ts';
import { compose, slidingWindow, truncateToolResults } from '../../src/history.ts';
import type { Agents } from '../../src/index.ts';
import {
  createAgent,
  defineTool,
  ModelError,
  memoryStore,
  openSession,
  type SessionEvent,
  scriptedModel,
} from '../../src/index.ts';
import type { Timeline } from '../../src/inspect.ts';
import type { TextPiece } from '../../src/server/http/shortened.ts';
import type { InboxItem } from '../../src/server/inbox-items.ts';
import type { BlockPage } from '../../src/server/routes/block-routes.ts';
import type { InboxPage } from '../../src/server/routes/inbox-route.ts';
import type { MarkedHit } from '../../src/server/routes/listing-routes.ts';
import type {
  ReplayComparison,
  RequestDetail,
  RequestList,
  SessionComparison,
} from '../../src/server/routes/record-routes.ts';
import { codeOf, counting, refunding, type Served, serve, until } from './support.ts';

const LONG = 'a line of output\n'.repeat(60);

const work = defineTool({
  name: 'work',
  description: 'Works',
  input: z.object({ turn: z.number() }),
  effect: 'idempotent',
  execute: () => LONG,
});
const prompt = definePrompt({ ns: 'test', key: 'worker', instructions: 'Work.', tools: [work] });

/** Ten turns with a call each; the history strategy is not one that its name describes whole. */
const worker = {
  model: scriptedModel(({ turn }) =>
    turn > 10 ? 'done' : { text: `turn ${turn}`, toolCalls: [{ name: 'work', arguments: { turn } }] },
  ),
  prompt,
  history: compose(truncateToolResults({ maxLength: 200, suffix: ' …' }), slidingWindow({ size: 6, low: 3 })),
};
const working: Agents = () => createAgent(worker);

async function settled(served: Served, id: string): Promise<void> {
  await until(async () => {
    const { summary, runner } = (await served.json(`/sessions/${id}`)) as {
      summary: { work?: string };
      runner?: object;
    };
    return summary.work === undefined && runner === undefined;
  });
}

async function worked(agents: Agents = working): Promise<Served> {
  const served = await serve({ agents });
  await served.send('POST', '/sessions/a/inputs', { input: 'Work.' });
  await settled(served, 'a');
  return served;
}

async function get<T>(served: Served, path: string): Promise<T> {
  const response = await served.send('GET', path);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

const json = (value: unknown): string => encodeURIComponent(JSON.stringify(value));

test('requests are a series with their tokens and the step that broke the cache, exact by the manager of the agent', async () => {
  const served = await worked();
  const { requests, totals, omitted } = await get<RequestList>(served, '/sessions/a/requests');
  expect(requests).toHaveLength(11);
  expect(omitted).toBe(0);
  expect(new Set(requests.map(({ fidelity }) => fidelity))).toEqual(new Set(['exact']));
  const broken = requests.filter(({ cache }) => cache.cause === 'history');
  expect(broken.length).toBe(totals.breaks);
  expect(new Set(broken.map(({ cache }) => cache.manager))).toEqual(new Set(['sliding-window(6, low 3)']));

  const other = await serve({ store: served.store });
  const alone = await get<RequestList>(other, '/sessions/a/requests');
  expect(new Set(alone.requests.map(({ fidelity }) => fidelity))).not.toContain('exact'); // the name has no suffix
});

test('a request stands beside the record in pages of rows, with long texts cut', async () => {
  const served = await worked();
  const detail = await get<RequestDetail>(served, '/sessions/a/requests/8?limit=500');
  expect(detail.request).toMatchObject({
    turn: 8,
    fates: { dropped: expect.any(Number), shortened: expect.any(Number) },
  });
  expect(detail.rows).toHaveLength(detail.total);
  const shortened = detail.rows.find(({ fate }) => fate === 'shortened');
  expect(shortened?.recordedTokens).toBeGreaterThan(shortened?.sentTokens ?? 0);
  const page = await get<RequestDetail>(served, `/sessions/a/requests/8?from=2&limit=3&maxText=10`);
  expect(page.rows).toHaveLength(3);
  expect(page.cut.length).toBeGreaterThan(0);
  const [first] = page.cut;
  const text = first?.path.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], page.rows);
  expect(text).toHaveLength(10);
  expect(await codeOf(await served.send('GET', '/sessions/a/requests/99'))).toBe('404 CONVERSATION_NOT_FOUND');
  expect(await codeOf(await served.send('GET', '/sessions/a/requests?evaluation=none'))).toBe(
    '404 CONVERSATION_NOT_FOUND',
  );
});

test('another strategy is replayed beside the actual one, and a wrong strategy is refused with the name of its field', async () => {
  const served = await worked();
  const strategy = { steps: [{ manager: 'slidingWindow', size: 2 }] };
  const { actual, replays } = await get<ReplayComparison>(
    served,
    `/sessions/a/replay?strategy=${json(strategy)}&strategy=${json({ steps: [{ manager: 'passthrough' }] })}`,
  );
  expect(replays.map((replay) => replay.strategy)).toEqual(['sliding-window(2)', 'passthrough']);
  expect(replays.every(({ requests }) => requests.length === actual.requests.length)).toBe(true);
  expect(replays[0]?.totals.breaks).toBeGreaterThan(actual.totals.breaks);
  expect(replays[1]?.totals.breaks).toBe(0);
  expect(replays[1]?.totals.tokens).toBeGreaterThan(actual.totals.tokens);
  for (const [bad, field] of [
    [{ steps: [] }, 'steps'],
    [{ steps: [{ manager: 'keepImportant', size: 2 }] }, 'manager'],
    [{ steps: [{ manager: 'slidingWindow', size: -1 }] }, 'size'],
    [{ steps: [{ manager: 'slidingWindow', size: 2, score: 1 }] }, 'score'],
  ] as const) {
    const refused = await served.send('GET', `/sessions/a/replay?strategy=${json(bad)}`);
    expect(refused.status).toBe(400);
    expect(JSON.stringify(await refused.json())).toContain(field);
  }
});

test('a timeline has each model call and each tool of the run', async () => {
  const served = await worked();
  const { evaluations } = await get<Timeline>(served, '/sessions/a/timeline');
  expect(evaluations).toHaveLength(1);
  const spans = evaluations[0]?.spans ?? [];
  expect(spans.filter(({ kind }) => kind === 'model')).toHaveLength(11);
  expect(spans.filter(({ kind }) => kind === 'tool')).toHaveLength(10);
  expect(await get<Timeline>(served, `/sessions/a/timeline?evaluation=${evaluations[0]?.id}`)).toEqual({
    evaluations,
    omitted: 0,
  });
  expect(await codeOf(await served.send('GET', '/sessions/a/timeline?evaluation=x'))).toBe(
    '404 CONVERSATION_NOT_FOUND',
  );
});

test('blocks are read in pages, around a block, and a long text in pieces', async () => {
  const served = await worked();
  const all = await get<BlockPage>(served, '/sessions/a/blocks?limit=500');
  expect(all.from).toBe(0);
  expect(all.blocks).toHaveLength(all.total);
  const newest = await get<BlockPage>(served, '/sessions/a/blocks?limit=4&maxText=20');
  expect(newest.blocks.map(({ id }) => id)).toEqual(all.blocks.slice(-4).map(({ id }) => id));
  const result = newest.blocks.find(({ type }) => type === 'tool_result');
  expect(newest.cut).toContainEqual({ path: [expect.any(Number), 'output'], length: LONG.length });
  const around = await get<BlockPage>(
    served,
    `/sessions/a/blocks?limit=3&around=${encodeURIComponent(result?.id ?? '')}`,
  );
  expect(around.blocks.map(({ id }) => id)).toContain(result?.id);

  let text = '';
  for (let from: number | undefined = 0; from !== undefined; ) {
    const path = `/sessions/a/blocks/${encodeURIComponent(result?.id ?? '')}?path=output&from=${from}&limit=300`;
    const piece: TextPiece = await get(served, path);
    expect(piece.length).toBe(LONG.length);
    text += piece.text;
    from = piece.next;
  }
  expect(text).toBe(LONG);
  const block = `/sessions/a/blocks/${encodeURIComponent(result?.id ?? '')}`;
  expect(await codeOf(await served.send('GET', `${block}?path=nothing`))).toBe('400 INVALID_ARGUMENT');
  expect(await codeOf(await served.send('GET', '/sessions/a/blocks/none?path=output'))).toBe(
    '404 CONVERSATION_NOT_FOUND',
  );
  expect(await codeOf(await served.send('GET', '/sessions/a/blocks?conversation=x'))).toBe(
    '404 CONVERSATION_NOT_FOUND',
  );
  expect(await codeOf(await served.send('GET', '/sessions/a/blocks?around=x'))).toBe('404 CONVERSATION_NOT_FOUND');
  // The page follows the log.
  await served.send('POST', '/sessions/a/inputs', { input: 'More.' });
  await settled(served, 'a');
  expect((await get<BlockPage>(served, '/sessions/a/blocks')).total).toBeGreaterThan(all.total);
});

test('external content and the text of its message are read in pieces, and only through a session that refers to them', async () => {
  const served = await serve({ agents: counting, session: { maxInlineLength: 1000 } });
  const long = 'x'.repeat(5000);
  await served.send('POST', '/sessions/a/inputs', { input: long });
  await settled(served, 'a');
  const log = await openSession({ store: served.store, id: 'a' });
  const events: SessionEvent[] = [];
  for await (const event of log.events()) events.push(event);
  const recorded = events.find((event) => event.type === 'message/recorded' && event.message.role === 'user');
  const { message } = recorded as Extract<SessionEvent, { type: 'message/recorded' }>;
  const [part] = message.content;
  const hash = part && 'data' in part ? part.data : '';
  const piece = await get<TextPiece>(served, `/sessions/a/contents/${encodeURIComponent(hash)}?from=4000&limit=5000`);
  expect(piece).toEqual({ text: 'x'.repeat(1000), from: 4000, length: 5000 });
  const said = await get<TextPiece>(served, `/sessions/a/texts/${encodeURIComponent(message.id)}?limit=10`);
  expect(said).toEqual({ text: 'x'.repeat(10), from: 0, length: 5000, next: 10 });
  await served.send('PATCH', '/sessions/b', { title: 'b' });
  expect(await codeOf(await served.send('GET', `/sessions/b/contents/${encodeURIComponent(hash)}`))).toBe(
    '404 CONTENT_NOT_FOUND',
  );
  expect(await codeOf(await served.send('GET', '/sessions/a/texts/none'))).toBe('404 CONVERSATION_NOT_FOUND');
});

test('a message is edited in a fork before it, for another model, and both sessions are compared', async () => {
  const models: unknown[] = [];
  const agents: Agents = (session) => {
    const model = session.summary?.metadata.model ?? 'one';
    return createAgent({
      model: scriptedModel(({ messages }) => `${model} has read ${messages.length}`, { modelId: String(model) }),
      ...(models.push(model) && {}),
      prompt,
    });
  };
  const served = await serve({ agents });
  for (const input of ['First.', 'Second.', 'Third.']) {
    await served.send('POST', '/sessions/a/inputs', { input });
    await settled(served, 'a');
  }
  const { blocks } = await get<BlockPage>(served, '/sessions/a/blocks');
  const second = blocks.find((block) => block.type === 'user_message' && block.content === 'Second.')?.id ?? '';
  const forked = await served.send('POST', '/sessions/a/fork', {
    ...{ id: 'b', block: second, before: true, input: 'Second, in other words.' },
    ...{ title: 'Edited', metadata: { model: 'two' } },
  });
  expect(forked.status).toBe(201);
  await settled(served, 'b');
  const edited = (await get<BlockPage>(served, '/sessions/b/blocks')).blocks;
  expect(edited.flatMap((block) => ('content' in block && block.type !== 'system' ? [block.content] : []))).toEqual([
    ...['First.', 'one has read 2', 'Second, in other words.', 'two has read 4'],
  ]);

  const compared = await get<SessionComparison>(served, '/compare?left=a&right=b');
  expect(compared.right).toMatchObject({ id: 'b', title: 'Edited', forkedFrom: { sessionId: 'a' } });
  expect(compared.sharedSeq).toBe(compared.right.forkedFrom?.seq);
  const texts = ({ left, right, isSame }: ComparedRow): unknown => [left?.text, right?.text, isSame];
  expect(compared.rows.map(texts)).toEqual([
    ['Second.', 'Second, in other words.', false],
    ['one has read 4', 'two has read 4', false],
    ['Third.', undefined, false],
    ['one has read 6', undefined, false],
  ]);
  expect((await get<SessionComparison>(served, '/compare?left=a&right=a')).rows).toEqual([]);

  const whole = await served.send('POST', '/sessions/a/fork', { id: 'c', block: second });
  expect(whole.status).toBe(201);
  const first = blocks[0]?.id;
  const anew = await served.send('POST', '/sessions/a/fork', { id: 'd', block: first, before: true, input: 'Anew.' });
  expect(anew.status).toBe(201);
  await settled(served, 'd');
  const begun = (await get<BlockPage>(served, '/sessions/d/blocks')).blocks.filter(({ type }) => type !== 'system');
  expect(begun).toMatchObject([{ content: 'Anew.' }, { content: 'one has read 2' }]);
});

test.for([
  [{ block: 'x', at: 1 }, '400 INVALID_ARGUMENT'],
  [{ before: true }, '400 INVALID_ARGUMENT'],
  [{ block: 'none' }, '404 CONVERSATION_NOT_FOUND'],
  [{ at: 9999 }, '400 INVALID_ARGUMENT'],
  [{ id: 'a' }, '409 SESSION_CONFLICT'],
] as const)('a fork with %o is refused', async ([body, code]) => {
  const served = await serve({ agents: counting });
  await served.send('POST', '/sessions/a/inputs', { input: 'Hello' });
  await settled(served, 'a');
  expect(await codeOf(await served.send('POST', '/sessions/a/fork', body))).toBe(code);
});

test.for([
  ['/compare?left=a&right=none', '404 SESSION_NOT_FOUND'],
  ['/compare?left=a', '400 INVALID_ARGUMENT'],
  ['/inbox?cursor=x', '400 INVALID_ARGUMENT'],
  ['/inbox?cursor=0:x', '400 INVALID_ARGUMENT'],
  ['/inbox?limit=0', '400 INVALID_ARGUMENT'],
] as const)('%s is %s', async ([path, code]) => {
  const served = await serve();
  await served.send('PATCH', '/sessions/a', { title: 'a' });
  expect(await codeOf(await served.send('GET', path))).toBe(code);
});

test('the inbox has approvals with their arguments, limits and failed providers, of all sessions and in pages', async () => {
  const limited: Agents = () => createAgent({ ...worker, maxTurns: 2 });
  const failing: Agents = () =>
    createAgent({
      model: scriptedModel(() => {
        throw new ModelError('no such key', { status: 401, retryable: false });
      }),
      prompt,
    });
  const byPrefix: Agents = (session) => {
    const agents = { a: refunding, b: limited, f: failing, o: counting }[session.id.slice(0, 1)];
    return agents?.(session);
  };
  const served = await serve({ agents: byPrefix });
  for (const id of ['a1', 'a2', 'b1', 'f1', 'o1']) {
    await served.send('PATCH', `/sessions/${id}`, { title: `Title of ${id}`, metadata: { cwd: '/project' } });
    await served.send('POST', `/sessions/${id}/inputs`, { input: 'Go.' });
    await settled(served, id);
  }
  const { items } = await get<InboxPage>(served, '/inbox');
  const brief = items.map((item) => `${item.session.id} ${item.kind}`).toSorted();
  expect(brief).toEqual(['a1 approval', 'a2 approval', 'b1 limit', 'f1 provider']);
  expect(items.find(({ session }) => session.id === 'a1')).toMatchObject({
    ...{
      toolName: 'refund',
      arguments: '{"euros":80}',
      isExact: true,
      session: { title: 'Title of a1', project: '/project' },
    },
  });
  expect(items.find(({ kind }) => kind === 'limit')).toMatchObject({
    ...{ reason: 'TURN_LIMIT', turns: 2, message: expect.stringContaining('2 turns') },
    limit: { name: 'maxTurns', max: 2, used: 2 },
  });

  expect(items.find(({ kind }) => kind === 'provider')).toMatchObject({ provider: 'scripted', status: 401 });

  const paged: InboxItem[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: InboxPage = await get(served, `/inbox?limit=1${query}`);
    paged.push(...page.items);
    cursor = page.next;
  }
  expect(paged.map(({ session }) => session.id).toSorted()).toEqual(['a1', 'a2', 'b1', 'f1']);

  const approval = items.find(({ kind }) => kind === 'approval') as Extract<InboxItem, { kind: 'approval' }>;
  await served.send('POST', `/sessions/${approval.session.id}/calls/approve`, { ...approval.call, by: 'ada' });
  await settled(served, approval.session.id);
  expect((await get<InboxPage>(served, '/inbox')).items).toHaveLength(3);
});

test('an evaluation that reached a limit before limits were recorded is in the inbox without one', async () => {
  const store = memoryStore();
  const of = { at: '2026-01-01T00:00:00.000Z', evaluationId: 'e1' };
  const place = { conversationId: 'main', promptNs: 'test', promptKey: 'worker', promptHash: '', inputHash: '' };
  const waits = { reason: 'BUDGET_EXCEEDED', message: '80 of 30 tokens are used up', pending: [] } as const;
  await store.append(
    'old',
    [
      { type: 'evaluation/started', ...of, ...place },
      { type: 'evaluation/suspended', ...of, ...waits },
    ],
    { id: 'a', expectedSeq: 0 },
  );
  const { items } = await get<InboxPage>(await serve({ store }), '/inbox');
  expect(items).toMatchObject([{ kind: 'limit', reason: 'BUDGET_EXCEEDED', turns: 0 }]);
  expect(items[0]).not.toHaveProperty('limit');
});

test('hits have the positions of the matched words, also in text that contains the signs of marks', async () => {
  const served = await serve({ agents: counting });
  await served.send('POST', '/sessions/a/inputs', { input: 'signs ⟦not a mark⟧ around the needle, and a needle' });
  await settled(served, 'a');
  const { hits } = await get<{ hits: MarkedHit[] }>(served, '/search?q=needle');
  const [hit] = hits;
  expect(hit?.text).toBe('signs [not a mark] around the needle, and a needle');
  expect(hit?.marks.map(([from, to]) => hit.text.slice(from, to))).toEqual(['needle', 'needle']);
});

test('a listed session has its turns and usage, its source, and whether a process runs it', async () => {
  const served = await serve({ agents: counting });
  await served.send('POST', '/sessions/a/inputs', { input: 'Hello' });
  await settled(served, 'a');
  expect(await served.json('/sessions?source=own')).toMatchObject({
    sessions: [{ id: 'a', turns: 1, usage: { inputTokens: expect.any(Number) }, isLive: false }],
  });
  expect(await served.json('/sessions?source=codex')).toEqual({ sessions: [] });
  const store = memoryStore();
  const session = await openSession({ store, id: 'live' });
  await session.describe({ title: 'live' });
  const holder = { id: 'h', host: 'other', pid: 1, startedAt: '' };
  await store.acquireLease('live', { holder, ttlMs: 60_000 });
  expect(await (await serve({ store })).json('/sessions')).toMatchObject({ sessions: [{ isLive: true }] });
});
