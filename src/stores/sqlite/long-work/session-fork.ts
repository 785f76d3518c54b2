import { lateModule } from '../../late-module.ts';
import { gap } from '../../refusals.ts';
import type { ForkRows } from '../../shell/backend.ts';
import { RefusedAfterWriting, type WriteQueue } from '../connection/write-queue.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';
import type { ContentTable } from '../rows/content-table.ts';
import type { EventTable } from '../rows/event-table.ts';
import type { SessionTable } from '../rows/session-table.ts';
import type { SummaryTable } from '../rows/summary-table.ts';
import type { SessionRemoval } from './session-removal.ts';
import { SliceBudget } from './slice-budget.ts';
import type { SliceCheckpoints } from './slice-checkpoints.ts';

const ROWS = 64;
/** A fork that no slice was added to for this long is taken for one whose process died. */
const ABANDONED_MS = 10 * 60_000;

interface Parts {
  readonly sessions: SessionTable;
  readonly events: EventTable;
  readonly contents: ContentTable;
  readonly summaries: SummaryTable;
  readonly removal: SessionRemoval;
  readonly queue: WriteQueue;
  readonly checkpoints: SliceCheckpoints;
  readonly now: () => number;
}

/**
 * Copies a session's log into a new session, in short transactions.
 *
 *     begin: a row under an id that no session can have ─▶ slice, slice, slice ─▶ end: the row gets its id, and is there
 *                                                              │ origin erased or deleted
 *                                                              └─▶ removed
 */
export class SessionFork {
  readonly #parts: Parts;
  readonly #begin: ValueStatement<[string, number], number>;
  readonly #isBuilding: ValueStatement<[number], number>;
  readonly #keepBuilding: Statement<[number, number]>;
  readonly #publish: Statement<[string, number, number, string, number]>;

  constructor(database: Database, parts: Parts) {
    this.#parts = parts;
    this.#begin = database.prepareValue('INSERT INTO sessions (id, building_until) VALUES (?, ?) RETURNING key');
    this.#isBuilding = database.prepareValue('SELECT 1 FROM sessions WHERE key = ? AND building_until IS NOT NULL');
    this.#keepBuilding = database.prepare('UPDATE sessions SET building_until = ? WHERE key = ?');
    this.#publish = database.prepare(
      'UPDATE sessions SET id = ?, incarnation = ?, seq = ?, updated_at = ?, building_until = NULL WHERE key = ?',
    );
  }

  /** False when the origin is not at the fork's revision, or the target has events. */
  fork(origin: number, fork: ForkRows): Promise<boolean> {
    return this.#parts.checkpoints.during(() => this.#attempt(origin, fork));
  }

  async #attempt(origin: number, fork: ForkRows): Promise<boolean> {
    const { queue, checkpoints, now } = this.#parts;
    const { at, revision } = fork;
    // No session id has a NUL: this row is found by its key alone.
    const id = `\0fork:${lateModule('node:crypto').randomUUID()}`;
    const key = await queue.submitAlone(() => this.#begin.get(id, now() + ABANDONED_MS) as number);
    let isDone = false;
    try {
      let copied: number | undefined = 0;
      while (copied !== undefined && copied < at) {
        const from: number = copied;
        copied = await queue.submitSlice(() => this.#slice(origin, key, revision, from, at));
        if (copied !== undefined && copied < at) await checkpoints.checkpoint();
      }
      isDone = copied !== undefined && (await queue.submitAlone(() => this.#end(origin, key, fork)));
      return isDone;
    } finally {
      // A store that cannot be written to removes it later: the row is invisible.
      if (!isDone) await this.#discard(key).catch(() => {});
    }
  }

  /** Whether what was copied so far is still what the origin holds. */
  #isCurrent(origin: number, key: number, revision: number): boolean {
    return this.#parts.sessions.readAtHead(origin)?.revision === revision && this.#isBuilding.get(key) === 1;
  }

  #slice(origin: number, key: number, revision: number, after: number, until: number): number | undefined {
    if (!this.#isCurrent(origin, key, revision)) return undefined;
    const { events, contents, now } = this.#parts;
    this.#keepBuilding.run(now() + ABANDONED_MS, key);
    const budget = new SliceBudget();
    let seq = after;
    for (let room = true; room && seq < until; ) {
      const rows = events.read(origin, seq, until, ROWS);
      if (rows.length === 0) throw new RefusedAfterWriting(gap(String(origin), seq + 1));
      for (const [row, at, type, data] of rows) {
        room = budget.take(data.length);
        if (!room) break;
        events.insert(key, row, row === 1 ? 'fork' : undefined, [{ at, type, data }]);
        seq = row;
      }
    }
    contents.copyReferences(key, origin, after, seq);
    return seq;
  }

  #end(origin: number, key: number, { target, revision, at, events: closing, summary }: ForkRows): boolean {
    const { sessions, events, summaries } = this.#parts;
    const there = sessions.findAtHead(target);
    if (!this.#isCurrent(origin, key, revision) || (there?.seq ?? 0) > 0) return false;
    // It may hold a lease, and no event: the fork takes its place.
    if (there) sessions.doom(there.key, 0);
    events.insert(key, at + 1, 'fork:end', closing);
    summaries.write(key, summary);
    const incarnation = there?.incarnation ?? sessions.nextIncarnation(target);
    this.#publish.run(target, incarnation, summary.seq, closing.at(-1)?.at ?? '', key);
    return true;
  }

  async #discard(key: number): Promise<void> {
    const { queue, sessions, removal } = this.#parts;
    await queue.submitAlone(() => {
      if (this.#isBuilding.get(key) === 1) sessions.doom(key, 0);
    });
    await removal.removeAll(key);
  }
}
