import type { DraftKind, NewEvent, SessionEvent } from '../core/events.ts';
import type { SessionSummary } from '../core/session-summary.ts';

/**
 * Where sessions live: an append-only log each, and around it leases, snapshots, drafts, contents and a search index.
 * `stores/conformance.ts` is this contract as a test suite; every store passes it.
 */

export interface AppendOptions {
  /** Names this append, so that repeating one whose acknowledgement was lost writes nothing. */
  readonly id: string;
  /** The last seq the caller knows: 0 for a new session. */
  readonly expectedSeq: number;
  /** The fence of the caller's lease. Absent: the caller holds none and needs none (D51). */
  readonly fence?: number;
}

export interface ReadOptions {
  /** Only events with a greater seq. */
  readonly after?: number;
  readonly limit?: number;
}

/** Events as they are read: one by one and, where a store can, page by page, which costs less for a long log. */
export interface EventReading extends AsyncIterable<SessionEvent> {
  pages?(): AsyncIterable<readonly SessionEvent[]>;
}

/** Who holds a lease: enough to tell, on the same host, whether that process still lives. */
export interface LeaseHolder {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started, as the host counts: a reused pid has another. */
  readonly startedAt: string;
}

export interface Lease {
  readonly fence: number;
  readonly holder: LeaseHolder;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly expiresAt: number;
}

export interface AcquireLeaseOptions {
  readonly holder: LeaseHolder;
  readonly ttlMs: number;
  /** Take over from the holder of this fence although its lease has not expired: its process is known to be dead. */
  readonly replacing?: number;
}

/** `acquired: false` comes with the live lease that stands in the way. */
export type LeaseAnswer =
  | { readonly acquired: true; readonly lease: Lease }
  | { readonly acquired: false; readonly lease: Lease };

/** One piece of an answer that is being streamed (D53). */
export interface DraftChunk extends DraftKind {
  readonly evaluationId: string;
  readonly turn: number;
  readonly attempt: number;
  /** Position within the attempt, from 1, counted across its blocks. */
  readonly n: number;
  readonly blockId: string;
  readonly delta: string;
}

/** A snapshot as the store keeps it: text that `parseSnapshot` checks when it is read. */
export interface StoredSnapshot {
  readonly seq: number;
  readonly data: string;
}

export interface SessionInfo extends SessionSummary {
  readonly id: string;
  readonly seq: number;
  readonly updatedAt: string;
}

export interface ListSessionsOptions {
  /** Sessions that carry every one of these tags. */
  readonly tags?: readonly string[];
  readonly status?: NonNullable<SessionSummary['status']>;
  /** Sessions whose id begins so. */
  readonly idPrefix?: string;
  /** Sessions whose metadata holds these values. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** Newest activity first. */
export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  readonly next?: string;
}

export interface SearchOptions {
  readonly sessionId?: string;
  readonly limit?: number;
}

export interface SearchHit {
  readonly sessionId: string;
  readonly seq: number;
  readonly at: string;
  readonly role: string;
  /** The text around the hit, the matched words between `⟦` and `⟧`. */
  readonly excerpt: string;
}

export interface IntegrityReport {
  readonly ok: boolean;
  /** What is wrong, in sentences: a gap in a log, a damaged page, content that is missing. */
  readonly problems: readonly string[];
  readonly sessions: number;
  readonly events: number;
}

/**
 * Contract:
 * - `append` is atomic: all events are there, in order and without a gap, or none is. It resolves when they are durable.
 *   `expectedSeq` other than the last seq: `SESSION_CONFLICT` with detail `sequence`. A `fence` other than the newest lease's:
 *   `SESSION_CONFLICT` with detail `fence` (which wins when both are stale). Either way nothing is written. No events: an error.
 * - A repeated append returns what the first returned and writes nothing. It is recognised by its id when it is the session's
 *   newest append or names the `expectedSeq` it named first. The same id with other events: `APPEND_ID_REUSED`.
 * - `read` yields a prefix-consistent log: events that were there when it began, in order. An unknown session yields none.
 * - A fence only rises, also across release, expiry and deletion of a session; deleting a session ends its lease and its fence.
 * - A session id is any text of 1 to 512 characters without NUL and lone surrogates; another is `INVALID_ARGUMENT`.
 * - `watch` calls back after an append to the session has committed, by whichever process; late, merged and spurious calls are allowed.
 * - Every method rejects with a `HoldfastError`; after `close` with `SESSION_CLOSED`.
 */
export interface Store {
  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Promise<{ readonly seq: number }>;
  read(sessionId: string, options?: ReadOptions): EventReading;
  /** The last seq, 0 for an unknown session. */
  head(sessionId: string): Promise<number>;
  watch(sessionId: string, listener: () => void): () => void;

  acquireLease(sessionId: string, options: AcquireLeaseOptions): Promise<LeaseAnswer>;
  /** False when the lease is no longer this fence's. */
  renewLease(sessionId: string, fence: number, ttlMs: number): Promise<boolean>;
  /** Gives a lease back; a stale fence changes nothing. */
  releaseLease(sessionId: string, fence: number): Promise<void>;
  /** The newest lease, expired or not, unless it was released. */
  readLease(sessionId: string): Promise<Lease | undefined>;

  /** Keeps the newest snapshot; an older one than the stored changes nothing, one beyond the log is `INVALID_ARGUMENT`. */
  writeSnapshot(sessionId: string, snapshot: StoredSnapshot): Promise<void>;
  readSnapshot(sessionId: string): Promise<StoredSnapshot | undefined>;

  appendDraft(sessionId: string, chunks: readonly DraftChunk[]): Promise<void>;
  /** The chunks of an evaluation's drafts, by turn, attempt and number. */
  readDraft(sessionId: string, evaluationId: string): Promise<readonly DraftChunk[]>;
  deleteDraft(sessionId: string, evaluationId: string): Promise<void>;

  /** Keeps a large content apart under the hash that names it; writing it again changes nothing. */
  writeContent(sessionId: string, hash: string, text: string): Promise<void>;
  readContent(hash: string): Promise<string | undefined>;

  listSessions(options?: ListSessionsOptions): Promise<SessionPage>;
  /** Full-text search over what was said. What is committed when it is called is found. */
  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /** Removes a session and all that belongs to it; contents another session refers to stay. False when there was none. */
  deleteSession(sessionId: string): Promise<boolean>;
  /** Replaces the payload of one event, keeping its seq, for erasing what was said (D58); drops the stored snapshot and the hits. */
  replaceEvent(sessionId: string, event: SessionEvent, droppedContents?: readonly string[]): Promise<void>;

  check(): Promise<IntegrityReport>;
  /** Writes a consistent copy to a file that does not exist yet, while others read and write. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}
