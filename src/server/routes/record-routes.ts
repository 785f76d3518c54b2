/** Routes about what an agent did and sent: its requests beside the record, other strategies, its time, and two sessions side by side. */

import type { Evaluation } from '../../core/fold/evaluations.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { checkSessionId } from '../../core/log/session-id.ts';
import { alignLogs, ComparedLog, isSameEvent, type LogComparison } from '../../core/views/compare-logs.ts';
import { TimelineBuilder } from '../../core/views/timeline-builder.ts';
import type { RequestRow } from '../../history/inspect/request-rows.ts';
import {
  describeRequests,
  type RequestPoint,
  type RequestTotals,
  requestTotals,
} from '../../history/inspect/request-series.ts';
import { type Strategy, strategyManager } from '../../history/managers/strategy.ts';
import type { AnySession } from '../../session/session.ts';
import { afterLongTurn } from '../http/long-turns.ts';
import { namedEvaluations, type RequestSource, requestSource } from '../http/request-source.ts';
import { type CutText, withShortTexts } from '../http/shortened.ts';
import { invalid, notFound, type Route, route, type ServerContext } from '../route.ts';
import { COUNT, countOf, limitOf, listOf, ok } from './schemas.ts';

/** The requests of a session as a series: `GET /sessions/:id/requests`. */
export interface RequestList {
  readonly requests: readonly RequestPoint[];
  readonly totals: RequestTotals;
  /** How many older requests were left out. */
  readonly omitted: number;
}

/** One request beside the record, a page of it: `GET /sessions/:id/requests/:turn`. */
export interface RequestDetail {
  readonly request: RequestPoint;
  /** The number of rows. */
  readonly total: number;
  readonly from: number;
  /** Long texts are cut: `cut` names each by its path in `rows`. */
  readonly rows: readonly RequestRow[];
  readonly cut: readonly CutText[];
}

/** What other strategies would have sent: `GET /sessions/:id/replay`. */
export interface ReplayComparison {
  readonly actual: RequestList;
  readonly replays: readonly (RequestList & { readonly strategy: string })[];
}

/** Two sessions side by side: `GET /compare`. */
export interface SessionComparison extends LogComparison {
  readonly left: ComparedSession;
  readonly right: ComparedSession;
}

/** One of two sessions that are compared. */
export interface ComparedSession {
  readonly id: string;
  readonly seq: number;
  readonly title?: string;
  readonly forkedFrom?: { readonly sessionId: string; readonly seq: number };
}

const EVALUATION = {
  type: 'string',
  description: 'the id of an evaluation; all of the main conversation unless given',
} as const;
const LIFETIME = countOf('how many milliseconds the provider keeps a cached beginning; 300000');
const MAX_REQUESTS = 500;
const MAX_STRATEGIES = 5;
const DEFAULT_TEXT = 4000;
const OBJECT = { type: 'object' } as const;

/** Routes that explain what happened in a session. */
export const RECORD_ROUTES: readonly Route[] = [
  route('GET /sessions/:id/requests', {
    name: 'getRequests',
    summary: 'The newest requests: tokens, usage, and why each missed the cache',
    query: { evaluation: EVALUATION, lifetimeMs: LIFETIME },
    response: ok('A series, oldest first', { requests: listOf('RequestPoint'), totals: OBJECT, omitted: COUNT }),
    inSession: async (session, { query: { evaluation, lifetimeMs } }, context): Promise<RequestList> =>
      readSeries(await sourceOf(context, session, evaluation), { lifetimeMs }),
  }),
  route('GET /sessions/:id/requests/:turn', {
    name: 'getRequest',
    summary: 'One request as it was sent, beside the record',
    query: {
      evaluation: {
        ...EVALUATION,
        description: 'the id of the evaluation; the newest of the main conversation unless given',
      },
      from: countOf('the first row; 0'),
      limit: limitOf(500, 'the most rows; 100'),
      maxText: countOf(`longer texts are cut; ${DEFAULT_TEXT}`),
      lifetimeMs: LIFETIME,
    },
    response: ok('A page of its rows', {
      ...{ request: OBJECT, total: COUNT, from: COUNT, rows: listOf('RequestRow'), cut: listOf('CutText') },
    }),
    inSession: (session, { query, params }, context) => requestDetail(context, session, params.turn ?? '', query),
  }),
  route('GET /sessions/:id/replay', {
    name: 'replayHistory',
    summary: 'What other history strategies would have sent',
    query: {
      strategy: {
        type: 'json',
        isRepeated: true,
        isRequired: true,
        description: `a Strategy; up to ${MAX_STRATEGIES}`,
      },
      evaluation: EVALUATION,
    },
    response: ok('The series of each strategy beside the actual one', {
      ...{ actual: OBJECT, replays: listOf('RequestList, with the name of its strategy') },
    }),
    inSession: async (session, { query: { strategy, evaluation } }, context): Promise<ReplayComparison> => {
      if (strategy.length > MAX_STRATEGIES) throw invalid(`give at most ${MAX_STRATEGIES} strategies`);
      const managers = (strategy as readonly Strategy[]).map(strategyManager);
      const source = await sourceOf(context, session, evaluation);
      const replays: (RequestList & { readonly strategy: string })[] = [];
      for (const instead of managers) {
        replays.push({ strategy: instead.name, ...(await readSeries(source, { instead })) });
      }
      return { actual: await readSeries(source, {}), replays };
    },
  }),
  route('GET /sessions/:id/timeline', {
    name: 'getTimeline',
    summary: 'Model calls, tools, waits and crashes of a session',
    query: { evaluation: { ...EVALUATION, description: 'only this evaluation and its children' } },
    response: ok('The timeline', { evaluations: listOf('TimelineEvaluation'), omitted: COUNT }),
    inSession: async (session, { query: { evaluation } }) => {
      const only = evaluation === undefined ? undefined : descendantsOf(session, evaluation);
      const builder = new TimelineBuilder(only && { only });
      for await (const event of session.events()) builder.push(event);
      return builder.timeline();
    },
  }),
  route('GET /compare', {
    name: 'compareSessions',
    summary: 'Two sessions side by side: their shared beginning, then their messages aligned',
    query: {
      left: { type: 'string', isRequired: true, description: 'the id of a session' },
      right: { type: 'string', isRequired: true, description: 'the id of another' },
    },
    response: ok('The comparison', {
      ...{ left: OBJECT, right: OBJECT, sharedSeq: COUNT, rows: listOf('ComparedRow'), omitted: OBJECT },
    }),
    errors: [404],
    handle: ({ pool }, { query: { left, right } }) => {
      for (const id of [left, right]) checkSessionId(id);
      return pool.use(left, {}, (one) => pool.use(right, {}, (other) => compareSessions(one, other)));
    },
  }),
];

