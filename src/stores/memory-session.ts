import { HoldfastError, messageOf } from '../core/errors.ts';
import type { NewEvent, SessionEvent } from '../core/events.ts';
import { type SessionSummary, summarizeSession } from '../core/session-summary.ts';
import type { AppendOptions, DraftChunk, Lease, SessionHead, SessionInfo, StoredSnapshot } from '../ports/store.ts';
import { refuseStale } from './append-rules.ts';
import { boundedDrafts, compareDraftPositions, excessProgress } from './draft-rules.ts';
import { decodeEvent, type EncodedEvent, encodeEvent, sameEvents } from './encoded-event.ts';
import type { MemoryLease } from './memory-leases.ts';
import { appendIdReused, eventNotFound } from './refusals.ts';

interface LoggedEvent extends EncodedEvent {
  /** On the first event of an append. */
  readonly appendId?: string;
  /** The contents that the event refers to. */
  readonly contents?: readonly string[];
}

/** One session of a memory store: its log and all that lies around it. */
export class MemorySession {
  readonly id: string;
  readonly incarnation: number;
  revision = 0;
  #log: LoggedEvent[] = [];
  #summary: SessionSummary | undefined;
  /** The fence of the newest lease, also after its release. */
  fence: number | undefined;
  lease: MemoryLease | undefined;
  snapshot: StoredSnapshot | undefined;
  #drafts: DraftChunk[] = [];
  readonly callContents: Map<string, string> = new Map();

  constructor(id: string, incarnation: number) {
    this.id = id;
    this.incarnation = incarnation;
  }

  get seq(): number {
    return this.#log.length;
  }

  get head(): SessionHead {
    const { incarnation, seq, revision } = this;
    return { incarnation, seq, revision };
  }

  /** Appends, unless this append was made before; `isNew` says which. */
  append(events: readonly NewEvent[], options: AppendOptions): { readonly seq: number; readonly isNew: boolean } {
    const encoded = events.map(encodeEvent);
    const repeated = this.#findRepeated(encoded, options);
    if (repeated !== undefined) return { seq: repeated, isNew: false };
    refuseStale(this.id, this, options);
    this.#summary = this.#summarize(encoded);
    for (const [i, event] of encoded.entries()) {
      const contents = options.contents?.filter((content) => content.event === i).map(({ hash }) => hash);
      this.#log.push({ ...event, ...(i === 0 && { appendId: options.id }), ...(contents?.length && { contents }) });
    }
    for (const { call, text } of options.callContents?.put ?? []) this.callContents.set(call, text);
    for (const call of options.callContents?.drop ?? []) this.callContents.delete(call);
    const ended = new Set(options.endsDrafts);
    if (ended.size > 0) this.#drafts = this.#drafts.filter((chunk) => !ended.has(chunk.draftId));
    return { seq: this.seq, isNew: true };
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

  /** Replaces an event; returns the contents that it referred to and the new one does not. */
  replace(event: SessionEvent, contents: readonly string[]): readonly string[] {
    const before = this.#log[event.seq - 1];
    if (before === undefined) throw eventNotFound(this.id, event.seq);
    const { appendId, contents: referred = [] } = before;
    const kept = referred.filter((hash) => contents.includes(hash));
    const encoded = encodeEvent(event);
    this.#log[event.seq - 1] = { ...encoded, ...(appendId !== undefined && { appendId }), contents: kept };
    this.snapshot = undefined;
    this.revision++;
    return referred.filter((hash) => !contents.includes(hash));
  }

  /** Every reference to a content, once for each event that holds it. */
  references(): readonly string[] {
    return this.#log.flatMap(({ contents = [] }) => contents);
  }

  refersTo(hash: string): boolean {
    return this.#log.some(({ contents }) => contents?.includes(hash));
  }

  /** A session that begins with this one's events. */
  fork(id: string, incarnation: number, at: number): MemorySession {
    const fork = new MemorySession(id, incarnation);
    const copied = this.#log.slice(0, at);
    fork.#summary = fork.#summarize(copied);
    fork.#log = copied.map(({ appendId: _, ...event }, i) => (i === 0 ? { ...event, appendId: `fork:${id}` } : event));
    return fork;
  }

  addDraft(chunks: readonly DraftChunk[]): void {
    for (const chunk of chunks) {
      if (this.#drafts.some((known) => compareDraftPositions(known, chunk) === 0)) continue;
      this.#drafts.push({ ...chunk });
    }
    this.#drafts.sort(compareDraftPositions);
    for (const draftId of boundedDrafts(chunks)) {
      const own = this.#drafts.filter((chunk) => chunk.draftId === draftId);
      const dropped = new Set(own.slice(0, excessProgress(own.map(({ delta }) => delta.length))));
      this.#drafts = this.#drafts.filter((chunk) => !dropped.has(chunk));
    }
  }

  get drafts(): readonly DraftChunk[] {
    return this.#drafts;
  }

  info(lease: Lease | undefined): SessionInfo | undefined {
    if (this.#summary === undefined) return undefined;
    return {
      ...structuredClone(this.#summary),
      id: this.id,
      seq: this.seq,
      updatedAt: this.#log.at(-1)?.at ?? '',
      ...(lease && { lease }),
    };
  }
}
