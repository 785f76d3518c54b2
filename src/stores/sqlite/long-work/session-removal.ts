import type { WriteQueue } from '../connection/write-queue.ts';
import type { Database, SqliteValue, Statement, ValueStatement } from '../driver.ts';
import type { ContentTable } from '../rows/content-table.ts';
import type { EventTable } from '../rows/event-table.ts';
import type { SessionRow, SessionTable } from '../rows/session-table.ts';
import type { SearchIndex } from '../search/search-index.ts';
import { SliceBudget } from './slice-budget.ts';
import type { SliceCheckpoints } from './slice-checkpoints.ts';

/** How many rows are looked at together. */
const ROWS = 64;
const PAUSE_MS = 20;
const RETRY_MS = 60_000;
const MAX_DELAY_MS = 2 ** 31 - 1;

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
  readonly #checkpoints: SliceCheckpoints;
  readonly #doomed: ValueStatement<[], number>;
  readonly #forget: Statement<[number]>;
  readonly #staleForks: ValueStatement<[number], number>;
  readonly #nextStale: ValueStatement<[], number>;
  readonly #belongings: readonly Belongings[];
  /** Keys whose rows this process is removing. A second removal of one would use the write-ahead log while the deletion empties it. */
  readonly #removing = new Set<number>();
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
      readonly checkpoints: SliceCheckpoints;
    },
  ) {
    this.#sessions = tables.sessions;
    this.#events = tables.events;
    this.#contents = tables.contents;
    this.#index = tables.index;
    this.#queue = tables.queue;
    this.#checkpoints = tables.checkpoints;
    this.#doomed = database.prepareValue('SELECT key FROM doomed');
    this.#forget = database.prepare('DELETE FROM doomed WHERE key = ?');
    this.#staleForks = database.prepareValue('SELECT key FROM sessions WHERE building_until < ?');
    this.#nextStale = database.prepareValue('SELECT min(building_until) FROM sessions');
    this.#belongings = [
      {
        next: database.prepareRows('SELECT length(data), fence, n FROM drafts WHERE key = ? LIMIT ?'),
        remove: database.prepare('DELETE FROM drafts WHERE key = ? AND fence = ? AND n = ?'),
      },
      {
        next: database.prepareRows('SELECT length(text), call FROM call_contents WHERE key = ? LIMIT ?'),
        remove: database.prepare('DELETE FROM call_contents WHERE key = ? AND call = ?'),
      },
    ];
  }

  /** In a write transaction: deletes a session. Its rows wait for `removeAll`. */
  end(sessionId: string, session: SessionRow): void {
    // Read before the row is gone: which events have words in the index.
    this.#sessions.end(sessionId, session, this.#index.indexedSeq(session.key));
  }

  /** Removes the rows of a doomed key. Resolves when none is left. */
  async removeAll(key: number): Promise<void> {
    this.#removing.add(key);
    try {
      await this.#checkpoints.during(async () => {
        while (!this.#stopped && !(await this.#queue.submitSlice(() => this.#slice(key))))
          await this.#checkpoints.checkpoint();
      });
    } finally {
      this.#removing.delete(key);
    }
  }

  /** Removes what other processes left behind, a while after the store was opened and when a fork turns out to be abandoned. */
  schedule(now: () => number, delay: number = PAUSE_MS): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#clearUp(now())
        // Locked or full: these rows are invisible, and can wait.
        .catch(() => now() + RETRY_MS)
        .then((next) => {
          if (next !== undefined) this.schedule(now, Math.min(Math.max(next - now(), PAUSE_MS), MAX_DELAY_MS));
        });
    }, delay).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Returns when to look again. */
  async #clearUp(now: number): Promise<number | undefined> {
    if (this.#staleForks.get(now) !== undefined) {
      await this.#queue.submitAlone(() => {
        for (const key of this.#staleForks.all(now)) this.#sessions.doom(key, 0);
      });
    }
    for (const key of this.#doomed.all()) if (!this.#removing.has(key)) await this.removeAll(key);
    if (this.#stopped) return undefined;
    const next = this.#nextStale.get() ?? undefined;
    return next === undefined ? undefined : next + 1;
  }

  /** Removes some rows; true when none is left. */
  #slice(key: number): boolean {
    const indexedSeq = this.#sessions.doomedIndex(key);
    if (indexedSeq === undefined) return true;
    const budget = new SliceBudget();
    try {
      for (;;) {
        const rows = this.#events.remaining(key, ROWS);
        if (rows.length === 0) return this.#removeBelongings(key, budget);
        for (const row of rows) {
          const [, seq, , , data] = row;
          const references = this.#contents.referredBy(key, seq);
          if (!budget.take(references.reduce((sum, [, length]) => sum + length, data.length))) return false;
          this.#index.forget(key, '', row, indexedSeq);
          this.#contents.drop(key, seq, references);
          this.#events.remove(key, row);
        }
      }
    } finally {
      this.#events.removed();
    }
  }

  /** Removes drafts and contents of calls; with the last of them the key is forgotten. */
  #removeBelongings(key: number, budget: SliceBudget): boolean {
    for (const { next, remove } of this.#belongings) {
      for (let rows = next.all(key, ROWS); rows.length > 0; rows = next.all(key, ROWS)) {
        for (const [length, ...id] of rows) {
          if (!budget.take(length)) return false;
          remove.run(key, ...id);
        }
      }
    }
    this.#forget.run(key);
    return true;
  }
}

/** Rows that belong to a session: how long each is and what identifies it. */
interface Belongings {
  readonly next: Statement<[number, number], readonly [length: number, ...id: SqliteValue[]]>;
  readonly remove: Statement<[number, ...SqliteValue[]]>;
}
