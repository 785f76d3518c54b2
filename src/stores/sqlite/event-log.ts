import type { Database, Statement } from 'better-sqlite3';
import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/session-summary.ts';
import type { AppendOptions } from '../../ports/store.ts';
import { decodeEvent, type EncodedEvent, encodeEvent, sameEvents } from '../encoded-event.ts';
import { appendIdReused, fenceConflict, sequenceConflict } from '../refusals.ts';
import type { SessionRow, SessionTable } from './session-table.ts';
import { RefusedAfterWriting } from './write-queue.ts';

/**
 * The logs. An append is one conditional update of its session's row, which checks sequence, fence and append id at once,
 * and one insert for each event. Only when the update finds no row is it worth asking why.
 *
 * `id` is `key << 32 | seq`, always computed in SQL: it exceeds what a JavaScript number holds exactly.
 */

const MAX_SEQ = 0xffff_ffff;
const MAX_CACHED_SUMMARIES = 1024;

/** The newest append of a session, as its caller gets to know it. */
export interface Appended {
  readonly key: number;
  readonly seq: number;
  /** False when this was a repetition. */
  readonly written: boolean;
  readonly summary?: SessionSummary;
}

/** A row as it lies in the table, its payload unread. */
export type EventRow = readonly [seq: number, at: string, type: string, data: string];

export class EventLog {
  readonly #sessions: SessionTable;
  readonly #advance: Statement<[number, string, string, string, number, string, number | null, number | null], number>;
  readonly #insert: Statement<[number, number, string | null, string, string, string]>;
  readonly #page: Statement<[number, number, number, number, number], EventRow>;
  readonly #appendIdAt: Statement<[number, number], string | null>;
  readonly #startOfNewest: Statement<[number, number, number], number>;
  readonly #startAfter: Statement<[number, number, number, number], number>;
  readonly #replace: Statement<[string, string, string, number, number]>;
  /** The summary at a seq never changes, and keys are never used again. */
  readonly #summaries = new Map<number, { readonly seq: number; readonly summary: SessionSummary }>();

