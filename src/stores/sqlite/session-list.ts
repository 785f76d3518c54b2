import type { SessionSummary } from '../../core/summary/session-summary.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ListSessionsOptions, SessionInfo, SessionPage } from '../../ports/store.ts';
import { checkListing, DEFAULT_PAGE, encodeCursor, matchesFilter } from '../session-listing.ts';
import type { Database, Statement } from './driver.ts';
import { RECENT } from './event-table.ts';
import { type LeaseRow, leaseFromRow } from './lease-table.ts';
import { parseSummary, type SummaryTable } from './summary-table.ts';

/** A session in a list, with the columns of its lease: all of them are null when there is none. */
type ListRow = {
  readonly key: number;
  readonly revision: number;
  readonly id: string;
  readonly seq: number;
  /** How many of its events are recent. */
  readonly count: number | null;
  readonly updated_at: string;
  /** Its summary; null when recent events may have changed it. */
  readonly data: string | null;
} & (LeaseRow | { readonly lease_holder: null });

type Page = [string | null, string | null, string | null, string | null, number];

const COLUMNS = `sessions.key AS key, revision, id, coalesce(recent.seq, sessions.seq) AS seq, count,
  coalesce(at, updated_at) AS updated_at, iif(recent.seq IS NULL, data, NULL) AS data,
  fence, lease_expires_at, lease_deadline, lease_holder, lease_renewals`;
const PAGE = '(? IS NULL OR updated_at < ? OR (updated_at = ? AND id > ?)) ORDER BY updated_at DESC, id LIMIT ?';

/** Lists sessions. Those with recent events are listed with what these events say. */
export class SessionList {
  readonly #database: Database;
  readonly #summaries: SummaryTable;
  readonly #clock: Clock;
  readonly #all: Statement<Page, ListRow>;
  readonly #withWork: Statement<Page, ListRow>;

  constructor(database: Database, summaries: SummaryTable, clock: Clock) {
    this.#database = database;
    this.#summaries = summaries;
    this.#clock = clock;
    const select = (where: string): Statement<Page, ListRow> =>
      database.prepare(
        `WITH recent AS MATERIALIZED ${RECENT}
         SELECT * FROM (SELECT ${COLUMNS} FROM sessions LEFT JOIN summaries USING (key) LEFT JOIN recent USING (key)
           WHERE building_until IS NULL AND ${where})
         WHERE seq > 0 AND ${PAGE}`,
      );
    // No index on updated_at: every append would have to move its entry. The table is small, reading it all is quick.
    this.#all = select('TRUE');
    // Those whose rows say that there is work are few, and have an index of their own.
    this.#withWork = select(
      `sessions.key IN (SELECT key FROM summaries INDEXED BY summaries_with_work WHERE has_work = 1
         UNION SELECT key FROM recent)`,
    );
  }

  page(options: ListSessionsOptions): SessionPage {
    const position = checkListing(options);
    // One snapshot: events that get their places meanwhile are counted once.
    return this.#database.transaction('DEFERRED', () => this.#read(options, position));
  }

  #read(options: ListSessionsOptions, start: ReturnType<typeof checkListing>): SessionPage {
    const { limit = DEFAULT_PAGE } = options;
    let position = start;
    const found: SessionInfo[] = [];
    // Each round looks at more rows, so that a filter that lets few through does not scan the table for every few of them.
    for (let rows = limit + 1; ; rows *= 8) {
      const { updatedAt = null, id = null } = position ?? {};
      const list = options.work ? this.#withWork : this.#all;
      const chunk = list.all(updatedAt, updatedAt, updatedAt, id, rows);
      const summaries = this.#recentSummaries(chunk);
      for (const row of chunk) {
        const info = this.#infoOf(row, summaries);
        if (matchesFilter(info, options) && found.push(info) > limit) {
          const last = found[limit - 1] as SessionInfo;
          return { sessions: found.slice(0, limit), next: encodeCursor(last) };
        }
      }
      const last = chunk.at(-1);
      if (!last || chunk.length < rows) return { sessions: found };
      position = { updatedAt: last.updated_at, id: last.id };
    }
  }

  #infoOf(row: ListRow, recent: ReadonlyMap<number, SessionSummary>): SessionInfo {
    const { key, id, seq, updated_at: updatedAt } = row;
    const remembered = recent.get(key);
    const stored = remembered || row.data === null ? undefined : parseSummary(row.data);
    // A copy of what this process remembers: the caller may change what it gets.
    const summary = remembered ? structuredClone(remembered) : (stored ?? this.#foldAgain(row));
    const info = { ...summary, id, seq, updatedAt } as SessionInfo;
    return row.lease_holder === null ? info : { ...info, lease: leaseFromRow(row, this.#clock) };
  }

  /** The summary of a session whose row is unusable, remembered for the next listing. */
  #foldAgain({ key, revision, seq }: ListRow): SessionSummary | undefined {
    const summary = this.#summaries.read({ key, revision, seq });
    if (summary) this.#summaries.remember({ key, revision, seq, summary });
    return summary && structuredClone(summary);
  }

  /** The summaries of those rows whose sessions have recent events. */
  #recentSummaries(rows: readonly ListRow[]): ReadonlyMap<number, SessionSummary> {
    const positions = rows.flatMap(({ key, revision, seq, count, updated_at: at }) =>
      count === null ? [] : [{ key, revision, seq, count, at }],
    );
    const summaries = this.#summaries.readRecent(positions);
    for (const { key, revision, seq } of positions) {
      this.#summaries.remember({ key, revision, seq, summary: summaries.get(key) as SessionSummary });
    }
    return summaries;
  }
}
