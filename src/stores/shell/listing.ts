import type { ListSessionsOptions, SessionInfo, SessionPage } from '../../ports/store.ts';
import { checkListing, DEFAULT_PAGE, encodeCursor, matchesFilter } from '../session-listing.ts';
import type { ListedRow, SessionKey, StoreBackend, StoredLease } from './backend.ts';
import { type Summaries, usableSummary } from './summaries.ts';

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
