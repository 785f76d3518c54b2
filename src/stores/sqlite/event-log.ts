import { HoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import type { AppendOptions } from '../../ports/store.ts';
import { refuseStale } from '../append-rules.ts';
import { type EncodedEvent, sameEvents } from '../encoded-event.ts';
import { appendIdReused, incompleteEvent } from '../refusals.ts';
import type { ContentTable } from './content-table.ts';
import type { DraftTable } from './draft-table.ts';
import { type EventTable, MAX_SEQ } from './event-table.ts';
import type { SessionAtHead, SessionRow, SessionTable } from './session-table.ts';
import type { LogPosition, SummaryTable } from './summary-table.ts';
import { RefusedAfterWriting } from './write-queue.ts';

const MAX_KNOWN = 1024;

/** Which session an append goes to. */
interface Place extends Pick<SessionRow, 'key' | 'incarnation' | 'revision'> {
  /** The session's fence, if it was looked at. */
  readonly fence: number | null;
}

/** What an append wrote. */
interface Written extends Place {
  readonly seq: number;
  /** Of its last event. */
  readonly position: number;
  readonly appendId: string;
  readonly summary: SessionSummary;
  /** Of the transaction that wrote it. */
  readonly epoch: number;
}

/** Where the session stands after an append, and what was written: nothing when the append had been made before. */
export interface Appended {
  readonly seq: number;
  readonly written?: Written;
}

/** Whether the append wrote its events; a repetition did not. */
export function isWritten({ written }: Appended): boolean {
  return written !== undefined;
}

/** Appending: who may, and whether it was done before. Always within a write transaction. */
export class EventLog {
  readonly #sessions: SessionTable;
  readonly #events: EventTable;
  readonly #contents: ContentTable;
  readonly #drafts: DraftTable;
  readonly #summaries: SummaryTable;
  readonly #epoch: () => number;
  /** Sessions that were written to last. A key is never used again. */
  readonly #known = new Map<string, Written>();

  constructor(parts: {
    readonly sessions: SessionTable;
    readonly events: EventTable;
    readonly contents: ContentTable;
    readonly drafts: DraftTable;
    readonly summaries: SummaryTable;
    /** As `WriteQueue.epoch`. */
    readonly epoch: () => number;
  }) {
    this.#sessions = parts.sessions;
    this.#events = parts.events;
    this.#contents = parts.contents;
    this.#drafts = parts.drafts;
    this.#summaries = parts.summaries;
    this.#epoch = parts.epoch;
  }

  /** `read` are the same events, with the fields that a summary reads. */
  append(
    sessionId: string,
    read: readonly SessionEvent[],
    encoded: readonly EncodedEvent[],
    options: AppendOptions,
  ): Appended {
    const { id: appendId, expectedSeq } = options;
    const seq = expectedSeq + encoded.length;
    const known = this.#known.get(sessionId);
    let place = known && this.#continue(known, options);
    if (!place) {
      const session = this.#sessions.findLivingAtHead(sessionId, options.incarnation);
      const repeated = session && this.#findRepeated(session, sessionId, encoded, options);
      if (repeated !== undefined) return { seq: repeated };
      refuseStale(sessionId, { seq: session?.seq ?? 0, fence: session?.fence ?? undefined }, options);
      place = session ?? this.#create(sessionId);
    }
    if (seq > MAX_SEQ) throw new HoldfastError('STORE_FULL', `session ${sessionId} has ${MAX_SEQ} events; fork it`);
    const { key, incarnation, revision, fence } = place;
    // Before the events are written, which may write the summary of what they say as well.
    const summary = this.#summarize({ key, revision, seq: expectedSeq }, read);
    const position = this.#events.insert(key, expectedSeq + 1, appendId, encoded);
    this.#keepBeside(key, expectedSeq, options);
    const epoch = this.#epoch();
    return { seq, written: { key, incarnation, revision, fence, seq, position, appendId, summary, epoch } };
  }

  /** The session, when an append continues where the last one of this process ended, which is almost always so. */
  #continue(known: Written, { id, expectedSeq, incarnation, fence }: AppendOptions): Place | undefined {
    if (known.seq !== expectedSeq || known.appendId === id) return undefined;
    if (incarnation !== undefined && incarnation !== known.incarnation) return undefined;
    // Nothing but single appends of this process came after that one: the database need not be read.
    if (known.epoch === this.#epoch() && (fence === undefined || fence === known.fence)) return known;
    return this.#sessions.isAt(known, fence) ? { ...known, fence: fence ?? null } : undefined;
  }

  #create(sessionId: string): Place {
    const incarnation = this.#sessions.nextIncarnation(sessionId);
    return { key: this.#sessions.create(sessionId), incarnation, revision: 0, fence: null };
  }

  /** What an append keeps outside its events, and what ends with it. */
  #keepBeside(key: number, expectedSeq: number, { contents, callContents, endsDrafts }: AppendOptions): void {
    for (const { event, hash, text } of contents ?? []) {
      this.#contents.write(key, expectedSeq + 1 + event, hash, JSON.stringify(text));
    }
    if (callContents) this.#contents.change(key, callContents);
    if (endsDrafts) this.#drafts.end(key, endsDrafts);
  }

  /** After the commit: the next append need not look for the session, nor read its summary again. */
  remember(sessionId: string, written: Written): void {
    this.#known.set(sessionId, written);
    this.#summaries.remember(written);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** Where the append ended that this one repeats: the one made at the same place, or the session's last. */
  #findRepeated(
    { key, seq: head }: SessionAtHead,
    sessionId: string,
    events: readonly EncodedEvent[],
    { id, expectedSeq }: AppendOptions,
  ): number | undefined {
    const { length } = events;
    const isLast = this.#events.lastAppend(key) === id;
    const starts = [...(expectedSeq < head ? [expectedSeq] : []), ...(isLast ? [head - length] : [])];
    for (const after of starts) {
      const [first, ...rest] = after < 0 ? [] : this.#events.readAppended(key, after, after + length + 1);
      if (first?.append_id !== id) continue;
      const next = rest.findIndex((row) => row.append_id !== null);
      if (sameEvents([first, ...(next === -1 ? rest : rest.slice(0, next))], events)) return after + length;
      throw appendIdReused(sessionId, id);
    }
    if (isLast) throw appendIdReused(sessionId, id);
    return undefined;
  }

  /** Folds the events of an append into the summary of what was before them; refuses events that lack what a summary reads. */
  #summarize(before: LogPosition, events: readonly SessionEvent[]): SessionSummary {
    let summary = this.#summaries.read(before);
    for (const event of events) {
      try {
        summary = summarizeSession(summary, event);
      } catch (cause) {
        throw new RefusedAfterWriting(incompleteEvent(event.type, cause));
      }
    }
    if (summary === undefined) throw new TypeError('an append has events');
    return summary;
  }
}
