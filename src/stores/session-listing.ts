import { canonicalJson } from '../core/canonical-json.ts';
import { HoldfastError } from '../core/errors.ts';
import type { ListSessionsOptions, SessionInfo, SessionPage } from '../ports/store.ts';
import { checkCount } from './check-arguments.ts';

/**
 * The rules of listing for every store: which sessions match a filter, their order (newest activity first, equal times by id) and the
 * cursor, which names the last session of a page. A session that is written to between two pages moves to the front; the others are
 * neither skipped nor repeated.
 */

export const DEFAULT_PAGE = 50;

/** The last session of a page. */
export interface ListPosition {
  readonly updatedAt: string;
  readonly id: string;
}

/** Whether a session passes the filter. */
export function matchesFilter(session: SessionInfo, filter: ListSessionsOptions): boolean {
  const { tags = [], status, idPrefix, metadata = {}, work, source } = filter;
  if (work && session.work === undefined && session.wakeAt === undefined) return false;
  if (status !== undefined && session.status !== status) return false;
  if (source !== undefined && (session.source?.architecture ?? 'own') !== source) return false;
  if (idPrefix !== undefined && !session.id.startsWith(idPrefix)) return false;
  if (!tags.every((tag) => session.tags.includes(tag))) return false;
  return Object.entries(metadata).every(
    ([key, value]) =>
      Object.hasOwn(session.metadata, key) && canonicalJson(session.metadata[key]) === canonicalJson(value),
  );
}

/** Newest activity first; equal times by id. */
export function compareSessions(a: ListPosition, b: ListPosition): number {
  if (a.updatedAt !== b.updatedAt) return a.updatedAt > b.updatedAt ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/** Rejects an invalid limit or cursor. */
export function checkListing(options: ListSessionsOptions): ListPosition | undefined {
  if (options.limit !== undefined) checkCount('limit', options.limit, 1);
  return options.cursor === undefined ? undefined : decodeCursor(options.cursor);
}

/** One page of all sessions of a store that has them in memory. */
export function listPage(sessions: readonly SessionInfo[], options: ListSessionsOptions): SessionPage {
  const { limit = DEFAULT_PAGE } = options;
  const position = checkListing(options);
  const matching = sessions
    .filter((info) => matchesFilter(info, options))
    .filter((info) => position === undefined || compareSessions(position, info) < 0)
    .sort(compareSessions);
  const page = matching.slice(0, limit);
  const last = page.at(-1);
  return { sessions: page, ...(last && matching.length > limit && { next: encodeCursor(last) }) };
}

/** The cursor of the page that follows this place in a listing. */
export function encodeCursor({ updatedAt, id }: ListPosition): string {
  return encodeURIComponent(JSON.stringify([updatedAt, id]));
}

function decodeCursor(cursor: string): ListPosition {
  try {
    const [updatedAt, id, ...rest] = JSON.parse(decodeURIComponent(cursor)) as readonly unknown[];
    if (typeof updatedAt === 'string' && typeof id === 'string' && rest.length === 0) return { updatedAt, id };
  } catch {
    // Rejected below.
  }
  throw new HoldfastError('INVALID_ARGUMENT', 'this is not the cursor of a page; pass the `next` of the previous page');
}
