/** Requests that are built again from a log: beside the record, and compared with the request before. */
import { describe, expect, test } from 'vitest';
import type { History } from '../../src/history/history-manager.ts';
import { rebuildRequests } from '../../src/history/inspect/rebuild-requests.ts';
import { type RequestRow, requestRows } from '../../src/history/inspect/request-rows.ts';
import {
  describeRequests,
  type RequestPoint,
  type RequestSeriesOptions,
  requestSeries,
  requestTotals,
} from '../../src/history/inspect/request-series.ts';
import { clearToolResults } from '../../src/history/managers/clear-tool-results.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { summarize } from '../../src/history/managers/summarize.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { countTokens } from '../../src/history/token-counts.ts';
import { type AnySession, type ModelRequest, memoryStore, type ScriptedTurn, scriptedModel } from '../../src/index.ts';
import { namedEvaluations, requestSource } from '../../src/server/http/request-source.ts';
import { fakeClock } from '../../src/testing.ts';
import { type Agent, type AgentOptions, agent, call, tool } from '../loop/agent.ts';

const TURNS = 12;
const LONG = 'a line of output that is long enough to be cut\n'.repeat(8);

function script({ turn, prompt }: ModelRequest): ScriptedTurn {
  if (prompt.ns === 'holdfast') return 'what happened so far';
  if (turn > TURNS) return 'done';
  return { text: `turn ${turn}`, toolCalls: [call('work', { turn })] };
}
const tools = [tool('work', () => LONG)];

const noAgents = { agents: undefined, report: () => {} };

async function sourceOf(
  session: AnySession,
  evaluationId = session.latestEvaluation()?.id,
): Promise<RequestSeriesOptions> {
  const [evaluation] = namedEvaluations(session, evaluationId);
  if (!evaluation) throw new Error('there is no evaluation');
  return (await requestSource(noAgents, session, [evaluation])).read(evaluation);
}

async function seriesOf(
  session: AnySession,
  options: { readonly history?: History; readonly lifetimeMs?: number; readonly evaluationId?: string } = {},
): Promise<{ readonly points: readonly RequestPoint[]; readonly rows: readonly (readonly RequestRow[])[] }> {
  const source = await sourceOf(session, options.evaluationId);
  const { history = source.history, lifetimeMs } = options;
  const described = [...describeRequests({ ...source, history, lifetimeMs })];
  return { points: described.map(({ point }) => point), rows: described.map(({ rows }) => rows ?? []) };
}

const managers: readonly { readonly name: string; readonly make: () => History; readonly byName: boolean }[] = [
  { name: 'no manager', make: () => passthrough(), byName: true },
  { name: 'a window', make: () => slidingWindow({ size: 4 }), byName: true },
  { name: 'a folding window', make: () => slidingWindow({ size: 6, low: 2 }), byName: true },
  { name: 'truncated results', make: () => truncateToolResults({ maxLength: 100 }), byName: true },
  {
    name: 'truncated results with another suffix',
    make: () => truncateToolResults({ maxLength: 100, suffix: ' (and a lot more that was cut)' }),
    byName: false,
  },
  { name: 'cleared results', make: () => clearToolResults({ size: 5, low: 2 }), byName: true },
  { name: 'a token budget', make: () => tokenBudget({ max: 700 }), byName: true },
  { name: 'a summary', make: () => summarize({ size: 5, low: 2 }), byName: true },
  {
    name: 'a composition',
    make: () =>
      compose(truncateToolResults({ maxLength: 150 }), summarize({ size: 6, low: 3 }), tokenBudget({ max: 900 })),
    byName: true,
  },
  { name: 'a function', make: () => (messages) => messages.slice(-7), byName: false },
];

