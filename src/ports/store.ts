import type { DraftPosition } from '../core/draft-position.ts';
import type { DraftKind, NewEvent, SessionEvent } from '../core/events.ts';
import type { SessionSummary } from '../core/session-summary.ts';

export type { DraftPosition } from '../core/draft-position.ts';

/**
 * Where sessions live: an append-only log each, and around it leases, snapshots, drafts, contents and a search index.
 * `stores/conformance.ts` is this contract as a test suite; every store passes it.
 */

/** Where a session stands. */
export interface SessionHead {
  /** Which life of the session this is: 1 for the first, one more after each deletion. */
  readonly incarnation: number;
  /** The last seq, 0 for a session without events. */
  readonly seq: number;
  /** How many times an event was replaced: a fold made at another revision may hold erased text. */
  readonly revision: number;
}

/** Names the life of the session that the caller opened: any other is `SESSION_NOT_FOUND`. Absent: the present one. */
export interface IncarnationOption {
  readonly incarnation?: number;
}

/** A text stored outside its event, under the hash that names it (D58). The event owns a reference to it. */
export interface ContentWrite {
  /** The position of the event within the append, from 0. */
  readonly event: number;
  readonly hash: string;
  readonly text: string;
}

/** What an append does to contents that belong to one call and that only this session reads (D77). */
export interface CallContents {
  readonly put?: readonly { readonly call: string; readonly text: string }[];
  readonly drop?: readonly string[];
}

export interface AppendOptions extends IncarnationOption {
  /** Names this append, so that repeating one whose acknowledgement was lost writes nothing. */
  readonly id: string;
  /** The last seq the caller knows: 0 for a new session. */
  readonly expectedSeq: number;
  /** The fence of the caller's lease. Absent: the caller holds none and needs none (D51). */
  readonly fence?: number;
  /** Contents that the events refer to: stored in the same transaction. */
  readonly contents?: readonly ContentWrite[];
  readonly callContents?: CallContents;
  /** Drafts that end with this append: removed in the same transaction. */
  readonly endsDrafts?: readonly string[];
}

export interface ReadOptions extends IncarnationOption {
  /** Only events with a greater seq. */
  readonly after?: number;
  readonly limit?: number;
}

/** Events as they are read: one by one and, where a store can, page by page, which costs less for a long log. */
export interface EventReading extends AsyncIterable<SessionEvent> {
  pages?(): AsyncIterable<readonly SessionEvent[]>;
}

/**
 * The process that holds a lease. Boot id, pid namespace, pid and start time together identify a process; a holder that lacks
 * one of them is never called dead (D76).
 */
export interface LeaseHolder {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started, as the host counts: a reused pid has another. */
  readonly startedAt: string;
  /** The boot of the system that the process runs on; absent where the system does not say. */
  readonly bootId?: string;
  /** The namespace that the pid belongs to: two containers have processes of the same pid. */
  readonly pidNamespace?: string;
  /** Whether `run` holds the lease, which does whatever the session has left (D61). */
  readonly runs?: true;
}

export interface Lease {
  readonly fence: number;
  readonly holder: LeaseHolder;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly expiresAt: number;
  /** How many times the lease was renewed. */
  readonly renewals: number;
}

export interface AcquireLeaseOptions {
  readonly holder: LeaseHolder;
  readonly ttlMs: number;
  /**
   * Take over from this lease although it has not expired: its holder is known to be dead. Another fence, or a renewal since,
   * means that it is not.
   */
  readonly replacing?: Pick<Lease, 'fence' | 'renewals'>;
}

/** `acquired: false` comes with the live lease that stands in the way. */
export type LeaseAnswer =
  | { readonly acquired: true; readonly lease: Lease }
  | { readonly acquired: false; readonly lease: Lease };

