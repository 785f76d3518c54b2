import type { ListedRow, ListQuery, StoredSummary } from '../../shell/backend.ts';
import { DEFAULT_PAGE } from '../../shell/listing.ts';
import type { PostgresDatabase } from '../connection/database.ts';
import { LEASE_COLUMNS, type LeaseRow, leaseFromRow } from './lease-rows.ts';

/** The columns of a stored summary. */
export interface SummaryRow {
  readonly summary: string | null;
  readonly summary_seq: number;
  readonly summary_revision: number;
  readonly summary_version: number;
}

/** A session in a list, with the columns of its lease: all of them are null when there is none. */
type ListRow = SummaryRow & {
  readonly key: string;
  readonly id: string;
  readonly seq: number;
  readonly revision: number;
  readonly updated_at: string;
} & (LeaseRow | { readonly lease_holder: null });

/** Options of `sessionsWithWork`. */
export interface WorkOptions {
  /** The number of sessions; 50 by default. */
  readonly limit?: number;
}

export const SUMMARY_COLUMNS = 'summary, summary_seq, summary_revision, summary_version';
const COLUMNS = `key::text AS key, id, seq, revision, updated_at, ${SUMMARY_COLUMNS}, ${LEASE_COLUMNS}`;

/** Lists sessions. */
export class SessionList {
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Sessions that a runner can take now: they have work, and no live lease. `time` replaces the server's clock in tests. */
  async withWork({ limit = DEFAULT_PAGE }: WorkOptions, time: number | null): Promise<readonly ListedRow<string>[]> {
    const now = 'coalesce($2::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)';
    const rows = await this.#database.query<ListRow>(
      {
        name: 'with-work',
        text: `SELECT ${COLUMNS} FROM ${this.#database.table('sessions')}
               WHERE (work IS NOT NULL OR wake_at IS NOT NULL) AND building_until IS NULL
                 AND (lease_holder IS NULL OR lease_expires_at <= ${now})
                 AND (work IS NOT NULL OR wake_at <= to_char(to_timestamp(${now} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
               ORDER BY sessions.key LIMIT $1`,
      },
      [limit, time],
    );
    return rows.map(listedRow);
  }

  async read({ after, limit, filter }: ListQuery): Promise<readonly ListedRow<string>[]> {
    const { status, work, idPrefix, dueBy } = filter;
    const values: unknown[] = [limit];
    const value = (given: unknown): string => `$${values.push(given)}`;
    const where = ['seq > 0', 'building_until IS NULL'];
    if (work) where.push('(work IS NOT NULL OR wake_at IS NOT NULL)');
    if (work && dueBy !== undefined) where.push(`(work IS NOT NULL OR wake_at <= ${value(dueBy)})`);
    if (status !== undefined) where.push(`status = ${value(status)}`);
    if (idPrefix !== undefined) where.push(`starts_with(id, ${value(idPrefix)})`);
    if (after) {
      const at = value(after.updatedAt);
      where.push(`updated_hour <= left(${at}::text, 13)`);
      where.push(`(updated_at < ${at} OR (updated_at = ${at} AND id > ${value(after.id)}))`);
    }
    const rows = await this.#database.query<ListRow>(
      {
        text: `SELECT ${COLUMNS} FROM ${this.#database.table('sessions')} WHERE ${where.join(' AND ')}
               ORDER BY updated_hour DESC, updated_at DESC, id LIMIT $1`,
      },
      values,
    );
    return rows.map(listedRow);
  }
}

function listedRow(row: ListRow): ListedRow<string> {
  const { key, id, seq, revision, updated_at: updatedAt } = row;
  const listed = { key, id, seq, revision, updatedAt, summary: summaryOf(row) };
  return row.lease_holder === null ? listed : { ...listed, lease: leaseFromRow(row) };
}

/** The stored summary of a row; undefined when there is none. */
export function summaryOf(row: SummaryRow | undefined): StoredSummary | undefined {
  if (!row || row.summary === null) return undefined;
  const { summary: data, summary_seq: seq, summary_revision: revision, summary_version: version } = row;
  return { seq, revision, version, data };
}
