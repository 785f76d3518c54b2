import type { NewEvent, SessionEvent } from '../core/log/events.ts';
import type { SessionSummary } from '../core/summary/session-summary.ts';
import { changesSummary } from '../core/summary/summary-change.ts';
import type { AppendOptions, Lease, SessionHead, SessionInfo, StoredSnapshot } from '../ports/store.ts';
import { type AppendedEvent, findRepeatedAppend, refuseStale, summarizeAppend } from './append-rules.ts';
import { DraftList } from './draft-list.ts';
import { decodeEvent, type EncodedEvent, encodeEvent } from './encoded-event.ts';
import type { MemoryLease } from './memory-leases.ts';
import { eventNotFound } from './refusals.ts';

interface LoggedEvent extends AppendedEvent {
  /** The external contents that the event refers to. */
  readonly contents?: readonly string[];
}

/** One session of a memory store: its log, lease, snapshot, drafts and contents. */
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
  readonly drafts: DraftList = new DraftList();
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

  /** Appends, unless the append is repeated, in which case `isNew` is false. */
  append(events: readonly NewEvent[], options: AppendOptions): { readonly seq: number; readonly isNew: boolean } {
    const encoded = events.map(encodeEvent);
    const repeated = findRepeatedAppend(this.id, this.#log, encoded, options);
    if (repeated !== undefined) return { seq: repeated, isNew: false };
    refuseStale(this.id, this, options);
    this.#summary = summarizeAppend(this.id, this.#summary, this.seq, encoded);
    for (const [i, event] of encoded.entries()) {
      const contents = options.contents?.filter((content) => content.event === i).map(({ hash }) => hash);
      this.#log.push({ ...event, ...(i === 0 && { appendId: options.id }), ...(contents?.length && { contents }) });
    }
    for (const { call, text } of options.callContents?.put ?? []) this.callContents.set(call, text);
    for (const call of options.callContents?.drop ?? []) this.callContents.delete(call);
    this.drafts.end(options.endsDrafts);
    return { seq: this.seq, isNew: true };
  }

  /** Up to `count` events after `after`, none beyond `until`. */
  read(after: number, until: number, count: number): readonly SessionEvent[] {
    return this.#log
      .slice(after, Math.min(after + count, until))
      .map(({ at, type, data }, i) => decodeEvent(this.id, after + i + 1, at, type, data));
  }

  /** Replaces an event; returns the contents that only the old event referred to. */
  replace(event: SessionEvent, contents: readonly string[]): readonly string[] {
    const before = this.#log[event.seq - 1];
    if (before === undefined) throw eventNotFound(this.id, event.seq);
    const { appendId, contents: referred = [] } = before;
    const kept = referred.filter((hash) => contents.includes(hash));
    const encoded = encodeEvent(event);
    const read = ({ at, type, data }: EncodedEvent) => decodeEvent(this.id, event.seq, at, type, data);
    if (changesSummary(read(before), read(encoded))) {
      this.#summary = summarizeAppend(this.id, undefined, 0, this.#log.with(event.seq - 1, encoded));
    }
    this.#log[event.seq - 1] = { ...encoded, ...(appendId !== undefined && { appendId }), contents: kept };
    this.snapshot = undefined;
    this.revision++;
    return referred.filter((hash) => !contents.includes(hash));
  }

  /** Every reference to external content, once for each event that has it. */
  references(): readonly string[] {
    return this.#log.flatMap(({ contents = [] }) => contents);
  }

  refersTo(hash: string): boolean {
    return this.#log.some(({ contents }) => contents?.includes(hash));
  }

  /** A new session that starts with this one's events. */
  fork(id: string, incarnation: number, at: number): MemorySession {
    const fork = new MemorySession(id, incarnation);
    const copied = this.#log.slice(0, at);
    fork.#summary = summarizeAppend(id, undefined, 0, copied);
    fork.#log = copied.map(({ appendId: _, ...event }, i) => (i === 0 ? { ...event, appendId: `fork:${id}` } : event));
    return fork;
  }

  get hasWork(): boolean {
    return this.#summary?.work !== undefined || this.#summary?.wakeAt !== undefined;
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