/** Renews a lease until it is stopped, whatever the event loop is doing (D76). */
export interface LeaseKeeper {
  /** Milliseconds until the lease ends, by the clock that is worse for the holder; negative once it has ended. */
  remainingMs(): number;
  /** Renews now; false when the lease is no longer this fence's. */
  renew(): Promise<boolean>;
  stop(): void;
}

export interface KeepLeaseOptions {
  readonly ttlMs: number;
  /** Renewing ends when the event loop has been blocked for this long: a hung process loses its lease. */
  readonly maxBlockedMs?: number;
  /** Called once, when the lease turns out to be another holder's. */
  readonly onLost: () => void;
}

/** One piece of a response that is being streamed, or of a running call's progress (D53, D62). */
export interface DraftChunk extends DraftKind, DraftPosition {
  /** The draft it belongs to: the evaluation's id for a response, the call's for its progress. */
  readonly draftId: string;
  readonly evaluationId: string;
  readonly conversationId?: string;
  readonly turn: number;
  readonly attempt: number;
  readonly blockId: string;
  readonly delta: string;
  /** Where the delta begins in the stored text of its block, in UTF-16 units. Absent for progress, whose delta says it. */
  readonly offset?: number;
  /** The last seq that the writer had folded: a reader of both shows the chunk after that event and before the later ones. */
  readonly after?: number;
}

export interface ReadDraftOptions extends IncarnationOption {
  /** Only chunks after this position. */
  readonly after?: DraftPosition;
  readonly draftId?: string;
  readonly limit?: number;
}

/** A snapshot as the store keeps it: text that `parseSnapshot` checks when it is read. */
export interface StoredSnapshot {
  readonly seq: number;
  readonly data: string;
}

export interface WriteSnapshotOptions extends IncarnationOption {
  /** The revision of the log that was folded; a snapshot of another one is not kept: it may hold erased text. */
  readonly revision?: number;
  readonly fence?: number;
}

export interface ReplaceEventOptions extends IncarnationOption {
  /** The contents that the event still refers to. The others lose its reference, in the same transaction. */
  readonly contents?: readonly string[];
}

export interface ForkOptions extends IncarnationOption {
  /** How many of the origin's events are copied. */
  readonly at: number;
  /** What the fork goes on with. */
  readonly events: readonly NewEvent[];
}

export interface SessionInfo extends SessionSummary {
  readonly id: string;
  readonly seq: number;
  readonly updatedAt: string;
  /** The newest lease, expired or not, unless it was released. */
  readonly lease?: Lease;
}

export interface ListSessionsOptions {
  /** Sessions that carry every one of these tags. */
  readonly tags?: readonly string[];
  readonly status?: NonNullable<SessionSummary['status']>;
  /** Sessions in which a runner has something to do, now or at their `wakeAt`. */
  readonly work?: true;
  /** Sessions whose id begins so. */
  readonly idPrefix?: string;
  /** Sessions whose metadata holds these values. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** How many sessions a page has; 50 unless given. */
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
 * - `append` is atomic: all events are there, in order and without a gap, with their contents, or none is. It resolves when they
 *   are durable. `expectedSeq` other than the last seq: `SESSION_CONFLICT` with detail `sequence`. A `fence` other than the newest
 *   lease's: `SESSION_CONFLICT` with detail `fence` (which wins when both are stale). Either way nothing is written. No events: an
 *   error.
 * - A repeated append returns what the first returned and writes nothing. It is recognised by its id when it is the session's
 *   newest append or names the `expectedSeq` it named first. The same id with other events: `APPEND_ID_REUSED`.
 * - `read` yields a prefix-consistent log: events that were there when it began, in order. An unknown session yields none.
 * - A deleted session and one that was begun later under the same id are two incarnations. Whatever names the older one
 *   (`append`, `read`, snapshots, drafts, contents) is `SESSION_NOT_FOUND` and changes nothing, also while no newer one exists.
 * - A content is stored and referenced by the append of its event, and read through a session that refers to it. It goes with its
 *   last reference, in the transaction that replaces or deletes the event.
 * - A fence only rises, also across release, expiry and deletion of a session; deleting a session ends its lease and its fence.
 * - A session id is any text of 1 to 512 characters without NUL and lone surrogates; another is `INVALID_ARGUMENT`.
 * - `watch` calls back after an append or a draft of the session has committed, by whichever process; late, merged and spurious
 *   calls are allowed.
 * - Work on many events (deleting, forking) holds no lock for long, and is finished or undone after a crash.
 * - Every method rejects with a `HoldfastError`; after `close` with `SESSION_CLOSED`.
 */
export interface Store {
  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Promise<{ readonly seq: number }>;
  read(sessionId: string, options?: ReadOptions): EventReading;
  /** Where the session stands. For an unknown one: seq 0, and the incarnation that its first append begins. */
  head(sessionId: string): Promise<SessionHead>;
  watch(sessionId: string, listener: () => void): () => void;

