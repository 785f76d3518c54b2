import { dirname, resolve } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { lateModule } from '../late-module.ts';
import { BLOCKING_WAIT_MS, untilFree } from './connection/busy.ts';
import { identify, LAYOUT_VERSION, migrate } from './connection/migrate.ts';
import { storeError } from './connection/sqlite-errors.ts';
import { Database } from './driver.ts';

/**
 * Opens SQLite files, the only module that does. Every connection that writes is durable before it is handed out: a commit
 * is on the disk when it returns (WAL with synchronous = FULL), and what is deleted is overwritten.
 */

/**
 * Chosen by measurement (docs/storage.md). A commit writes whole pages: a lone append 10 kB with this size, 18 kB with twice
 * as much; with half as much an event of a kilobyte no longer fits well, and reading costs more.
 */
export const PAGE_SIZE = 4096;
/** A WAL that one large transaction has blown up is cut back to this. */
const WAL_LIMIT_BYTES = 8 * 1024 * 1024;
const SYNCHRONOUS = { NORMAL: 1, FULL: 2 } as const;

export interface OpenOptions {
  readonly readOnly?: boolean;
  /** How long to wait for a lock that another connection holds. */
  readonly busyTimeoutMs?: number;
  /** The file may not grow beyond this. */
  readonly maxBytes?: number;
  readonly pageSize?: number;
}

/** What a connection is set to, asked of the connection. */
export interface ConnectionSettings {
  readonly journalMode: string;
  /** 2 is FULL. */
  readonly synchronous: number;
  readonly secureDelete: boolean;
  readonly pageSize: number;
  readonly sqliteVersion: string;
  readonly layoutVersion: number;
}

export const DEFAULT_BUSY_TIMEOUT_MS = 5000;

/**
 * Opens or creates a database of ours with every setting durability needs, and brings it to the present layout. Every step may
 * find the file locked, even one that only asks: the first statement after a crash waits for the process that recovers the log.
 */
export async function openDatabase(path: string, options: OpenOptions = {}): Promise<Database> {
  const { readOnly = false, busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS, maxBytes, pageSize = PAGE_SIZE } = options;
  const file = checkPath(path, readOnly);
  const attempt = <T>(work: () => T): Promise<T> => untilFree(file, busyTimeoutMs, work);
  const database = await attempt(() => new Database(file, { readOnly, timeoutMs: BLOCKING_WAIT_MS }));
  try {
    const state = await attempt(() => identify(database, file));
    if (readOnly) {
      if (state !== 'current') throw needsUpgrade(file, state);
      return database;
    }
    if (state === 'new') {
      database.pragma(`page_size = ${pageSize}`);
      // A power failure may undo a layout that nothing was appended to. The first append syncs it, or a checkpoint does.
      await setDurability(database, file, 'NORMAL', attempt);
      await attempt(() => migrate(database, file));
    }
    await setDurability(database, file, 'FULL', attempt);
    if (state === 'outdated') await attempt(() => migrate(database, file));
    if (maxBytes !== undefined) await attempt(() => limitSize(database, maxBytes));
    return database;
  } catch (error) {
    database.close();
    throw storeError(error, file);
  }
}

/** Opens any SQLite file for reading only, and leaves it as it is: for importing from other programs. */
export async function openForeignDatabase(path: string): Promise<Database> {
  const file = checkPath(path, true);
  return untilFree(file, DEFAULT_BUSY_TIMEOUT_MS, () => {
    const database = new Database(file, { readOnly: true, timeoutMs: BLOCKING_WAIT_MS });
    try {
      // The file is not looked at before its first statement.
      database.pragma('schema_version');
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Asks a connection what it is set to. */
export function readSettings(database: Database): ConnectionSettings {
  return {
    ...readDurability(database),
    secureDelete: Number(database.pragma('secure_delete')) === 1,
    pageSize: Number(database.pragma('page_size')),
    sqliteVersion: String(database.prepareValue<[], string>('SELECT sqlite_version()').get()),
    layoutVersion: Number(database.pragma('user_version')),
  };
}

function readDurability(database: Database): Pick<ConnectionSettings, 'journalMode' | 'synchronous'> {
  return {
    journalMode: String(database.pragma('journal_mode')),
    synchronous: Number(database.pragma('synchronous')),
  };
}

/** The absolute path of a database file. */
export function checkPath(path: string, mustExist: boolean): string {
  // Spaces at the ends of a path are a mistake more often than a name.
  if (typeof path !== 'string' || path === '' || path !== path.trim() || path === ':memory:' || path.includes('\0')) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'a database needs the path of a file, without spaces at its ends; for no file at all use memoryStore()',
    );
  }
  const file = resolve(path);
  const { existsSync } = lateModule('node:fs');
  if (!existsSync(dirname(file))) {
    throw new HoldfastError('STORE_FAILED', `the directory ${dirname(file)} does not exist; create it first`);
  }
  if (mustExist && !existsSync(file)) {
    throw new HoldfastError('STORE_FAILED', `there is no file ${file} to read; check the path`);
  }
  return file;
}

async function setDurability(
  database: Database,
  file: string,
  synchronous: keyof typeof SYNCHRONOUS,
  attempt: <T>(work: () => T) => Promise<T>,
): Promise<void> {
  await attempt(() => applySettings(database, synchronous));
  await attempt(() => database.pragma('journal_mode = WAL'));
  await attempt(() => checkSettings(database, file, synchronous));
}

function applySettings(database: Database, synchronous: keyof typeof SYNCHRONOUS): void {
  // Set on every open, whatever the build's default: with NORMAL a power failure may lose acknowledged commits.
  database.pragma(`synchronous = ${synchronous}`);
  // macOS: without it a sync may stay in the drive's cache. Elsewhere it changes nothing.
  database.pragma('fullfsync = ON');
  // Always on, not only while erasing: snapshots and drafts that are replaced hold the same text.
  database.pragma('secure_delete = ON');
  database.pragma(`journal_size_limit = ${WAL_LIMIT_BYTES}`);
}

function checkSettings(database: Database, file: string, expected: keyof typeof SYNCHRONOUS): void {
  const { journalMode, synchronous } = readDurability(database);
  if (journalMode === 'wal' && synchronous === SYNCHRONOUS[expected]) return;
  throw new HoldfastError(
    'STORE_UNSUPPORTED',
    `${file}: this file system gives journal_mode ${journalMode}, synchronous ${synchronous}; put it on a local disk`,
  );
}

function needsUpgrade(file: string, state: 'new' | 'outdated'): HoldfastError {
  const what = state === 'new' ? 'is empty' : `has an older layout than ${LAYOUT_VERSION}`;
  return new HoldfastError('STORE_UNSUPPORTED', `${file} ${what}; open it once without readOnly`);
}

function limitSize(database: Database, maxBytes: number): void {
  const pageSize = readSettings(database).pageSize;
  database.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}
