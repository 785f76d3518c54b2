import { createHash } from 'node:crypto';
import type { SessionRow, StoredEvent } from '../../shell/backend.ts';
import type { PostgresDatabase, Sql, Statement } from '../connection/database.ts';

/** A session's row. Keys are text in JavaScript: they may exceed 2^53, and are never computed with. */
interface Row {
  readonly key: string;
  readonly id: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly revision: number;
  readonly fence: number | null;
}

/** An event as the driver returns it. */
interface EventRow extends Omit<StoredEvent, 'appendId'> {
  readonly append_id: string | null;
}

const COLUMNS = 's.key::text AS key, s.id, s.incarnation, s.seq, s.revision, s.fence::float8 AS fence';

/** Finding sessions and reading their events. */
export class SessionRows {
  readonly #database: PostgresDatabase;
  readonly #find: Statement;
  readonly #lockId: Statement;
  readonly #lockKey: Statement;
  readonly #events: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    const sessions = database.table('sessions');
    // One statement: a session that is created meanwhile is counted neither twice nor never.
    this.#find = {
      name: 'find',
      text: `SELECT ${COLUMNS}, CASE WHEN s.key IS NULL THEN
               (SELECT coalesce(max(v.incarnation), 0) FROM ${database.table('lives')} v WHERE v.id_hash = $2) END AS lives
             FROM (SELECT 1) one LEFT JOIN ${sessions} s ON s.id = $1`,
    };
    this.#lockId = { name: 'lock', text: `SELECT ${COLUMNS} FROM ${sessions} s WHERE s.id = $1 FOR NO KEY UPDATE` };
    this.#lockKey = {
      name: 'lock-key',
      text: `SELECT ${COLUMNS} FROM ${sessions} s WHERE s.key = $1 AND building_until IS NULL FOR NO KEY UPDATE`,
    };
    this.#events = {
      name: 'read-events',
      text: `SELECT seq, at, type, data, append_id FROM ${database.table('events')}
             WHERE key = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`,
    };
  }

  async find(sessionId: string, sql: Sql = this.#database): Promise<SessionRow<string>> {
    const [row] = await sql.query<Row | { readonly key: null; readonly lives: number }>(this.#find, [
      sessionId,
      idHash(sessionId),
    ]);
    // The present incarnation, or the one that the session's first append will have.
    if (!row || row.key === null) return { incarnation: (row?.lives ?? 0) + 1, seq: 0, revision: 0 };
    const { key, incarnation, seq, revision, fence } = row;
    return { key, incarnation, seq, revision, fence: fence ?? undefined };
  }

  /** Finds a session and keeps others from writing to it until the end of the transaction. */
  async lock(sql: Sql, session: { readonly id: string } | { readonly key: string }): Promise<Row | undefined> {
    const [row] =
      'id' in session
        ? await sql.query<Row>(this.#lockId, [session.id])
        : await sql.query<Row>(this.#lockKey, [session.key]);
    return row;
  }

  /** The events after a seq, up to another. */
  async events(
    key: string,
    { after, until, limit }: { readonly after: number; readonly until: number; readonly limit: number | null },
    sql: Sql = this.#database,
  ): Promise<readonly StoredEvent[]> {
    const rows = await sql.query<EventRow>(this.#events, [key, after, until, limit]);
    return rows.map(({ append_id, ...event }) => ({ ...event, appendId: append_id ?? undefined }));
  }
}

/** What stays of the id of a deleted session. */
export function idHash(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('base64url');
}
