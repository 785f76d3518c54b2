import { createHash } from 'node:crypto';
import type { SessionSummary } from '../../core/summary/session-summary.ts';
import type { SessionHead } from '../../ports/store.ts';
import { sessionGone } from '../refusals.ts';
import type { PostgresDatabase, Sql, Statement } from './database.ts';

/** A session's row. Keys are text in JavaScript: they may exceed 2^53, and are never computed with. */
export interface SessionRow {
  readonly key: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly revision: number;
  readonly fence: number | null;
  readonly last_append: string | null;
  readonly summary: string | null;
}

/** A session's row, or how many incarnations its id has had. */
type Found = SessionRow | { readonly key: null; readonly lives: number };

const COLUMNS =
  's.key::text AS key, s.incarnation, s.seq, s.revision, s.fence::float8 AS fence, s.last_append, s.summary';

/** Finding sessions. */
export class SessionRows {
  readonly #database: PostgresDatabase;
  readonly #find: Statement;
  readonly #lock: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    // One statement: a session that is created meanwhile is counted neither twice nor never.
    this.#find = {
      name: 'find',
      text: `SELECT ${COLUMNS}, CASE WHEN s.key IS NULL THEN
               (SELECT coalesce(max(v.incarnation), 0) FROM ${database.table('lives')} v WHERE v.id_hash = $2) END AS lives
             FROM (SELECT 1) one LEFT JOIN ${database.table('sessions')} s ON s.id = $1`,
    };
    this.#lock = {
      name: 'lock',
      text: `SELECT ${COLUMNS} FROM ${database.table('sessions')} s WHERE s.id = $1 FOR NO KEY UPDATE`,
    };
  }

  async find(sessionId: string, sql: Sql = this.#database): Promise<SessionRow | undefined> {
    return rowOf(await this.#look(sessionId, sql));
  }

  /** Finds a session and keeps others from writing to it until the end of the transaction. */
  async lock(sessionId: string, incarnation: number | undefined, sql: Sql): Promise<SessionRow | undefined> {
    const [row] = await sql.query<SessionRow>(this.#lock, [sessionId]);
    if (!row) await this.findLiving(sessionId, incarnation, sql);
    else if (incarnation !== undefined && incarnation !== row.incarnation) throw sessionGone(sessionId);
    return row;
  }

  /** The session in the incarnation that the caller names; undefined when that one has no row yet. */
  async findLiving(
    sessionId: string,
    incarnation: number | undefined,
    sql: Sql = this.#database,
  ): Promise<SessionRow | undefined> {
    const found = await this.#look(sessionId, sql);
    if (incarnation !== undefined && incarnation !== incarnationOf(found)) throw sessionGone(sessionId);
    return rowOf(found);
  }

  async head(sessionId: string): Promise<SessionHead> {
    const found = await this.#look(sessionId, this.#database);
    const { seq, revision } = rowOf(found) ?? { seq: 0, revision: 0 };
    return { incarnation: incarnationOf(found), seq, revision };
  }

  async #look(sessionId: string, sql: Sql): Promise<Found> {
    const [found] = await sql.query<Found>(this.#find, [sessionId, idHash(sessionId)]);
    return found ?? { key: null, lives: 0 };
  }
}

function rowOf(found: Found): SessionRow | undefined {
  return found.key === null ? undefined : found;
}

/** The present incarnation, or the one that the session's first append will have. */
function incarnationOf(found: Found): number {
  return found.key === null ? found.lives + 1 : found.incarnation;
}

/** What stays of the id of a deleted session. */
export function idHash(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('base64url');
}

/** The summary in a row; undefined when there is none or it cannot be read. */
export function parseSummary(summary: string | null | undefined): SessionSummary | undefined {
  try {
    return summary === null || summary === undefined ? undefined : (JSON.parse(summary) as SessionSummary);
  } catch {
    return undefined;
  }
}
