import type { SessionEvent } from '../../core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import type { ForkOptions } from '../../ports/store.ts';
import { checkFork } from '../check-arguments.ts';
import { decodeEvent, type EncodedEvent, encodeEvent } from '../encoded-event.ts';
import { lateModule } from '../late-module.ts';
import { forkTargetExists, gap, incompleteEvent, sessionGone, sessionNotFound } from '../refusals.ts';
import type { ContentTable } from './content-table.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';
import type { EventTable } from './event-table.ts';
import type { SessionRemoval } from './session-removal.ts';
import type { SessionRow, SessionTable } from './session-table.ts';
import { SliceBudget } from './slice-budget.ts';
import type { SliceCheckpoints } from './slice-checkpoints.ts';
import type { SummaryTable } from './summary-table.ts';
import { RefusedAfterWriting, type WriteQueue } from './write-queue.ts';

const ROWS = 64;
/** A fork that no slice was added to for this long is taken for one whose process died. */
const ABANDONED_MS = 10 * 60_000;

/**
 * Copies a session's log into a new session, in short transactions.
 *
 *     begin: a row under an id that no session can have ─▶ slice, slice, slice ─▶ end: the row gets its id, and is there
 *                                  ▲                          │ origin erased       │ origin deleted
 *                                  └──────── begin again ─────┘                     └─▶ removed, SESSION_NOT_FOUND
 */
export class SessionFork {
  readonly #sessions: SessionTable;
  readonly #events: EventTable;
  readonly #contents: ContentTable;
  readonly #summaries: SummaryTable;
  readonly #removal: SessionRemoval;
  readonly #queue: WriteQueue;
  readonly #checkpoints: SliceCheckpoints;
  readonly #now: () => number;
  readonly #begin: ValueStatement<[string, number], number>;
  readonly #isBuilding: ValueStatement<[number], number>;
  readonly #keepBuilding: Statement<[number, number]>;
  readonly #publish: Statement<[string, number, number, string, number]>;

