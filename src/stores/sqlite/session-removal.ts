import type { ContentTable } from './content-table.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';
import type { EventTable } from './event-table.ts';
import type { SearchIndex } from './search-index.ts';
import type { SessionRow, SessionTable } from './session-table.ts';
import { SliceBudget } from './slice-budget.ts';
import type { WriteQueue } from './write-queue.ts';

/** How many rows are looked at together. */
const ROWS = 64;
const PAUSE_MS = 20;

/**
 * Removes what is left of deleted sessions and of forks that were not finished, in short transactions.
 *
 *     deleteSession ─▶ the session's row goes, its key is doomed ─▶ slice, slice, slice ─▶ the key is forgotten
 *
 * The session is gone with the first transaction. A process that dies in between leaves a doomed key, which the next one that
 * opens the store removes.
 */
export class SessionRemoval {
  readonly #sessions: SessionTable;
  readonly #events: EventTable;
  readonly #contents: ContentTable;
  readonly #index: SearchIndex;
  readonly #queue: WriteQueue;
  readonly #doomed: ValueStatement<[], number>;
  readonly #forget: Statement<[number]>;
  readonly #staleForks: ValueStatement<[number], number>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    database: Database,
    tables: {
      readonly sessions: SessionTable;
      readonly events: EventTable;
      readonly contents: ContentTable;
      readonly index: SearchIndex;
      readonly queue: WriteQueue;
    },
  ) {
    this.#sessions = tables.sessions;
    this.#events = tables.events;
    this.#contents = tables.contents;
    this.#index = tables.index;
    this.#queue = tables.queue;
    this.#doomed = database.prepareValue('SELECT key FROM doomed');
    this.#forget = database.prepare('DELETE FROM doomed WHERE key = ?');
    this.#staleForks = database.prepareValue('SELECT key FROM sessions WHERE building_until < ?');
  }

  /** In a write transaction: ends a session's life. Its rows wait for `removeAll`. */
  end(sessionId: string, session: SessionRow): void {
    // Read before the row is gone: which events have words in the index.
    this.#sessions.end(sessionId, session, this.#index.indexedSeq(session.key));
  }

  /** Removes the rows of a doomed key. Resolves when none is left. */
  async removeAll(key: number): Promise<void> {
    while (!this.#stopped && !(await this.#queue.submitAlone(() => this.#slice(key))));
  }

  /** Removes what other processes left behind, a while after the store was opened. */
  schedule(now: () => number): void {
    this.#timer = setTimeout(() => {
      this.#clearUp(now()).catch(() => {
        // Locked or full: these rows are invisible, and the next process that opens the store removes them.
      });
    }, PAUSE_MS).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #clearUp(now: number): Promise<void> {
    if (this.#staleForks.get(now) !== undefined) {
      await this.#queue.submitAlone(() => {
        for (const key of this.#staleForks.all(now)) this.#sessions.doom(key, 0);
      });
    }
    for (const key of this.#doomed.all()) await this.removeAll(key);
  }

  /** Removes some rows; true when none is left. */
  #slice(key: number): boolean {
    const indexedSeq = this.#sessions.doomedIndex(key);
    if (indexedSeq === undefined) return true;
    const budget = new SliceBudget();
    try {
      for (;;) {
        const rows = this.#events.remaining(key, ROWS);
        if (rows.length === 0) {
          this.#forget.run(key);
          return true;
        }
        for (const row of rows) {
          const [, seq, , , data] = row;
          this.#index.forget(key, '', row, indexedSeq);
          const dropped = this.#contents.drop(key, seq);
          this.#events.remove(key, row);
          if (!budget.take(data.length + dropped)) return false;
        }
      }
    } finally {
      this.#events.removed();
    }
  }
}
