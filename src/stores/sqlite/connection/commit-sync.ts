import type { Database } from '../driver.ts';

/**
 * Whether a connection's commits wait for the disk.
 *
 * - FULL: a commit that returned survives a power failure, and with it every commit before it.
 * - NORMAL: a power failure may undo it. The database stays consistent: a checkpoint still syncs the log before it copies from it.
 *
 * A connection is opened with FULL.
 */
export class CommitSync {
  readonly #database: Database;
  /** Undefined while it is not known, because setting it failed. */
  #level: 'FULL' | 'NORMAL' | undefined = 'FULL';

  constructor(database: Database) {
    this.#database = database;
  }

  /** Outside a transaction: sets the level for the commits that follow. */
  set(level: 'FULL' | 'NORMAL'): void {
    if (this.#level === level) return;
    this.#level = undefined;
    this.#database.exec(`PRAGMA synchronous = ${level}`);
    this.#level = level;
  }
}