  constructor(
    database: Database,
    parts: {
      readonly sessions: SessionTable;
      readonly events: EventTable;
      readonly contents: ContentTable;
      readonly summaries: SummaryTable;
      readonly removal: SessionRemoval;
      readonly queue: WriteQueue;
      readonly checkpoints: SliceCheckpoints;
      readonly now: () => number;
    },
  ) {
    this.#sessions = parts.sessions;
    this.#events = parts.events;
    this.#contents = parts.contents;
    this.#summaries = parts.summaries;
    this.#removal = parts.removal;
    this.#queue = parts.queue;
    this.#checkpoints = parts.checkpoints;
    this.#now = parts.now;
    this.#begin = database.prepareValue('INSERT INTO sessions (id, building_until) VALUES (?, ?) RETURNING key');
    this.#isBuilding = database.prepareValue('SELECT 1 FROM sessions WHERE key = ? AND building_until IS NOT NULL');
    this.#keepBuilding = database.prepare('UPDATE sessions SET building_until = ? WHERE key = ?');
    this.#publish = database.prepare(
      'UPDATE sessions SET id = ?, incarnation = ?, seq = ?, updated_at = ?, building_until = NULL WHERE key = ?',
    );
  }

  async fork(sessionId: string, target: string, options: ForkOptions): Promise<{ readonly seq: number }> {
    // As they are now: the caller may change its events while the copy is made.
    const closing = options.events.map(encodeEvent);
    for (;;) {
      const done = await this.#checkpoints.during(() => this.#attempt(sessionId, target, options, closing));
      if (done) return done;
    }
  }

  /** One copy from the beginning; undefined when the origin was erased meanwhile. */
  async #attempt(
    sessionId: string,
    target: string,
    options: ForkOptions,
    closing: readonly EncodedEvent[],
  ): Promise<{ readonly seq: number } | undefined> {
    const { origin, key } = await this.#queue.submitAlone(() => this.#start(sessionId, target, options));
    let copied: Copied | undefined = { seq: 0, summary: undefined };
    try {
      while (copied && copied.seq < options.at) {
        const from: Copied = copied;
        copied = await this.#queue.submitSlice(() => this.#slice(sessionId, origin, key, from, options.at));
        if (copied && copied.seq < options.at) await this.#checkpoints.checkpoint();
      }
      const all = copied;
      const end = all && (await this.#queue.submitAlone(() => this.#end(sessionId, target, origin, key, all, closing)));
      if (!end) await this.#discard(key);
      return end;
    } catch (error) {
      // A store that cannot be written to removes it later: the row is invisible.
      await this.#discard(key).catch(() => {});
      throw error;
    }
  }

  #start(
    sessionId: string,
    target: string,
    options: ForkOptions,
  ): { readonly origin: SessionRow; readonly key: number } {
    const origin = this.#sessions.findLivingAtHead(sessionId, options.incarnation);
    if (!origin) throw sessionNotFound(sessionId);
    checkFork({ id: sessionId, seq: origin.seq }, target, options);
    this.#checkTarget(target);
    // No session id has a NUL: this row is found by its key alone.
    const key = this.#begin.get(
      `\0fork:${lateModule('node:crypto').randomUUID()}`,
      this.#now() + ABANDONED_MS,
    ) as number;
    return { origin, key };
  }

  #checkTarget(target: string): void {
    if ((this.#sessions.findAtHead(target)?.seq ?? 0) > 0) throw forkTargetExists(target);
  }

  /** Whether what was copied so far is still what the origin holds. Throws when the origin was deleted. */
  #isCurrent(sessionId: string, origin: SessionRow, key: number): boolean {
    const now = this.#sessions.find(sessionId);
    if (now?.key !== origin.key) throw sessionGone(sessionId);
    return now.revision === origin.revision && this.#isBuilding.get(key) === 1;
  }

  #slice(sessionId: string, origin: SessionRow, key: number, from: Copied, until: number): Copied | undefined {
    if (!this.#isCurrent(sessionId, origin, key)) return undefined;
    this.#keepBuilding.run(this.#now() + ABANDONED_MS, key);
    const budget = new SliceBudget();
    let { seq, summary } = from;
    for (let room = true; room && seq < until; ) {
      const rows = this.#events.read(origin.key, seq, until, ROWS);
      if (rows.length === 0) throw new RefusedAfterWriting(gap(sessionId, seq + 1));
      for (const [row, at, type, data] of rows) {
        if (row !== seq + 1) throw new RefusedAfterWriting(gap(sessionId, seq + 1));
        room = budget.take(data.length);
        if (!room) break;
        this.#events.insert(key, row, row === 1 ? 'fork' : undefined, [{ at, type, data }]);
        summary = summarize(summary, decodeEvent(sessionId, row, at, type, data));
        seq = row;
      }
    }
    this.#contents.copyReferences(key, origin.key, from.seq, seq);
    return { seq, summary };
  }

  #end(
    sessionId: string,
    target: string,
    origin: SessionRow,
    key: number,
    copied: Copied,
    closing: readonly EncodedEvent[],
  ): { readonly seq: number } | undefined {
    if (!this.#isCurrent(sessionId, origin, key)) return undefined;
    this.#checkTarget(target);
    const empty = this.#sessions.find(target);
    // It may hold a lease, and no event: the fork takes its place.
    if (empty) this.#sessions.doom(empty.key, 0);
    this.#events.insert(key, copied.seq + 1, 'fork:end', closing);
    let { seq, summary } = copied;
    for (const { at, type, data } of closing) {
      summary = summarize(summary, decodeEvent(target, ++seq, at, type, data));
    }
    if (summary) this.#summaries.write(key, seq, summary);
    const incarnation = this.#sessions.nextIncarnation(target);
    this.#publish.run(target, incarnation, seq, closing.at(-1)?.at ?? '', key);
    return { seq };
  }

  async #discard(key: number): Promise<void> {
    await this.#queue.submitAlone(() => {
      if (this.#isBuilding.get(key) === 1) this.#sessions.doom(key, 0);
    });
    await this.#removal.removeAll(key);
  }
}

/** Folds one event into the summary of the fork. */
function summarize(summary: SessionSummary | undefined, event: SessionEvent): SessionSummary {
  try {
    return summarizeSession(summary, event);
  } catch (cause) {
    throw new RefusedAfterWriting(incompleteEvent(event.type, cause));
  }
}

interface Copied {
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
}