function sourceOf(context: ServerContext, session: AnySession, evaluation: string | undefined): Promise<RequestSource> {
  return requestSource(context, session, namedEvaluations(session, evaluation));
}

/** The newest requests of the evaluations, oldest first. One evaluation's messages are in memory at a time. */
async function readSeries(
  { evaluations, log, read }: RequestSource,
  options: { readonly lifetimeMs?: number | undefined; readonly instead?: ReturnType<typeof strategyManager> },
): Promise<RequestList> {
  const counts = evaluations.map(({ id }) => log.requestsOf(id).length);
  const all = counts.reduce((sum, count) => sum + count, 0);
  const requests: RequestPoint[] = [];
  let skipped = Math.max(0, all - MAX_REQUESTS);
  const omitted = skipped;
  for (const [i, evaluation] of evaluations.entries()) {
    const count = counts[i] ?? 0;
    const skip = Math.min(skipped, count);
    skipped -= skip;
    if (count === skip) continue;
    const { continued, ...source } = await read(evaluation);
    const { instead } = options;
    let isCompared = skip > 0; // the one before the first is only compared with
    for (const { point } of describeRequests({
      ...source,
      ...options,
      ...(continued && { continued: { ...continued, instead } }),
      requests: source.requests.slice(Math.max(0, skip - 1)),
    })) {
      if (!isCompared) requests.push(point);
      isCompared = false;
      await afterLongTurn();
    }
  }
  return { requests, totals: requestTotals(requests), omitted };
}

interface DetailQuery {
  readonly evaluation?: string | undefined;
  readonly from?: number | undefined;
  readonly limit?: number | undefined;
  readonly maxText?: number | undefined;
  readonly lifetimeMs?: number | undefined;
}

async function requestDetail(
  context: ServerContext,
  session: AnySession,
  number: string,
  { evaluation, from = 0, limit = 100, maxText = DEFAULT_TEXT, lifetimeMs }: DetailQuery,
): Promise<RequestDetail> {
  const turn = Number(number);
  const named: Evaluation | undefined = namedEvaluations(session, evaluation).at(-1);
  const source = named && (await requestSource(context, session, [named]));
  const options = named && (await source?.read(named));
  const at = options?.requests.findIndex((one) => one.turn === turn) ?? -1;
  if (!options || at < 0) throw notFound(`there is no request ${number.slice(0, 20)} here`);
  const requests = options.requests.slice(Math.max(0, at - 1), at + 1);
  const { point, rows = [] } = [...describeRequests({ ...options, lifetimeMs, requests })].at(-1) ?? {};
  if (point?.turn !== turn) throw notFound(`request ${turn} has no response in the record`);
  const { value, cut } = withShortTexts(rows.slice(from, from + limit), maxText);
  return { request: point, total: rows.length, from, rows: value, cut };
}

/** An evaluation and those that its calls started, to any depth. */
function descendantsOf(session: AnySession, evaluationId: string): ReadonlySet<string> {
  const ids = new Set(namedEvaluations(session, evaluationId).map(({ id }) => id));
  for (const { id, parent } of session.state.record.evaluations)
    if (parent && ids.has(parent.evaluationId)) ids.add(id);
  return ids;
}

/** Reads both logs at the same time, and holds only what follows their shared beginning. */
async function compareSessions(left: AnySession, right: AnySession): Promise<SessionComparison> {
  const logs = { left: new ComparedLog(), right: new ComparedLog() };
  const other = right.events()[Symbol.asyncIterator]();
  let sharedSeq = 0;
  let isShared = true;
  try {
    for await (const event of left.events()) {
      const next: IteratorResult<SessionEvent> | undefined = isShared ? await other.next() : undefined;
      isShared &&= next?.done === false && isSameEvent(event, next.value);
      if (isShared) {
        sharedSeq = event.seq;
        continue;
      }
      logs.left.push(event);
      if (next?.done === false) logs.right.push(next.value);
    }
    for (;;) {
      const next: IteratorResult<SessionEvent> = await other.next();
      if (next.done) break;
      logs.right.push(next.value);
    }
  } finally {
    await other.return?.();
  }
  return {
    left: comparedSession(left),
    right: comparedSession(right),
    ...alignLogs(logs.left, logs.right, sharedSeq),
  };
}

function comparedSession({ id, seq, summary }: AnySession): ComparedSession {
  const { title, forkedFrom } = summary ?? {};
  return { id, seq, ...(title !== undefined && { title }), ...(forkedFrom && { forkedFrom }) };
}
