import type { Database } from '../driver.ts';
import { type CheckpointThread, startCheckpointThread } from './checkpoint-thread.ts';

/**
 * Moves what each slice of long work wrote into the database, between two slices and outside any transaction. Otherwise SQLite would
 * do it once in a thousand pages, within a commit: the event loop would wait for it, and so would every other process that writes.
 *
 *     slice ─▶ checkpoint in the thread ─▶ slice ─▶ checkpoint ─▶ … ─▶ last slice ─▶ the thread ends
 *
 * Work of one slice starts no thread.
 */
export class SliceCheckpoints {
  readonly #database: Database;
  readonly #path: string;
  #works = 0;
  #thread: CheckpointThread | undefined;
  #hasThreads = true;
  #ended: Promise<void> | undefined;

  constructor(database: Database, path: string) {
    this.#database = database;
    this.#path = path;
  }

  /** Runs long work. The thread that its first checkpoint starts ends with the last work that is under way. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#works++;
    try {
      return await work();
    } finally {
      if (--this.#works === 0) await this.close();
    }
  }

  /** Within `during`, after a slice that was not the last. Never fails: the next checkpoint moves what this one could not. */
  async checkpoint(): Promise<void> {
    if (this.#hasThreads) this.#thread ??= startCheckpointThread(this.#path);
    this.#hasThreads = this.#thread !== undefined;
    await (this.#thread ? this.#thread.checkpoint() : this.#checkpointHere());
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#ended = thread?.end() ?? this.#ended;
    await this.#ended;
  }

  #checkpointHere(): void {
    try {
      this.#database.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // Locked: the next slice, or SQLite itself, does it.
    }
  }
}
