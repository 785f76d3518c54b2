import { HoldfastError, messageOf } from '../core/errors.ts';
import type { NewEvent, SessionEvent } from '../core/events.ts';
import { type SessionSummary, summarizeSession } from '../core/session-summary.ts';
import type { AppendOptions, DraftChunk, Lease, SessionInfo, StoredSnapshot } from '../ports/store.ts';
import { refuseStale } from './append-rules.ts';
import { decodeEvent, type EncodedEvent, encodeEvent, sameEvents } from './encoded-event.ts';
import { appendIdReused, eventNotFound } from './refusals.ts';

interface LoggedEvent extends EncodedEvent {
  /** On the first event of an append. */
  readonly appendId?: string;
}

/** One session of a memory store: its log and all that lies around it. */
export class MemorySession {
  readonly id: string;
  readonly #log: LoggedEvent[] = [];
  #summary: SessionSummary | undefined;
  /** The fence of the newest lease, also after its release. */
  fence: number | undefined;
  lease: Lease | undefined;
  snapshot: StoredSnapshot | undefined;
  /** By evaluation, then by position. */
  readonly drafts: Map<string, Map<string, DraftChunk>> = new Map();
  readonly contents: Set<string> = new Set();

  constructor(id: string) {
    this.id = id;
  }

  get seq(): number {
    return this.#log.length;
  }

  append(events: readonly NewEvent[], options: AppendOptions): number {
    const encoded = events.map(encodeEvent);
    const repeated = this.#findRepeated(encoded, options);
    if (repeated !== undefined) return repeated;
    refuseStale(this.id, this, options);
    this.#summary = this.#summarize(encoded);
    for (const [i, event] of encoded.entries()) this.#log.push(i === 0 ? { ...event, appendId: options.id } : event);
    return this.seq;
  }

  /** The last seq of the append that this one repeats: the newest one, or the one made at the same place. */
  #findRepeated(events: readonly EncodedEvent[], { id, expectedSeq }: AppendOptions): number | undefined {
    const newest = this.#log.findLastIndex((event) => event.appendId !== undefined);
    const start = [expectedSeq, newest].find((index) => this.#log[index]?.appendId === id);
    if (start === undefined) return undefined;
    let end = start + 1;
    while (end < this.seq && this.#log[end]?.appendId === undefined) end++;
    if (!sameEvents(this.#log.slice(start, end), events)) throw appendIdReused(this.id, id);
    return end;
  }

  #summarize(events: readonly EncodedEvent[]): SessionSummary | undefined {
    let summary = this.#summary;
    for (const [i, { at, type, data }] of events.entries()) {
      const event = decodeEvent(this.id, this.seq + i + 1, at, type, data);
      try {
        summary = summarizeSession(summary, event);
      } catch (cause) {
        throw new HoldfastError('EVENT_INVALID', `event "${type}" lacks what its type promises: ${messageOf(cause)}`, {
          cause,
        });
      }
    }
    return summary;
  }

  /** Up to `count` events after `after`, none beyond `until`. */
  read(after: number, until: number, count: number): readonly SessionEvent[] {
    return this.#log
      .slice(after, Math.min(after + count, until))
      .map(({ at, type, data }, i) => decodeEvent(this.id, after + i + 1, at, type, data));
  }

  replace(event: SessionEvent): void {
    const before = this.#log[event.seq - 1];
    if (before === undefined) throw eventNotFound(this.id, event.seq);
    const { appendId } = before;
    this.#log[event.seq - 1] = { ...encodeEvent(event), ...(appendId !== undefined && { appendId }) };
    this.snapshot = undefined;
  }

  info(): SessionInfo | undefined {
    if (this.#summary === undefined) return undefined;
    return { ...structuredClone(this.#summary), id: this.id, seq: this.seq, updatedAt: this.#log.at(-1)?.at ?? '' };
  }
}