describe.for(managers)('requests that were sent with $name', ({ make, byName }) => {
  test('are built again exactly, from the manager or from its recorded name (D35)', async () => {
    const one = await agent({ script, tools });
    await one.evaluate({ history: make() });
    const sent = one.requests.filter(({ prompt }) => prompt.ns !== 'holdfast').map(({ messages }) => messages);
    const source = await sourceOf(one.session);

    const withManager = [...rebuildRequests({ ...source, history: make() })];
    expect(withManager.map(({ fidelity }) => fidelity)).toEqual(sent.map(() => 'exact'));
    expect(withManager.map(({ request }) => request?.messages)).toEqual(sent);

    const fromName = [...rebuildRequests(source)];
    const isExact = fromName.every(({ fidelity }) => fidelity === 'exact' || fidelity === 'matching');
    expect(isExact).toBe(byName);
    if (isExact) expect(fromName.map(({ request }) => request?.messages)).toEqual(sent);
  });

  test('have rows that add up to the record and to the request', async () => {
    const one = await agent({ script, tools });
    await one.evaluate({ history: make() });
    const { points, rows } = await seriesOf(one.session, { history: make() });
    const source = await sourceOf(one.session);
    for (const [i, { conversation, request }] of [...rebuildRequests({ ...source, history: make() })].entries()) {
      const shown = rows[i] as readonly RequestRow[];
      expect(shown.flatMap(({ recorded }) => recorded ?? [])).toEqual(conversation);
      const isSent = ({ fate }: RequestRow): boolean => fate !== 'dropped' && fate !== 'summarised';
      expect(shown.filter(isSent).map(({ sent, recorded }) => sent ?? recorded)).toEqual(request?.messages);
      const tokens = request?.messages.reduce((sum, message) => sum + countTokens(message), 0);
      expect(points[i]?.tokens?.total).toBe(tokens);
      expect(points[i]?.estimatedTokens).toBe(tokens);
    }
  });
});

describe('rows of a request', () => {
  test('name what was dropped, summarised, shortened and added', async () => {
    const one = await agent({ script, tools });
    const history = compose(truncateToolResults({ maxLength: 100 }), summarize({ size: 5, low: 2 }));
    await one.evaluate({ history });
    const { points } = await seriesOf(one.session);
    expect(points.at(-1)?.fates).toMatchObject({
      added: 1,
      summarised: expect.any(Number),
      shortened: expect.any(Number),
    });
    expect(points.at(-1)?.fates?.dropped).toBeUndefined();
    const window = await agent({ script, tools });
    await window.evaluate({ history: slidingWindow({ size: 4 }) });
    const { points: windowed } = await seriesOf(window.session);
    expect(windowed.at(-1)?.fates).toEqual({ whole: 10, dropped: 16 });
    expect(windowed.at(-1)?.tokens?.leftOut).toBeGreaterThan(0);
  });

  test('of a call without a result have the placeholder as repaired', () => {
    const base = { evaluationId: 'e', conversationId: 'main', promptNs: 'n', promptKey: 'k', createdAt: '', turn: 1 };
    const asked = {
      ...{ ...base, id: 'a', sequence: 0, role: 'assistant' as const, content: [] },
      toolCalls: [{ callId: 'c', name: 'work', arguments: '{}' }],
    };
    const [request] = rebuildRequests({
      messages: [asked, { ...base, id: 'b', sequence: 1, role: 'assistant', content: [{ type: 'text', text: 'ok' }] }],
      requests: [{ evaluationId: 'e', turn: 2, messageId: 'b', seq: 9, at: '', after: '', refused: [] }],
      log: { summaryBefore: () => () => undefined, wasErasedAfter: () => false },
    });
    const rows = requestRows(request?.conversation ?? [], request?.request?.messages ?? []);
    expect(rows.map(({ role, fate }) => `${role} ${fate}`)).toEqual(['assistant whole', 'tool repaired']);
  });
});