  constructor(database: Database, sessions: SessionTable) {
    this.#sessions = sessions;
    this.#advance = database
      .prepare<[number, string, string, string, number, string, number | null, number | null], number>(
        `UPDATE sessions SET seq = seq + ?, updated_at = ?, last_append = ?
         WHERE id = ? AND seq = ? AND last_append IS NOT ? AND (? IS NULL OR fence = ?) RETURNING key`,
      )
      .pluck();
    this.#insert = database.prepare(
      'INSERT INTO events (id, append_id, at, type, data) VALUES ((? << 32) | ?, ?, ?, ?, ?)',
    );
    this.#page = database
      .prepare<[number, number, number, number, number], EventRow>(
        `SELECT id & ${MAX_SEQ}, at, type, data FROM events
         WHERE id > ((? << 32) | ?) AND id <= ((? << 32) | ?) ORDER BY id LIMIT ?`,
      )
      .raw();
    this.#appendIdAt = database
      .prepare<[number, number], string | null>('SELECT append_id FROM events WHERE id = ((? << 32) | ?)')
      .pluck();
    this.#startOfNewest = database
      .prepare<[number, number, number], number>(
        `SELECT id & ${MAX_SEQ} FROM events WHERE id > (? << 32) AND id <= ((? << 32) | ?) AND append_id IS NOT NULL
         ORDER BY id DESC LIMIT 1`,
      )
      .pluck();
    this.#startAfter = database
      .prepare<[number, number, number, number], number>(
        `SELECT id & ${MAX_SEQ} FROM events WHERE id > ((? << 32) | ?) AND id <= ((? << 32) | ?) AND append_id IS NOT NULL
         ORDER BY id LIMIT 1`,
      )
      .pluck();
    this.#replace = database.prepare('UPDATE events SET at = ?, type = ?, data = ? WHERE id = ((? << 32) | ?)');
  }

  /** To be run in a transaction. */
  append(
    sessionId: string,
    events: readonly NewEvent[],
    encoded: readonly EncodedEvent[],
    options: AppendOptions,
  ): Appended {
    const { id, expectedSeq, fence = null } = options;
    const { length } = encoded;
    const seq = expectedSeq + length;
    if (seq > MAX_SEQ) {
      throw new HoldfastError('STORE_FULL', `session ${sessionId} would exceed ${MAX_SEQ} events; fork it`);
    }
    const at = encoded[length - 1]?.at ?? '';
    let key = this.#advance.get(length, at, id, sessionId, expectedSeq, id, fence, fence);
    if (key === undefined) {
      const session = this.#sessions.find(sessionId);
      const repeated = session && this.#findRepeated(session, sessionId, encoded, options);
      if (repeated) return repeated;
      this.#refuse(session, sessionId, options);
      key = this.#sessions.create(sessionId);
      this.#advance.get(length, at, id, sessionId, expectedSeq, id, null, null);
    }
    for (let i = 0; i < length; i++) {
      const event = encoded[i] as EncodedEvent;
      this.#insert.run(key, expectedSeq + i + 1, i === 0 ? id : null, event.at, event.type, event.data);
    }
    return { key, seq, written: true, summary: this.#summarize(key, expectedSeq, events) };
  }

  /** After the commit: the next append need not read the summary again. */
  remember({ key, seq, summary }: Appended): void {
    if (summary === undefined) return;
    this.#summaries.delete(key);
    this.#summaries.set(key, { seq, summary });
    if (this.#summaries.size <= MAX_CACHED_SUMMARIES) return;
    for (const oldest of this.#summaries.keys()) {
      this.#summaries.delete(oldest);
      break;
    }
  }

  /** Up to `count` events after `after`, none beyond `until`. */
  page(key: number, sessionId: string, after: number, until: number, count: number): SessionEvent[] {
    return this.rows(key, after, until, count).map(([seq, at, type, data]) =>
      decodeEvent(sessionId, seq, at, type, data),
    );
  }

  rows(key: number, after: number, until: number, count: number): EventRow[] {
    return this.#page.all(key, after, key, until, count);
  }

  /** Gives an event another payload; false when there is no such event. */
  replace(key: number, event: SessionEvent): boolean {
    const { at, type, data } = encodeEvent(event);
    return this.#replace.run(at, type, data, key, event.seq).changes > 0;
  }

  /** Throws what stands in the way of an append that changed no row; returns when the session is only yet to be made. */
  #refuse(session: SessionRow | undefined, sessionId: string, { expectedSeq, fence }: AppendOptions): void {
    const current = session?.fence ?? undefined;
    if (fence !== undefined && fence !== current) throw fenceConflict(sessionId, current, fence);
    if (session || expectedSeq !== 0) throw sequenceConflict(sessionId, session?.seq ?? 0, expectedSeq);
  }

  /** The append that this one repeats: the one made at the same place, or the newest. */
  #findRepeated(
    session: SessionRow,
    sessionId: string,
    events: readonly EncodedEvent[],
    { id, expectedSeq }: AppendOptions,
  ): Appended | undefined {
    const { key, seq: head, last_append } = session;
    let start: number | undefined;
    if (this.#appendIdAt.get(key, expectedSeq + 1) === id) start = expectedSeq + 1;
    else if (last_append === id) start = this.#startOfNewest.get(key, key, head);
    if (start === undefined) return undefined;
    const end = (this.#startAfter.get(key, start, key, head) ?? head + 1) - 1;
    const stored = this.rows(key, start - 1, end, events.length + 1).map(
      ([, at, type, data]): EncodedEvent => ({ at, type, data }),
    );
    if (!sameEvents(stored, events)) throw appendIdReused(sessionId, id);
    return { key, seq: end, written: false };
  }

  #summarize(key: number, seqBefore: number, events: readonly NewEvent[]): SessionSummary {
    const cached = this.#summaries.get(key);
    const before = cached?.seq === seqBefore ? cached.summary : this.#sessions.readSummary(key);
    let summary = before;
    for (const event of events) {
      try {
        summary = summarizeSession(summary, event as SessionEvent);
      } catch (cause) {
        const why = `event "${event.type}" lacks what its type promises: ${messageOf(cause)}`;
        throw new RefusedAfterWriting(new HoldfastError('EVENT_INVALID', why, { cause }));
      }
    }
    if (summary === undefined) throw new TypeError('an append has events');
    return summary === before ? summary : this.#sessions.writeSummary(key, summary);
  }
}
