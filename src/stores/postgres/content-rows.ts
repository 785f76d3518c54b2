import type { IncarnationOption } from '../../ports/store.ts';
import { contentMissing } from '../refusals.ts';
import type { PostgresDatabase, Sql, Statement } from './database.ts';
import type { SessionRows } from './session-rows.ts';

/**
 * Contents by hash (D58) with the events that refer to them, and contents of calls (D77). A text is stored as JSON: cut output may
 * hold half of a surrogate pair, and a content must come back exactly as its hash names it.
 */
export class ContentRows {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionRows;
  readonly #read: Statement;
  readonly #readCall: Statement;
  readonly #readMany: Statement;

  constructor(database: PostgresDatabase, sessions: SessionRows) {
    this.#database = database;
    this.#sessions = sessions;
    this.#read = {
      name: 'read-content',
      text: `SELECT (SELECT text FROM ${database.table('contents')} WHERE key = $1 AND hash = $2) AS text
             FROM ${database.table('event_contents')} WHERE key = $1 AND hash = $2 LIMIT 1`,
    };
    this.#readCall = {
      name: 'read-call-content',
      text: `SELECT text FROM ${database.table('call_contents')} WHERE key = $1 AND call = $2`,
    };
    this.#readMany = {
      name: 'read-contents',
      text: `SELECT hash, text FROM ${database.table('contents')} WHERE key = $1 AND hash = ANY ($2::text[])`,
    };
  }

  async read(sessionId: string, hash: string, { incarnation }: IncarnationOption): Promise<string | undefined> {
    const session = await this.#sessions.findLiving(sessionId, incarnation);
    if (!session) return undefined;
    const [row] = await this.#database.query<{ readonly text: string | null }>(this.#read, [session.key, hash]);
    if (row?.text === null) throw contentMissing(sessionId, hash);
    return row && (JSON.parse(row.text) as string);
  }

  async readCall(sessionId: string, call: string, { incarnation }: IncarnationOption): Promise<string | undefined> {
    const session = await this.#sessions.findLiving(sessionId, incarnation);
    if (!session) return undefined;
    const [row] = await this.#database.query<{ readonly text: string }>(this.#readCall, [session.key, call]);
    return row && (JSON.parse(row.text) as string);
  }

  /** The texts of those contents of a session that are not missing, by hash. */
  async readMany(
    key: string,
    hashes: readonly string[],
    sql: Sql = this.#database,
  ): Promise<ReadonlyMap<string, string>> {
    if (hashes.length === 0) return new Map();
    const rows = await sql.query<{ readonly hash: string; readonly text: string }>(this.#readMany, [key, hashes]);
    return new Map(rows.map(({ hash, text }) => [hash, JSON.parse(text) as string]));
  }
}
