import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import type { NewEvent } from '../../src/index.ts';

/** What every figure of the section writes: one recorded message of about 600 characters. */

const SENTENCE = 'The quick brown fox jumps over the lazy dog and says so. ';
const AT = '2026-01-01T00:00:00.000Z';

export function message(n: number): NewEvent {
  return {
    type: 'message/recorded',
    at: AT,
    message: {
      id: `message-${n}`,
      role: n % 2 ? 'assistant' : 'user',
      content: [{ type: 'text', text: `${n}: ${SENTENCE.repeat(10)}` }],
      evaluationId: 'evaluation-1',
      conversationId: 'main',
      sequence: n,
      turn: n % 2 ? (n + 1) / 2 : 0,
      promptNs: 'bench',
      promptKey: 'append',
      createdAt: AT,
    },
  };
}

/** Inserts of the same bytes with the same settings, by better-sqlite3 alone. */
export interface RawTable {
  insert(n: number): void;
  /** Many in one transaction, to make the table long. */
  fill(from: number, to: number): void;
}

export function rawTable(database: Database): RawTable {
  database.exec(`CREATE TABLE events (position INTEGER PRIMARY KEY, key INTEGER NOT NULL, seq INTEGER NOT NULL,
    append_id TEXT, at TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL) STRICT`);
  const statement = database.prepare(
    'INSERT INTO events (key, seq, append_id, at, type, data) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const insert = (n: number): void => {
    const { at, type, ...payload } = message(n);
    statement.run(1, n, `append-${n}`, at, type, JSON.stringify(payload));
  };
  const fill = database.transaction((from: number, to: number) => {
    for (let n = from; n < to; n++) insert(n);
  });
  return { insert, fill };
}

/** A connection set as the store sets its own. */
export function rawDatabase(path: string): Database {
  const database = new Sqlite(path);
  database.pragma('page_size = 4096');
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma('secure_delete = ON');
  return database;
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Runs `work` in a directory that is gone afterwards. */
export async function* inDirectory<T>(work: (path: (name: string) => string) => AsyncIterable<T>): AsyncIterable<T> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    yield* work((name) => join(directory, name));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
