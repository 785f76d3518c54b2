import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { ListSessionsOptions, SessionInfo, SessionPage } from '../../ports/store.ts';
import { checkCount } from '../check-arguments.ts';
import type { ListedRow, ListPosition, SessionKey, StoreBackend, StoredLease } from './backend.ts';
import { type Summaries, usableSummary } from './summaries.ts';

/**
 * The rules of listing for every store: which sessions match a filter, their order (newest activity first, equal times by id) and the
 * cursor, which names the last session of a page. A session that is written to between two pages moves to the front; the others are
 * neither skipped nor repeated.
 */

export const DEFAULT_PAGE = 50;

/** Whether a session passes the filter. */
export function matchesFilter(session: SessionInfo, filter: ListSessionsOptions): boolean {
  const { tags = [], status, idPrefix, metadata = {}, work, dueBy, source } = filter;
  if (work && session.work === undefined && !isAwakeBy(session.wakeAt, dueBy)) return false;
  if (status !== undefined && session.status !== status) return false;
  if (source !== undefined && (session.source?.architecture ?? 'own') !== source) return false;
  if (idPrefix !== undefined && !session.id.startsWith(idPrefix)) return false;
  if (!tags.every((tag) => session.tags.includes(tag))) return false;
  return Object.entries(metadata).every(
    ([key, value]) =>
      Object.hasOwn(session.metadata, key) && canonicalJson(session.metadata[key]) === canonicalJson(value),
  );
}

function isAwakeBy(wakeAt: string | undefined, dueBy: string | undefined): boolean {
  return wakeAt !== undefined && (dueBy === undefined || Date.parse(wakeAt) <= Date.parse(dueBy));
}

/** Newest activity first; equal times by id. */
export function compareSessions(a: ListPosition, b: ListPosition): number {
  if (a.updatedAt !== b.updatedAt) return a.updatedAt > b.updatedAt ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

const KNOWN: KnownOptions<ListSessionsOptions> = {
  tags: true,
  status: true,
  work: true,
  dueBy: true,
  idPrefix: true,
  source: true,
  metadata: true,
  limit: true,
  cursor: true,
};
const STATUSES: readonly unknown[] = ['running', 'suspended', 'completed', 'failed', 'superseded'];

/** Rejects a filter that does not exist, an invalid limit or cursor: a misspelt filter would list every session. */
export function checkListing(options: ListSessionsOptions): ListPosition | undefined {
  refuseUnknownOptions('listSessions', options, KNOWN);
  const { status } = options;
  if (status !== undefined && !STATUSES.includes(status)) {
    throw new HoldfastError('INVALID_ARGUMENT', `status is one of ${STATUSES.join(', ')}, not ${String(status)}`);
  }
  if (options.limit !== undefined) checkCount('limit', options.limit, 1);
  return options.cursor === undefined ? undefined : decodeCursor(options.cursor);
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

/** Reads no more than so many rows of a backend at once. */
const MAX_ROWS = 10_000;

/** Lists sessions: filters rows by their stored summaries, and folds what those lack. */
export class Listing<Key extends SessionKey> {
  readonly #backend: StoreBackend<Key>;
  readonly #summaries: Summaries<Key>;
  readonly #shownLease: (sessionId: string, lease: StoredLease) => SessionInfo['lease'];

  constructor(
    backend: StoreBackend<Key>,
    summaries: Summaries<Key>,
    shownLease: (sessionId: string, lease: StoredLease) => SessionInfo['lease'],
  ) {
    this.#backend = backend;
    this.#summaries = summaries;
    this.#shownLease = shownLease;
  }

  async page(options: ListSessionsOptions): Promise<SessionPage> {
    const { limit = DEFAULT_PAGE } = options;
    let after = checkListing(options);
    const found: SessionInfo[] = [];
    // Each round looks at more rows, so that a filter that lets few through does not read the table for every few of them.
    for (let rows = limit + 1; ; rows = Math.min(rows * 8, Math.max(MAX_ROWS, rows))) {
      const chunk = await this.#backend.list({ after, limit: rows, filter: options });
      let candidates = isFiltered(options) ? chunk.filter((row) => this.#mayMatch(row, options)) : chunk;
      while (candidates.length > 0) {
        const next = candidates.slice(0, limit + 1 - found.length);
        candidates = candidates.slice(next.length);
        for (const info of await this.infos(next)) if (matchesFilter(info, options)) found.push(info);
        const last = found.length > limit ? found[limit - 1] : undefined;
        if (last) return { sessions: found.slice(0, limit), next: encodeCursor(last) };
      }
      const last = chunk.at(-1);
      if (!last || chunk.length < rows) return { sessions: found };
      after = { updatedAt: last.updatedAt, id: last.id };
    }
  }

  /** Rows as callers see them. */
  infos(rows: readonly ListedRow<Key>[]): Promise<readonly SessionInfo[]> {
    return Promise.all(rows.map((row) => this.#info(row)));
  }

  /** A row whose summary is behind the log may have work. */
  #mayMatch(row: ListedRow<Key>, options: ListSessionsOptions): boolean {
    const stored = usableSummary(row, row.summary);
    if (!stored?.summary) return true;
    const { id, seq, updatedAt } = row;
    const { work, dueBy, ...filter } = options;
    return matchesFilter({ ...stored.summary, id, seq, updatedAt }, stored.seq < seq ? filter : options);
  }

  async #info(row: ListedRow<Key>): Promise<SessionInfo> {
    const { id, seq, updatedAt, lease } = row;
    const { summary } = await this.#summaries.current(id, row, row);
    // A copy: the caller may change what it gets. A session none of whose events can be read is listed all the same.
    const shown = summary ? structuredClone(summary) : { tags: [], metadata: {}, createdAt: updatedAt };
    const info: SessionInfo = { ...shown, id, seq, updatedAt };
    const shownLease = lease && this.#shownLease(id, lease);
    return shownLease ? { ...info, lease: shownLease } : info;
  }
}

function isFiltered({ limit, cursor, ...filter }: ListSessionsOptions): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}