  acquireLease(sessionId: string, options: AcquireLeaseOptions): Promise<LeaseAnswer>;
  /** False when the lease is no longer this fence's. */
  renewLease(sessionId: string, fence: number, ttlMs: number): Promise<boolean>;
  /** Renews a lease in the background until it is stopped. */
  keepLease(sessionId: string, fence: number, options: KeepLeaseOptions): LeaseKeeper;
  /**
   * Gives a lease back; a stale fence changes nothing. With `seq`: false, and the lease stays, when anything was appended since
   * (D61).
   */
  releaseLease(sessionId: string, fence: number, options?: { readonly seq?: number }): Promise<boolean>;
  /** The newest lease, expired or not, unless it was released. */
  readLease(sessionId: string): Promise<Lease | undefined>;

  /** Keeps the newest snapshot; an older one than the stored changes nothing, one beyond the log is `INVALID_ARGUMENT`. */
  writeSnapshot(sessionId: string, snapshot: StoredSnapshot, options?: WriteSnapshotOptions): Promise<void>;
  readSnapshot(sessionId: string, options?: IncarnationOption): Promise<StoredSnapshot | undefined>;

  /** Keeps chunks until an append ends their draft. A fence that is not the newest lease's is `SESSION_CONFLICT`. */
  appendDraft(
    sessionId: string,
    chunks: readonly DraftChunk[],
    options: IncarnationOption & { readonly fence: number },
  ): Promise<void>;
  /** Chunks by fence and number. */
  readDraft(sessionId: string, options?: ReadDraftOptions): Promise<readonly DraftChunk[]>;

  /** A content that an event of this session refers to; undefined for any other. */
  readContent(sessionId: string, hash: string, options?: IncarnationOption): Promise<string | undefined>;
  /** A content that belongs to a call of this session (D77). */
  readCallContent(sessionId: string, call: string, options?: IncarnationOption): Promise<string | undefined>;

  listSessions(options?: ListSessionsOptions): Promise<SessionPage>;
  /**
   * Full-text search over what was said, newest first: hits of the session that began last, and in it from the end. What is committed
   * when it is called is found. Optional.
   */
  search?(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /** Removes a session and all that belongs to it; contents another session refers to stay. False when there was none. */
  deleteSession(sessionId: string, options?: IncarnationOption): Promise<boolean>;
  /**
   * Copies the beginning of a session, with its contents, into a new one; neither drafts, lease nor contents of calls. The fork is
   * there when it is complete. It begins again when its origin was erased meanwhile, and is removed when it was deleted. A target
   * that exists is `SESSION_CONFLICT`.
   */
  forkSession(sessionId: string, target: string, options: ForkOptions): Promise<{ readonly seq: number }>;
  /**
   * Replaces the payload of one event, keeping its seq, for erasing what was said (D58); drops the stored snapshot and the hits.
   * Listings then show what the changed log adds up to.
   */
  replaceEvent(sessionId: string, event: SessionEvent, options?: ReplaceEventOptions): Promise<void>;

  check(): Promise<IntegrityReport>;
  close(): Promise<void>;
}
