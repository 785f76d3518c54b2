import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SearchHit, SearchOptions, Store } from '../../ports/store.ts';
import { checkCount } from '../check-arguments.ts';
import { untilFree } from './connection/busy.ts';
import { checkRuntime } from './driver.ts';
import {
  type ConnectionSettings,
  checkPath,
  DEFAULT_BUSY_TIMEOUT_MS,
  type OpenOptions,
  openDatabase,
} from './open-database.ts';
import { storeOnDatabase } from './store-on-database.ts';

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions extends OpenOptions {
  /** What leases expire by. */
  readonly clock?: Clock;
  /** Whether the search index is filled while nothing else is written (the default), or only when a search asks for it. */
  readonly backgroundIndexing?: boolean;
}

/** A store in one SQLite file. */
export interface SqliteStore extends Store {
  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /** Writes a consistent copy to a file that does not exist yet, while others read and write. */
  backup(path: string): Promise<void>;
  /** What the store's connection is set to, asked of the connection. */
  settings(): ConnectionSettings;
}

const KNOWN: KnownOptions<SqliteStoreOptions> = {
  readOnly: true,
  busyTimeoutMs: true,
  maxBytes: true,
  pageSize: true,
  clock: true,
  backgroundIndexing: true,
};

/**
 * Opens or creates a store in one SQLite file, the default for one machine. Any number of processes may share the file. What
 * `append` has acknowledged survives a crash of the process, of the system and of the power; with `syncLater`, of the power a moment later.
 */
export async function sqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  refuseUnknownOptions('sqliteStore', options, KNOWN);
  if (options.busyTimeoutMs !== undefined) checkCount('busyTimeoutMs', options.busyTimeoutMs);
  checkRuntime();
  const file = checkPath(path, options.readOnly ?? false); // absolute: threads and backups open it later, from another directory
  const database = await openDatabase(file, options);
  try {
    return await untilFree(file, options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS, () =>
      storeOnDatabase(database, file, options),
    );
  } catch (error) {
    // A table that is not as it should be shows when statements are prepared.
    database.close();
    throw error;
  }
}
