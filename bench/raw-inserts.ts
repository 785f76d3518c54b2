/** What there is to compare with: inserts of the same bytes with the same settings, by better-sqlite3 alone. */
import Sqlite, { type Database } from 'better-sqlite3';
import type { NewEvent } from '../src/index.ts';

/** A connection set as the store sets its own. */
export function rawDatabase(path: string): Database {
  const database = new Sqlite(path);
  database.pragma('page_size = 4096');
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma('secure_delete = ON');
  return database;
}

/** Makes a table and answers how to insert events into it: those of one append as one row, written as JSON. */
export function rawInsert(database: Database): (n: number, events: readonly NewEvent[]) => void {
  database.exec(`CREATE TABLE events (position INTEGER PRIMARY KEY, key INTEGER NOT NULL, seq INTEGER NOT NULL,
    append_id TEXT, at TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL) STRICT`);
  const statement = database.prepare(
    'INSERT INTO events (key, seq, append_id, at, type, data) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return (n, events) => {
    const payloads = events.map(({ at: _, type: __, ...payload }) => payload);
    const data = JSON.stringify(payloads.length === 1 ? payloads[0] : payloads);
    statement.run(1, n, `append-${n}`, events[0]?.at, events[0]?.type, data);
  };
}
