import { createClient, type InValue, LibsqlError, type Transaction } from '@libsql/client';
import type { StoreBackend } from 'holdfast/store';
import { BELONGINGS, LAYOUT } from './layout.ts';

/** How long a writer waits for those of other connections. */
const BUSY_MS = 10_000;
/** How long libSQL waits by itself: it blocks the event loop, on which the other connection may be, too. */
const BLOCKING_MS = 5;
/** How many rows one transaction removes or copies: others wait for it. */
export const SLICE = 1000;

/** A connection or a transaction. */
export type Sql = Pick<Transaction, 'execute'>;

export type Value = InValue | undefined;

/** The rows of a statement; undefined is null. */
export async function query<Row>(sql: Sql, text: string, ...args: readonly Value[]): Promise<readonly Row[]> {
  const { rows } = await sql.execute({ sql: text, args: args.map((arg) => arg ?? null) });
  return rows as readonly unknown[] as readonly Row[];
}

/** How many rows a statement changed. */
export async function change(sql: Sql, text: string, ...args: readonly Value[]): Promise<number> {
  return (await sql.execute({ sql: text, args: args.map((arg) => arg ?? null) })).rowsAffected;
}

/** The next value of a counter. */
export async function next(sql: Sql, name: 'key' | 'fence' | 'commits'): Promise<number> {
  const text = 'UPDATE counters SET value = value + 1 WHERE name = ? RETURNING value';
  const [row] = await query<{ readonly value: number }>(sql, text, name);
  return row?.value ?? 0;
}

/** What libSQL's error codes mean; the store knows those of the system. */
export const errorCode: NonNullable<StoreBackend['errorCode']> = (error) => {
  const code = error instanceof LibsqlError ? error.code : '';
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return 'STORE_BUSY';
  if (code === 'SQLITE_FULL') return 'STORE_FULL';
  return code.startsWith('SQLITE_READONLY') ? 'STORE_READ_ONLY' : undefined;
};

/** A database with the tables of the store. */
export interface LibsqlDatabase {
  /** For reading. */
  readonly sql: Sql;
  /** Runs work in a transaction that writes. What returns undefined or false has written nothing. */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Removes the rows of a doomed key, in short transactions. */
  clear(key: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a database. `pass` is called where a process may be killed by a test. */
export async function openDatabase(path: string, pass: (point: string) => void): Promise<LibsqlDatabase> {
  const config = { url: `file:${path}`, timeout: BLOCKING_MS };
  const [reader, writer] = [createClient(config), createClient(config)];
  let last: Promise<unknown> = Promise.resolve();

  /** Tries again while another connection writes. */
  async function untilFree<T>(work: () => Promise<T>): Promise<T> {
    for (const deadline = Date.now() + BUSY_MS; ; ) {
      try {
        return await work();
      } catch (error) {
        if (errorCode(error) !== 'STORE_BUSY' || Date.now() > deadline) throw error;
        await writer.reconnect(); // a connection that could not begin cannot commit its next transaction
      }
      await new Promise((resolve) => setTimeout(resolve, 2 + 10 * Math.random()));
    }
  }

  /** libSQL has one writer at a time: those of this connection wait for each other here. */
  function write<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const writing = last.then(async () => {
      const sql = await untilFree(() => writer.transaction('write'));
      try {
        const value = await work(sql);
        if (value === undefined || value === false) return value;
        pass('before the last statement');
        await next(sql, 'commits');
        pass('before the commit');
        await sql.commit();
        pass('after the commit');
        return value;
      } finally {
        sql.close();
      }
    });
    last = writing.catch(() => {});
    return writing;
  }

  async function clear(key: number): Promise<void> {
    for (const table of BELONGINGS) {
      const text = `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE key = ? LIMIT ${SLICE})`;
      while ((await write((sql) => change(sql, text, key))) === SLICE);
    }
    await write((sql) => change(sql, 'DELETE FROM doomed WHERE key = ?', key));
  }

  await untilFree(() => writer.execute('PRAGMA journal_mode = WAL'));
  await untilFree(() => writer.executeMultiple(LAYOUT));
  return {
    sql: reader,
    write,
    clear,
    async close() {
      await last;
      reader.close();
      writer.close();
    },
  };
}
