import { randomUUID } from 'node:crypto';
import type { PostgresDatabase, Sql, Statement } from '../connection/database.ts';
import type { SessionRows } from './session-rows.ts';

/** The most events that one transaction of long work touches: others wait for it, and it is sent to every replica at once. */
export const SLICE_EVENTS = 2000;
/** The most bytes; a single event that is longer has a transaction of its own. */
export const SLICE_BYTES: number = 1_000_000;
const FIRST_DELAY_MS = 1000;
const RETRY_MS = 60_000;

/** Rows that belong to a session: their table, the column that orders them, and what makes them large. */
interface Belongings {
  readonly table: string;
  readonly by: string;
  readonly type: 'int' | 'text';
  readonly size: string;
  /** A column before `by` in the index: a slice has rows of its lowest value only, and begins with the first of them. */
  readonly within?: string;
}

/** What a slice removed: how many rows, and the last of them. */
interface Removed {
  readonly count: number;
  readonly place: string | number | null;
}

const BELONGINGS: readonly Belongings[] = [
  { table: 'search', by: 'seq', type: 'int', size: '0' },
  { table: 'event_contents', by: 'seq', type: 'int', size: '0' },
  { table: 'contents', by: 'hash', type: 'text', size: 'octet_length(text)' },
  { table: 'call_contents', by: 'call', type: 'text', size: 'octet_length(text)' },
  { table: 'drafts', by: 'n', type: 'int', size: 'octet_length(data)', within: 'fence' },
  { table: 'snapshots', by: 'seq', type: 'int', size: 'octet_length(data)' },
  { table: 'events', by: 'seq', type: 'int', size: 'octet_length(data)' },
];

/**
 * The statement that removes a slice: the first row, and the following ones while they fit. It deletes a range of an index that begins
 * where the slice before ended ($2). A join with the rows of the slice would take a time that grows with the square of the session, if the
 * server does not know yet how long the session is; and so would reading the deleted rows again, which stay while any transaction is older.
 */
function removeSlice(database: PostgresDatabase, { table, by, type, size, within }: Belongings): string {
  const rows = database.table(table);
  const range = within
    ? `${within} = (SELECT min(${within}) FROM ${rows} WHERE key = $1)`
    : `${by} >= coalesce($2::${type}, ${type === 'int' ? '0' : "''"})`;
  return `WITH part AS (SELECT ${by} AS place, ${size}::bigint AS size FROM ${rows} WHERE key = $1 AND ${range} ORDER BY ${by} LIMIT ${SLICE_EVENTS}),
      sized AS (SELECT place, size, sum(size) OVER (ORDER BY place) AS total FROM part),
      ending AS (SELECT max(place) AS place FROM sized WHERE total <= ${SLICE_BYTES} OR total = size),
      gone AS (DELETE FROM ${rows} WHERE key = $1 AND ${range} AND ${by} <= (SELECT place FROM ending) RETURNING 1)
    SELECT count(*)::int AS count, (SELECT place FROM ending) AS place FROM gone`;
}

/**
 * Removes what is left of deleted sessions and of forks that were not finished, in short transactions.
 *
 *     deleteSession ─▶ the session's row goes, its key is doomed ─▶ slice, slice, slice ─▶ the key is forgotten
 *
 * The session is gone with the first transaction. A process that dies in between leaves a doomed key, which another one that opens
 * the store removes. Two that remove the same rows do no harm.
 */
export class SessionRemoval {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionRows;
  readonly #slices: readonly (Statement & { readonly continues: boolean })[];
  readonly #removing = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(database: PostgresDatabase, sessions: SessionRows) {
    this.#database = database;
    this.#sessions = sessions;
    this.#slices = BELONGINGS.map((belongings) => ({
      name: `remove-${belongings.table}`,
      text: removeSlice(database, belongings),
      continues: belongings.within === undefined,
    }));
  }

  /** Deletes a session; returns its last seq, or undefined if it was gone. */
  async delete(key: string): Promise<number | undefined> {
    const token = randomUUID();
    const deleted = await this.#database.transaction(async (sql) => {
      // A transaction whose commit was not acknowledged is run again: it finds its own work.
      const [done] = await sql.query<{ readonly key: string; readonly seq: number }>(
        {
          text: `SELECT key::text AS key, split_part(token, '/', 2)::int AS seq FROM ${this.#database.table('doomed')} WHERE token LIKE $1`,
        },
        [`${token}/%`],
      );
      if (done) return done;
      const session = await this.#sessions.lock(sql, { key });
      if (session) await this.doom(session.key, sql, `${token}/${session.seq}`);
      return session;
    });
    if (!deleted) return undefined;
    await this.removeAll(deleted.key);
    return deleted.seq;
  }

  /** In a transaction: removes a session's row, and marks all else of it for removal. */
  async doom(key: string, sql: Sql, token: string = randomUUID()): Promise<void> {
    await sql.query({ name: 'remove-row', text: `DELETE FROM ${this.#database.table('sessions')} WHERE key = $1` }, [
      key,
    ]);
    await sql.query(
      {
        name: 'doom',
        text: `INSERT INTO ${this.#database.table('doomed')} (key, token) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
      },
      [key, token],
    );
  }

  /** Removes the rows of a doomed key. Resolves when none is left. */
  async removeAll(key: string): Promise<void> {
    this.#removing.add(key);
    try {
      for (const slice of this.#slices) {
        let last: Removed = { count: 1, place: null };
        while (last.count > 0 && !this.#stopped) {
          const [row] = await this.#database.query<Removed>(slice, slice.continues ? [key, last.place] : [key]);
          last = row ?? { count: 0, place: null };
        }
      }
      if (this.#stopped) return;
      await this.#database.query(
        { name: 'forget', text: `DELETE FROM ${this.#database.table('doomed')} WHERE key = $1` },
        [key],
      );
    } finally {
      this.#removing.delete(key);
    }
  }

  /** Removes what other processes left behind, a while after the store was opened and again now and then. */
  schedule(now: () => number | null, delay: number = FIRST_DELAY_MS): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#clearUp(now())
        .catch(() => {}) // these rows are invisible, and can wait
        .then(() => this.schedule(now, RETRY_MS));
    }, delay).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #clearUp(now: number | null): Promise<void> {
    const text = `SELECT key::text AS key FROM ${this.#database.table('sessions')}
      WHERE building_until < coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FOR UPDATE SKIP LOCKED`;
    await this.#database.transaction(async (sql) => {
      const stale = await sql.query<{ readonly key: string }>({ text }, [now]);
      for (const { key } of stale) await this.doom(key, sql);
    });
    const doomed = await this.#database.query<{ readonly key: string }>({
      text: `SELECT key::text AS key FROM ${this.#database.table('doomed')}`,
    });
    for (const { key } of doomed) if (!this.#removing.has(key)) await this.removeAll(key);
  }
}
