import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { checkSessionId } from '../../core/log/session-id.ts';
import type { ListSessionsOptions, SearchHit, SessionInfo } from '../../ports/store.ts';
import { listRuns } from '../../worker/list-runs.ts';
import { isLive } from '../../worker/work-search.ts';
import { given, type Route, route } from '../route.ts';
import { totalsOf } from '../session-totals.ts';
import { COUNT, CURSOR, limitOf, listOf, ok, TEXT } from './schemas.ts';

/** A session in `GET /sessions`. */
export interface ListedSession extends SessionInfo {
  /** A process runs it now. */
  readonly isLive: boolean;
}

/** A hit of `GET /search`. */
export interface MarkedHit extends SearchHit {
  /** The excerpt without marks. */
  readonly text: string;
  /** The matched words: where each starts and ends in `text`, in UTF-16 units. */
  readonly marks: readonly (readonly [start: number, end: number])[];
}

const MAX_PAGE = 500;

/** Routes about many sessions. */
export const LISTING_ROUTES: readonly Route[] = [
  route('GET /sessions', {
    name: 'listSessions',
    summary: 'Sessions, newest activity first',
    query: {
      status: {
        type: 'string',
        enum: ['running', 'suspended', 'completed', 'failed', 'superseded'],
        description: 'the status of the newest evaluation',
      },
      work: { type: 'boolean', description: 'true: only sessions in which a runner has work' },
      tag: { type: 'string', isRepeated: true, description: 'only sessions with all of these tags' },
      source: { type: 'string', description: 'only sessions of this agent: own, claude-sdk, codex, opencode' },
      idPrefix: { type: 'string', description: 'only sessions whose id starts with this text' },
      metadata: { type: 'json', description: 'only sessions whose metadata has these values' },
      limit: limitOf(MAX_PAGE, 'the most sessions of a page; 50'),
      cursor: CURSOR,
    },
    response: ok('One page', { sessions: listOf('SessionInfo'), next: TEXT }, ['next']),
    handle: async ({ store, pool }, { query: { tag: tags, work, ...rest } }) => {
      const filter = given({ ...rest, tags, work: work === true ? true : undefined });
      const { sessions, ...page } = await store.listSessions(filter as ListSessionsOptions);
      const now = pool.now();
      return {
        sessions: sessions.map((info): ListedSession => ({ ...info, isLive: isLive(info.lease, now) })),
        ...page,
      };
    },
  }),
  route('GET /totals', {
    name: 'getTotals',
    summary: 'What sessions have cost: responses, tokens and money',
    query: { session: { type: 'string', isRepeated: true, isRequired: true, description: 'the ids of the sessions' } },
    response: ok(
      'By session id: turns and usage. Sessions that do not exist, and very large imported ones, are left out',
      { totals: { type: 'object' } },
    ),
    handle: async ({ pool }, { query }) => {
      const totals: Record<string, unknown> = Object.create(null);
      for (const id of new Set(query.session)) {
        checkSessionId(id);
        const found = await pool.use(id, {}, totalsOf).catch(ignoreMissing);
        if (found) totals[id] = found;
      }
      return { totals };
    },
  }),
  route('GET /search', {
    name: 'search',
    summary: 'Messages that contain words',
    query: {
      q: { type: 'string', isRequired: true, description: 'the words' },
      session: { type: 'string', description: 'only in this session' },
      limit: limitOf(MAX_PAGE, 'the most hits'),
    },
    response: ok('The hits', { hits: listOf('SearchHit') }),
    errors: [501],
    handle: async ({ store }, { query: { q, session: sessionId, limit } }) => {
      if (!store.search) throw new HoldfastError('STORE_UNSUPPORTED', 'this store has no search');
      const hits = await store.search(q, given({ sessionId, limit }));
      return { hits: hits.map(markedHit) };
    },
  }),
  route('GET /workers', {
    name: 'getWorkers',
    summary: 'What all workers of the store do: who runs which session, what waits, and what they gave up on',
    response: ok(
      'The runs of the store, and the worker of this server',
      {
        runs: listOf('sessions with a lease, and its holder'),
        backlog: COUNT,
        sleeping: COUNT,
        suspended: listOf('sessions that workers gave up on, with their error'),
        isComplete: { type: 'boolean' },
        worker: { type: 'object' },
      },
      ['worker'],
    ),
    handle: async ({ store, runners }) => ({
      ...(await listRuns(store)),
      ...(runners && { worker: runners.stats() }),
    }),
  }),
];

function ignoreMissing(error: unknown): undefined {
  if (!isHoldfastError(error, 'SESSION_NOT_FOUND')) throw error;
}

/** A hit with its marks as positions: a page must not search for signs in text of others. */
function markedHit(hit: SearchHit): MarkedHit {
  const marks: [number, number][] = [];
  let text = '';
  for (const [i, piece] of hit.excerpt.split(/[⟦⟧]/).entries()) {
    if (i % 2 === 1) marks.push([text.length, text.length + piece.length]);
    text += piece;
  }
  return { ...hit, text, marks };
}
