/** The baseline: inserts of the same bytes with the same settings, by node:sqlite alone. */
import { DatabaseSync } from 'node:sqlite';
import type { NewEvent } from '../src/index.ts';

/** A connection with the store's settings. */
export function rawDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(
    'PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON',
  );
  return database;
}

/** Creates a table and returns a function that inserts events into it: those of one append as one row of JSON. */
export function rawInsert(database: DatabaseSync): (n: number, events: readonly NewEvent[]) => void {
  database.exec(`CREATE TABLE events (position INTEGER PRIMARY KEY, key INTEGER NOT NULL, seq INTEGER NOT NULL,
    append_id TEXT, at TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL) STRICT`);
  const statement = database.prepare(
    'INSERT INTO events (key, seq, append_id, at, type, data) VALUES (?, ?, ?, ?, ?, ?)',
  );
  return (n, events) => {
    const payloads = events.map(({ at: _, type: __, ...payload }) => payload);
    const data = JSON.stringify(payloads.length === 1 ? payloads[0] : payloads);
    statement.run(1, n, `append-${n}`, events[0]?.at ?? '', events[0]?.type ?? '', data);
  };
}
