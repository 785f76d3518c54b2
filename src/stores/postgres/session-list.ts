import type { ListSessionsOptions, SessionInfo, SessionPage } from '../../ports/store.ts';
import { checkListing, DEFAULT_PAGE, encodeCursor, type ListPosition, matchesFilter } from '../session-listing.ts';
import type { PostgresDatabase } from './database.ts';
import { LEASE_COLUMNS, type LeaseRow, leaseFromRow } from './lease-rows.ts';
import { parseSummary } from './session-rows.ts';

/** A session in a list, with the columns of its lease: all of them are null when there is none. */
type ListRow = {
  readonly id: string;
  readonly seq: number;
  readonly updated_at: string;
  readonly summary: string | null;
} & (LeaseRow | { readonly lease_holder: null });

/** Options of `sessionsWithWork`. */
export interface WorkOptions {
  /** The number of sessions; 50 by default. */
  readonly limit?: number;
}

const COLUMNS = `id, seq, updated_at, summary, ${LEASE_COLUMNS}`;

/** Lists sessions. */
export class SessionList {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async page(options: ListSessionsOptions): Promise<SessionPage> {
    const { limit = DEFAULT_PAGE } = options;
    let position = checkListing(options);
    const found: SessionInfo[] = [];
    // Each round reads more rows, so that a filter that lets few through does not take a round trip for every few of them.
    for (let rows = limit + 1; ; rows = Math.min(rows * 8, 10_000)) {
      const chunk = await this.#read(options, position, rows);
      for (const row of chunk) {
        const info = infoOf(row);
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

  /** Sessions that a runner can take now: they have work, and no live lease. `time` replaces the server's clock in tests. */
  async withWork({ limit = DEFAULT_PAGE }: WorkOptions, time: number | null): Promise<readonly SessionInfo[]> {
    const now = 'coalesce($2::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)';
    const rows = await this.#database.query<ListRow>(
      {
        name: 'with-work',
        text: `SELECT ${COLUMNS} FROM ${this.#database.table('sessions')}
               WHERE (work IS NOT NULL OR wake_at IS NOT NULL) AND building_until IS NULL
                 AND (lease_holder IS NULL OR lease_expires_at <= ${now})
                 AND (work IS NOT NULL OR wake_at <= to_char(to_timestamp(${now} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
               ORDER BY key LIMIT $1`,
      },
      [limit, time],
    );
    return rows.map(infoOf);
  }

  #read(options: ListSessionsOptions, position: ListPosition | undefined, limit: number): Promise<readonly ListRow[]> {
    const { status, work, idPrefix, dueBy } = options;
    const values: unknown[] = [limit];
    const value = (given: unknown): string => `$${values.push(given)}`;
    const where = ['seq > 0', 'building_until IS NULL'];
    if (work) where.push('(work IS NOT NULL OR wake_at IS NOT NULL)');
    if (work && dueBy !== undefined) where.push(`(work IS NOT NULL OR wake_at <= ${value(dueBy)})`);
    if (status !== undefined) where.push(`status = ${value(status)}`);
    if (idPrefix !== undefined) where.push(`starts_with(id, ${value(idPrefix)})`);
    if (position) {
      const at = value(position.updatedAt);
      where.push(`updated_hour <= left(${at}::text, 13)`);
      where.push(`(updated_at < ${at} OR (updated_at = ${at} AND id > ${value(position.id)}))`);
    }
    return this.#database.query<ListRow>(
      {
        text: `SELECT ${COLUMNS} FROM ${this.#database.table('sessions')} WHERE ${where.join(' AND ')}
               ORDER BY updated_hour DESC, updated_at DESC, id LIMIT $1`,
      },
      values,
    );
  }
}

function infoOf(row: ListRow): SessionInfo {
  const { id, seq, updated_at: updatedAt } = row;
  // A summary that cannot be read is reported by `check`; its session is listed all the same.
  const summary = parseSummary(row.summary) ?? { tags: [], metadata: {}, createdAt: updatedAt };
  const info: SessionInfo = { ...summary, id, seq, updatedAt };
  return row.lease_holder === null ? info : { ...info, lease: leaseFromRow(row) };
}
