import { isHoldfastError } from '../../core/errors.ts';
import type { SessionInfo } from '../../ports/store.ts';
import { type InboxItem, inboxItems, mayWait } from '../inbox-items.ts';
import { invalid, type Route, route, type ServerContext } from '../route.ts';
import { CURSOR, limitOf, listOf, ok, TEXT } from './schemas.ts';

/** A page of what waits for people: `GET /inbox`. */
export interface InboxPage {
  readonly items: readonly InboxItem[];
  /** The cursor of the next page. */
  readonly next?: string;
}

const STATUSES = ['suspended', 'failed'] as const;
/** How many sessions are open at a time for one page. */
const MAX_OPEN = 8;

/** Everything that waits for a person, over all sessions. */
export const INBOX_ROUTE: Route = route('GET /inbox', {
  name: 'getInbox',
  summary: 'What waits for a person, over all sessions: approvals, unknown outcomes, limits, providers, failures',
  query: {
    limit: limitOf(200, 'the most sessions of a page; 50'),
    cursor: CURSOR,
    session: { type: 'string', description: 'only what waits in this session' },
  },
  response: ok(
    'One page: suspended sessions, then failed ones, newest activity first',
    { items: listOf('InboxItem'), next: TEXT },
    ['next'],
  ),
  handle: (context, { query }) => inboxPage(context, query),
});

interface InboxQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly session?: string | undefined;
}

/** Opens only sessions whose row says that something may wait. */
async function inboxPage(context: ServerContext, { limit = 50, cursor, session }: InboxQuery): Promise<InboxPage> {
  const waiting: SessionInfo[] = [];
  const [start, position] = cursor === undefined ? ([0, ''] as const) : parseCursor(cursor);
  let next: string | undefined;
  for (let i = start, at = position; i < STATUSES.length && waiting.length < limit; ) {
    const status = STATUSES[i] as (typeof STATUSES)[number];
    const page = await context.store.listSessions({
      ...{ status, limit: limit - waiting.length },
      ...(at !== '' && { cursor: at }),
      ...(session !== undefined && { idPrefix: session }),
    });
    waiting.push(...page.sessions.filter((info) => mayWait(info) && (session === undefined || info.id === session)));
    if (page.next === undefined) i++;
    at = page.next ?? '';
    next = i < STATUSES.length ? `${i}:${at}` : undefined;
  }
  const items: (readonly InboxItem[])[] = [];
  for (let from = 0; from < waiting.length; from += MAX_OPEN) {
    items.push(...(await Promise.all(waiting.slice(from, from + MAX_OPEN).map((info) => itemsOf(context, info)))));
  }
  return { items: items.flat(), ...(next !== undefined && { next }) };
}

/** None for a session that was deleted meanwhile. */
async function itemsOf({ pool }: ServerContext, info: SessionInfo): Promise<readonly InboxItem[]> {
  try {
    return await pool.use(info.id, {}, (session) => inboxItems(session, info));
  } catch (error) {
    if (isHoldfastError(error, 'SESSION_NOT_FOUND')) return [];
    throw error;
  }
}

function parseCursor(cursor: string): readonly [number, string] {
  const [, status = '', position = ''] = /^([01]):(.*)$/s.exec(cursor) ?? [];
  if (status !== '') return [Number(status), position];
  throw invalid('this is not the cursor of a page; pass the `next` of the previous page');
}
