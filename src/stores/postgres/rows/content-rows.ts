import type { PostgresDatabase, Sql, Statement } from '../connection/database.ts';

/** Contents by hash (D58) with the events that refer to them, and contents of calls (D77). A text is stored as JSON. */
export class ContentRows {
  readonly #database: PostgresDatabase;
  readonly #read: Statement;
  readonly #readCall: Statement;
  readonly #readMany: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
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

  /** The text; undefined when the session does not refer to it, null when it is missing. */
  async read(key: string, hash: string): Promise<string | null | undefined> {
    const [row] = await this.#database.query<{ readonly text: string | null }>(this.#read, [key, hash]);
    return row?.text;
  }

  async readCall(key: string, call: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ readonly text: string }>(this.#readCall, [key, call]);
    return row?.text;
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
