import type { ListedRow, ListQuery } from '../../shell/backend.ts';
import type { Database, Statement } from '../driver.ts';
import { RECENT } from './event-table.ts';
import { type LeaseRow, leaseFromRow } from './lease-table.ts';

/** A session in a list, with the columns of its summary and of its lease: they are null when there is none. */
type ListRow = {
  readonly key: number;
  readonly revision: number;
  readonly id: string;
  readonly seq: number;
  readonly updated_at: string;
  readonly data: string | null;
  readonly folded_seq: number;
  readonly folded_revision: number;
  readonly version: number;
} & (LeaseRow | { readonly lease_holder: null });

type Page = [string | null, string | null, string | null, string | null, number];

const COLUMNS = `sessions.key AS key, sessions.revision AS revision, id, coalesce(recent.seq, sessions.seq) AS seq,
  coalesce(at, updated_at) AS updated_at, data, summaries.seq AS folded_seq, summaries.revision AS folded_revision, version,
  fence, lease_expires_at, lease_deadline, lease_holder, lease_renewals`;
const PAGE = '(? IS NULL OR updated_at < ? OR (updated_at = ? AND id > ?)) ORDER BY updated_at DESC, id LIMIT ?';

/** Lists sessions. Those with recent events are listed with the last of these. */
export class SessionList {
  readonly #database: Database;
  readonly #all: Statement<Page, ListRow>;
  readonly #withWork: Statement<Page, ListRow>;

  constructor(database: Database) {
    this.#database = database;
    const select = (where: string): Statement<Page, ListRow> =>
      database.prepare(
        `WITH recent AS MATERIALIZED ${RECENT}
         SELECT * FROM (SELECT ${COLUMNS} FROM sessions LEFT JOIN summaries USING (key) LEFT JOIN recent USING (key)
           WHERE building_until IS NULL AND ${where})
         WHERE seq > 0 AND ${PAGE}`,
      );
    // No index on updated_at: every append would have to move its entry. The table is small, reading it all is quick.
    this.#all = select('TRUE');
    // Those whose rows say that there is work are few, and have an index of their own. A summary that is behind may lack work.
    this.#withWork = select(
      `sessions.key IN (SELECT key FROM summaries INDEXED BY summaries_with_work WHERE has_work = 1
         UNION SELECT recent.key FROM recent LEFT JOIN summaries s USING (key) WHERE s.seq IS NULL OR s.seq < recent.seq)`,
    );
  }

  read({ after, limit, filter }: ListQuery): readonly ListedRow<number>[] {
    const { updatedAt = null, id = null } = after ?? {};
    const list = filter.work ? this.#withWork : this.#all;
    // One snapshot: events that get their places meanwhile are counted once.
    const rows = this.#database.transaction('DEFERRED', () => list.all(updatedAt, updatedAt, updatedAt, id, limit));
    return rows.map((row) => {
      const { key, revision, data, folded_seq, folded_revision, version } = row;
      const summary = data === null ? undefined : { seq: folded_seq, revision: folded_revision, version, data };
      const listed = { key, id: row.id, seq: row.seq, revision, updatedAt: row.updated_at, summary };
      return row.lease_holder === null ? listed : { ...listed, lease: leaseFromRow(row) };
    });
  }
}
