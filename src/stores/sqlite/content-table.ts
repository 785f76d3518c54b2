import type { Database, Statement, ValueStatement } from './driver.ts';
import type { SessionTable } from './session-table.ts';

/**
 * Large contents by hash (D58), and which session refers to which. A text is kept as JSON: cut output may hold half of a
 * surrogate pair, and a content must come back exactly as its hash names it.
 */
export class ContentTable {
  readonly #sessions: SessionTable;
  readonly #insert: Statement<[string, string]>;
  readonly #refer: Statement<[number, string]>;
  readonly #read: ValueStatement<[string], string>;
  readonly #referred: ValueStatement<[number], string>;
  readonly #forget: Statement<[number, string]>;
  readonly #deleteUnreferred: Statement<[string, string]>;

  constructor(database: Database, sessions: SessionTable) {
    this.#sessions = sessions;
    this.#insert = database.prepare('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#refer = database.prepare('INSERT INTO content_refs (key, hash) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#read = database.prepareValue('SELECT text FROM contents WHERE hash = ?');
    this.#referred = database.prepareValue('SELECT hash FROM content_refs WHERE key = ?');
    this.#forget = database.prepare('DELETE FROM content_refs WHERE key = ? AND hash = ?');
    this.#deleteUnreferred = database.prepare(
      'DELETE FROM contents WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM content_refs WHERE content_refs.hash = ?)',
    );
  }

  write(sessionId: string, hash: string, text: string): void {
    this.#insert.run(hash, text);
    this.#refer.run(this.#sessions.findOrCreate(sessionId), hash);
  }

  read(hash: string): string | undefined {
    const text = this.#read.get(hash);
    return text === undefined ? undefined : (JSON.parse(text) as string);
  }

  /** Ends a session's references, to these hashes or to all; a content without any is removed. */
  drop(key: number, hashes: readonly string[] = this.#referred.all(key)): void {
    for (const hash of hashes) {
      this.#forget.run(key, hash);
      this.#deleteUnreferred.run(hash, hash);
    }
  }
}
