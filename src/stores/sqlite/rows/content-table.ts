import type { ContentRow } from '../../shell/backend.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';

/** A content that an event refers to. */
export type Reference = readonly [hash: string, length: number];

/** Contents by hash (D58) with the events that refer to them, and contents of calls (D77). A text is kept as JSON. */
export class ContentTable {
  readonly #insert: Statement<[string, string]>;
  readonly #refer: Statement<[number, number, string]>;
  readonly #copy: Statement<[number, number, number, number]>;
  readonly #read: Statement<[string, number, string], readonly [text: string | null]>;
  readonly #referred: Statement<[number, number], Reference>;
  readonly #forget: Statement<[number, number, string]>;
  readonly #deleteUnreferred: Statement<[string, string]>;
  readonly #put: Statement<[number, string, string]>;
  readonly #drop: Statement<[number, string]>;
  readonly #readCall: ValueStatement<[number, string], string>;

  constructor(database: Database) {
    this.#insert = database.prepare('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#refer = database.prepare(
      'INSERT INTO event_contents (key, seq, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#copy = database.prepare(
      'INSERT INTO event_contents SELECT ?, seq, hash FROM event_contents WHERE key = ? AND seq > ? AND seq <= ?',
    );
    this.#read = database.prepareRows(
      'SELECT (SELECT text FROM contents WHERE hash = ?) FROM event_contents WHERE key = ? AND hash = ? LIMIT 1',
    );
    this.#referred = database.prepareRows(
      `SELECT hash, coalesce((SELECT length(text) FROM contents WHERE contents.hash = event_contents.hash), 0)
       FROM event_contents WHERE key = ? AND seq = ?`,
    );
    this.#forget = database.prepare('DELETE FROM event_contents WHERE key = ? AND seq = ? AND hash = ?');
    this.#deleteUnreferred = database.prepare(
      'DELETE FROM contents WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM event_contents WHERE event_contents.hash = ?)',
    );
    this.#put = database.prepare('INSERT OR REPLACE INTO call_contents (key, call, text) VALUES (?, ?, ?)');
    this.#drop = database.prepare('DELETE FROM call_contents WHERE key = ? AND call = ?');
    this.#readCall = database.prepareValue('SELECT text FROM call_contents WHERE key = ? AND call = ?');
  }

  /** Stores a content, and the reference of an event to it. */
  write(key: number, { seq, hash, text }: ContentRow): void {
    this.#insert.run(hash, text);
    this.#refer.run(key, seq, hash);
  }

  /** Gives the events of a fork the references that their originals have. */
  copyReferences(target: number, origin: number, after: number, until: number): void {
    this.#copy.run(target, origin, after, until);
  }

  /** The text; undefined when the session does not refer to it, null when it is missing. */
  read(key: number, hash: string): string | null | undefined {
    return this.#read.get(hash, key, hash)?.[0];
  }

  /** The text as it was before it was stored; undefined also when it is missing. */
  readReferred(key: number, hash: string): string | undefined {
    const text = this.read(key, hash) ?? undefined;
    return text === undefined ? undefined : (JSON.parse(text) as string);
  }

  /** What an event refers to, with the length of each. */
  referredBy(key: number, seq: number): readonly Reference[] {
    return this.#referred.all(key, seq);
  }

  /** Ends references of an event, except those to keep; a content without any is removed. */
  drop(key: number, seq: number, references: readonly Reference[], keep: readonly string[] = []): void {
    for (const [hash] of references) {
      if (keep.includes(hash)) continue;
      this.#forget.run(key, seq, hash);
      this.#deleteUnreferred.run(hash, hash);
    }
  }

  putCall(key: number, call: string, text: string): void {
    this.#put.run(key, call, text);
  }

  dropCall(key: number, call: string): void {
    this.#drop.run(key, call);
  }

  readCall(key: number, call: string): string | undefined {
    return this.#readCall.get(key, call);
  }
}
