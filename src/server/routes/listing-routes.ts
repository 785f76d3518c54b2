import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { checkSessionId } from '../../core/log/session-id.ts';
import type { ListSessionsOptions, SearchHit, SearchOptions, SessionInfo } from '../../ports/store.ts';
import { isDead } from '../../session/process-identity.ts';
import { given, type Route } from '../route.ts';
import { totalsOf } from '../session-totals.ts';
import { listOf, resultOf, TEXT } from './schemas.ts';

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
  {
    method: 'GET',
    path: '/sessions',
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
      limit: { type: 'integer', minimum: 1, maximum: MAX_PAGE, description: 'the most sessions of a page; 50' },
      cursor: { type: 'string', description: 'next of the previous page' },
    },
    response: {
      status: 200,
      description: 'One page',
      schema: resultOf({ sessions: listOf('SessionInfo'), next: TEXT }, ['next']),
    },
    handle: async ({ store, pool }, { query }) => {
      const { tag: tags, work, ...rest } = query;
      const filter = given({ ...rest, tags, work: work === true ? true : undefined });
      const { sessions, ...page } = await store.listSessions(filter as ListSessionsOptions);
      const now = pool.now();
      return { sessions: sessions.map((info): ListedSession => ({ ...info, isLive: isLive(info, now) })), ...page };
    },
  },
  {
    method: 'GET',
    path: '/totals',
    name: 'getTotals',
    summary: 'What sessions have cost: responses, tokens and money',
    query: { session: { type: 'string', isRepeated: true, isRequired: true, description: 'the ids of the sessions' } },
    response: {
      status: 200,
      description:
        'By session id: turns and usage. Sessions that do not exist, and very large imported ones, are left out',
      schema: resultOf({ totals: { type: 'object' } }),
    },
    handle: async ({ pool }, { query }) => {
      const totals: Record<string, unknown> = Object.create(null);
      for (const id of new Set(query.session as readonly string[])) {
        checkSessionId(id);
        const found = await pool.use(id, {}, totalsOf).catch(ignoreMissing);
        if (found) totals[id] = found;
      }
      return { totals };
    },
  },
  {
    method: 'GET',
    path: '/search',
    name: 'search',
    summary: 'Messages that contain words',
    query: {
      q: { type: 'string', isRequired: true, description: 'the words' },
      session: { type: 'string', description: 'only in this session' },
      limit: { type: 'integer', minimum: 1, maximum: MAX_PAGE, description: 'the most hits' },
    },
    response: { status: 200, description: 'The hits', schema: resultOf({ hits: listOf('SearchHit') }) },
    errors: [501],
    handle: async ({ store }, { query }) => {
      if (!store.search) throw new HoldfastError('STORE_UNSUPPORTED', 'this store has no search');
      const { q, session: sessionId, limit } = query;
      const hits = await store.search(String(q), given({ sessionId, limit }) as SearchOptions);
      return { hits: hits.map(markedHit) };
    },
  },
];

function ignoreMissing(error: unknown): undefined {
  if (!isHoldfastError(error, 'SESSION_NOT_FOUND')) throw error;
}

function isLive({ lease }: SessionInfo, now: number): boolean {
  return lease !== undefined && lease.expiresAt > now && !isDead(lease.holder);
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