describe('a missed cache', () => {
  const causes = ({ points }: { readonly points: readonly RequestPoint[] }): readonly string[] =>
    points.map(({ cache }) => cache.cause);

  test('is attributed to the manager that changed the beginning, of a composition to its step', async () => {
    const one = await agent({ script, tools });
    await one.evaluate({
      history: compose(truncateToolResults({ maxLength: 100 }), slidingWindow({ size: 6, low: 3 })),
    });
    const { points } = await seriesOf(one.session);
    const broken = points.filter(({ cache }) => cache.cause === 'history');
    expect(broken.length).toBeGreaterThan(1);
    for (const { cache } of broken) {
      expect(cache.manager).toBe('sliding-window(6, low 3)');
      expect(cache.comparison?.difference).toMatchObject({ region: 'message', change: 'removed', index: 2 });
      expect(cache.comparison?.stability).toBeLessThan(0.5);
    }
    const two = await agent({ script, tools });
    await two.evaluate({ history: compose(clearToolResults({ size: 4, low: 2 }), slidingWindow({ size: 50 })) });
    const cleared = (await seriesOf(two.session)).points.filter(({ cache }) => cache.cause === 'history');
    expect(new Set(cleared.map(({ cache }) => cache.manager))).toEqual(new Set(['clear-tool-results(4, low 2)']));
    expect(cleared[0]?.cache.comparison?.difference).toMatchObject({
      ...{ change: 'altered', before: { role: 'tool' }, now: { excerpt: '[old result cleared]' } },
    });
  });

  test('without a manager there is none: every request starts with the one before', async () => {
    const one = await agent({ script, tools });
    await one.evaluate();
    const series = await seriesOf(one.session);
    expect(causes(series)).toEqual(['first', ...Array.from({ length: TURNS }, () => 'unreported')]);
    expect(series.points.slice(1).every(({ cache }) => cache.comparison?.stability === 1)).toBe(true);
  });

  test('is idle after the lifetime of the cache, the provider before it, and short for a short request', async () => {
    const clock = fakeClock();
    const usage = { inputTokens: 2000, outputTokens: 10, cachedInputTokens: 0 };
    const hit = { ...usage, cachedInputTokens: 1500 };
    const used = [usage, hit, usage, usage];
    const one = await agent({
      clock,
      instructions: LONG.repeat(30),
      script: ({ messages }) => ({
        text: 'ok',
        usage: used[messages.filter(({ role }) => role === 'user').length - 1] ?? usage,
      }),
    });
    const ids: string[] = [];
    for (const minutes of [0, 1, 6, 2]) {
      await clock.advance(minutes * 60_000);
      ids.push((await one.evaluate({ input: `after ${minutes}`, continues: true })).evaluationId);
    }
    const each = await Promise.all(ids.map((evaluationId) => seriesOf(one.session, { evaluationId })));
    expect(each.flatMap(causes)).toEqual(['first', 'hit', 'idle', 'provider']);
    const short = await agent({ script: () => ({ text: 'ok', usage }) });
    for (const input of ['one', 'two']) await short.evaluate({ input, continues: true });
    expect(causes(await seriesOf(short.session))).toEqual(['short']);
  });

  test('names other instructions, other tools and another model', async () => {
    const store = memoryStore();
    const on = (options: Partial<AgentOptions>): Promise<Agent> =>
      agent({ script: () => 'ok', store, id: 'chat', ...options });
    const first = await on({});
    await first.evaluate({ input: 'one', continues: true });
    const changed = await on({ instructions: 'Be someone else.' });
    await changed.evaluate({ input: 'two', continues: true });
    const instructed = await seriesOf(changed.session);
    expect(instructed.points[0]?.cache).toMatchObject({ cause: 'instructions', comparison: { sharedTokens: 0 } });
    const equipped = await on({ instructions: 'Be someone else.', tools });
    await equipped.evaluate({ input: 'three', continues: true });
    expect(causes(await seriesOf(equipped.session))).toEqual(['tools']);
    const other = scriptedModel(() => 'ok', { modelId: 'another' });
    const moved = await on({ instructions: 'Be someone else.', tools, script: other });
    await moved.evaluate({ input: 'four', continues: true });
    expect((await seriesOf(moved.session)).points[0]?.cache).toMatchObject({
      cause: 'model',
      comparison: { stability: 0 },
    });
  });
});

describe('another strategy over the recorded conversation', () => {
  test('makes the requests that a run with it would have sent', async () => {
    const actual = await agent({ script, tools });
    await actual.evaluate({ history: slidingWindow({ size: 4 }) });
    const instead = compose(truncateToolResults({ maxLength: 100 }), slidingWindow({ size: 8, low: 4 }));
    const other = await agent({ script, tools });
    await other.evaluate({ history: instead });
    const source = await sourceOf(actual.session);
    const points = requestSeries({ ...source, instead });
    const run = (await seriesOf(other.session)).points;
    const figures = (series: readonly RequestPoint[]): readonly unknown[] =>
      series.map(({ curatedCount, estimatedTokens, fates, cache }) => [
        ...[curatedCount, estimatedTokens, fates, cache.manager],
        cache.comparison?.stability,
      ]);
    expect(figures(points)).toEqual(figures(run));
    expect(new Set(points.map(({ fidelity }) => fidelity))).toEqual(new Set(['counterfactual']));
    expect(requestTotals(points)).toEqual(requestTotals(run));
    expect(requestTotals(points).breaks).toBeLessThan(requestTotals(requestSeries(source)).breaks);
  });
});
