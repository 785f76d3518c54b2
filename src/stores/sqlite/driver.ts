import type { DatabaseSync } from 'node:sqlite';
import { HoldfastError } from '../../core/errors.ts';

/**
 * Node's own SQLite (`node:sqlite`, D72), and everything about it that a caller would not expect. The only module that loads it.
 *
 * - A static import fails on Node 20 before our code runs, so the module is loaded when the first database is opened.
 * - Numbers are bound as doubles. Integer columns convert them; an expression that needs an integer casts.
 * - Integers above 2^53 throw when read: 64-bit ids are computed and taken apart in SQL.
 * - Text is cut at its first NUL when it is read on Node 22 and 24: text of other programs is read as a BLOB.
 * - Every error has the code `ERR_SQLITE_ERROR`; SQLite's own is in `errcode`, extended.
 * - Rows that are objects have no prototype: a store hands out copies.
 * - `backup` with small steps starts again after each commit of another connection and never ends beside a writer.
 */

type Sqlite = typeof import('node:sqlite');

/** The module that the renewal thread loads for itself. */
export const SQLITE_MODULE = 'node:sqlite';

/** A value that SQLite stores. */
export type SqliteValue = string | number | null | Uint8Array;

/** A statement's parameters, by position or by name. */
export type SqliteParameters = readonly SqliteValue[] | Readonly<Record<string, SqliteValue>>;
type Arguments<P extends SqliteParameters> = P extends readonly SqliteValue[] ? P : readonly [P];

/** A prepared statement: `P` are its parameters, `R` its rows. */
export interface Statement<P extends SqliteParameters = [], R = unknown> {
  run(...parameters: Arguments<P>): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...parameters: Arguments<P>): R | undefined;
  all(...parameters: Arguments<P>): R[];
  iterate(...parameters: Arguments<P>): IterableIterator<R>;
}

/** A prepared statement of which only the first column is read. */
export interface ValueStatement<P extends SqliteParameters, V> {
  get(...parameters: Arguments<P>): V | undefined;
  all(...parameters: Arguments<P>): V[];
}

/** Older versions can corrupt a WAL that two connections write to. */
const OLDEST_SQLITE = '3.51.3';
const UPDATE = 'update Node to 22.23, 24.15, 26 or newer';
const BUSY = 5;
/** Node 26 refuses the -1 that SQLite takes for "all"; no database has more pages. */
const ALL_PAGES = 0x7fff_ffff;

let loaded: Sqlite | undefined;

/** Loads SQLite, or throws `RUNTIME_UNSUPPORTED` on a runtime that has none or one that is too old (D71). */
function loadSqlite(): Sqlite {
  if (loaded) return loaded;
  const sqlite = withoutExperimentalWarning(() => process.getBuiltinModule?.('node:sqlite'));
  const runtime = `${process.release?.name ?? 'this runtime'} ${process.version}`;
  if (!sqlite) {
    throw new HoldfastError('RUNTIME_UNSUPPORTED', `${runtime} has no built-in SQLite; ${UPDATE}`);
  }
  // Asked of a connection that has no file: an unsupported runtime leaves nothing behind.
  const connection = new sqlite.DatabaseSync(':memory:');
  const { version } = connection.prepare('SELECT sqlite_version() AS version').get() as { readonly version: string };
  connection.close();
  if (isOlder(version, OLDEST_SQLITE)) {
    const why = `has SQLite ${version}, which can corrupt a database that two connections write to`;
    throw new HoldfastError('RUNTIME_UNSUPPORTED', `${runtime} ${why}; ${UPDATE}`);
  }
  loaded = sqlite;
  return sqlite;
}

/** Compares versions number by number. `localeCompare` would load the rules of a language, which takes a third of Node's own start. */
function isOlder(version: string, than: string): boolean {
  const numbers = version.split('.').map(Number);
  const limits = than.split('.').map(Number);
  const at = limits.findIndex((limit, i) => limit !== (numbers[i] ?? 0));
  return at >= 0 && (numbers[at] ?? 0) < (limits[at] ?? 0);
}

/** Throws `RUNTIME_UNSUPPORTED` on a runtime whose SQLite cannot hold a store (D71). */
export function checkRuntime(): void {
  loadSqlite();
}

/** Node 22 warns that SQLite is experimental; other warnings pass. */
function withoutExperimentalWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

export interface ConnectionOptions {
  readonly readOnly?: boolean;
  /** How long SQLite itself waits for a lock, blocking the thread. */
  readonly timeoutMs?: number;
}

/** One connection to a database file. */
export class Database {
  readonly #connection: DatabaseSync;
  /** Statements of `transaction`, prepared when they are first run: reading a page is a transaction. */
  readonly #prepared = new Map<string, Statement>();

  constructor(file: string, options: ConnectionOptions = {}) {
    const { readOnly = false, timeoutMs = 0 } = options;
    const { DatabaseSync } = loadSqlite();
    this.#connection = new DatabaseSync(file, { readOnly, timeout: timeoutMs });
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  get isTransaction(): boolean {
    return this.#connection.isTransaction;
  }

  /** Rows are objects. */
  prepare<P extends SqliteParameters = [], R = unknown>(sql: string): Statement<P, R> {
    return this.#connection.prepare(sql) as unknown as Statement<P, R>;
  }

  /** Rows are arrays: twice as fast to read as objects, for statements that read many. */
  prepareRows<P extends SqliteParameters, R extends readonly SqliteValue[]>(sql: string): Statement<P, R> {
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    return statement as unknown as Statement<P, R>;
  }

  /** A row is the value of its first column. */
  prepareValue<P extends SqliteParameters, V extends SqliteValue>(sql: string): ValueStatement<P, V> {
    const rows = this.prepareRows<P, readonly [V]>(sql);
    return {
      get: (...parameters) => rows.get(...parameters)?.[0],
      all: (...parameters) => rows.all(...parameters).map(([value]) => value),
    };
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** Runs a pragma and returns its first value. */
  pragma(sql: string): SqliteValue | undefined {
    return this.prepareValue<[], SqliteValue>(`PRAGMA ${sql}`).get();
  }

  /** Runs `work` in one transaction: committed when it returns, rolled back when it throws. */
  transaction<T>(kind: 'DEFERRED' | 'IMMEDIATE', work: () => T): T {
    this.#run(`BEGIN ${kind}`);
    try {
      const result = work();
      this.#run('COMMIT');
      return result;
    } catch (error) {
      if (this.isTransaction) this.#run('ROLLBACK');
      throw error;
    }
  }

  #run(sql: string): void {
    const statement = this.#prepared.get(sql) ?? this.prepare(sql);
    this.#prepared.set(sql, statement);
    statement.run();
  }

  /** Copies the whole database to a file in one step, off this thread, while other connections read and write. */
  async copyTo(file: string): Promise<void> {
    await loadSqlite().backup(this.#connection, file, { rate: ALL_PAGES });
  }

  close(): void {
    if (this.isOpen) this.#connection.close();
  }
}

/** Thrown where SQLite reports in a result row that another connection is in the way. */
export class BusyResult extends Error {
  readonly code = 'ERR_SQLITE_ERROR';
  readonly errcode: number = BUSY;
}

/** SQLite's primary result code of an error that it reported, or undefined for any other error. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}
