import { HoldfastError } from '../../../core/errors.ts';
import type { AppendRows } from '../../shell/backend.ts';
import type { ContentTable } from './content-table.ts';
import type { DraftTable } from './draft-table.ts';
import { type EventTable, MAX_SEQ } from './event-table.ts';
import type { SessionRow, SessionTable } from './session-table.ts';
import type { SummaryTable } from './summary-table.ts';

const MAX_KNOWN = 1024;

/** Which session an append goes to. */
interface Place extends Pick<SessionRow, 'key' | 'incarnation' | 'revision'> {
  /** The session's fence, if it was looked at. */
  readonly fence: number | null;
}

/** What an append wrote. */
export interface Written extends Place {
  readonly seq: number;
  /** Of its last event. */
  readonly position: number;
  readonly appendId: string;
  /** Of the transaction that wrote it. */
  readonly epoch: number;
}

/** Appending, within a write transaction. */
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

  /** Undefined when the session is not as the append needs it: then nothing was written. */
  append(sessionId: string, append: AppendRows<number>): Written | undefined {
    const { id: appendId, expectedSeq, events, summary } = append;
    const place = this.#continue(sessionId, append) ?? this.#find(sessionId, append);
    if (!place) return undefined;
    const seq = expectedSeq + events.length;
    if (seq > MAX_SEQ) throw new HoldfastError('STORE_FULL', `session ${sessionId} has ${MAX_SEQ} events; fork it`);
    const { key, incarnation, revision, fence } = place;
    const position = this.#events.insert(key, expectedSeq + 1, appendId, events);
    if (summary) this.#summaries.write(key, summary);
    for (const content of append.contents) this.#contents.write(key, content);
    for (const { call, text } of append.putCalls) this.#contents.putCall(key, call, text);
    for (const call of append.dropCalls) this.#contents.dropCall(key, call);
    if (append.endsDrafts.length > 0) this.#drafts.end(key, append.endsDrafts);
    return { key, incarnation, revision, fence, seq, position, appendId, epoch: this.#epoch() };
  }

  /** The session, when an append continues where the last one of this process ended, which is almost always so. */
  #continue(sessionId: string, append: AppendRows<number>): Place | undefined {
    const known = this.#known.get(sessionId);
    const { key, id, expectedSeq, revision, incarnation, fence } = append;
    if (known === undefined || known.key !== key || known.revision !== revision) return undefined;
    if (known.seq !== expectedSeq || known.appendId === id) return undefined;
    if (incarnation !== undefined && incarnation !== known.incarnation) return undefined;
    // Nothing but single appends of this process came after that one: the database need not be read.
    if (known.epoch === this.#epoch() && (fence === undefined || fence === known.fence)) return known;
    return this.#sessions.isAt(known, fence) ? { ...known, fence: fence ?? null } : undefined;
  }

  #find(
    sessionId: string,
    { key, incarnation, expectedSeq, revision, fence, id }: AppendRows<number>,
  ): Place | undefined {
    const session = this.#sessions.findAtHead(sessionId);
    const life = session?.incarnation ?? this.#sessions.nextIncarnation(sessionId);
    if ((incarnation ?? life) !== life || (fence ?? null) !== (fence === undefined ? null : (session?.fence ?? null))) {
      return undefined;
    }
    if (!session) return expectedSeq === 0 ? this.#create(sessionId, life) : undefined;
    if (session.seq !== expectedSeq) return undefined;
    if (expectedSeq === 0) return session;
    const isSame = session.key === key && session.revision === revision;
    return isSame && this.#events.lastAppend(session.key) !== id ? session : undefined;
  }

  #create(sessionId: string, incarnation: number): Place {
    return { key: this.#sessions.create(sessionId, incarnation), incarnation, revision: 0, fence: null };
  }

  /** After the commit: the next append need not look for the session. */
  remember(sessionId: string, written: Written): void {
    this.#known.set(sessionId, written);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
