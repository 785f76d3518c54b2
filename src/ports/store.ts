import type { DraftPosition } from '../core/log/draft-position.ts';
import type { DraftKind, NewEvent, SessionEvent } from '../core/log/events.ts';
import type { SessionSummary } from '../core/summary/session-summary.ts';

export type { DraftPosition } from '../core/log/draft-position.ts';

/**
 * Where sessions are stored: one append-only log each, with its leases, snapshots, drafts, external contents and search index.
 * `stores/conformance.ts` is this contract as a test suite; every store passes it.
 */

/** The newest position of a session's log. */
export interface SessionHead {
  /** 1 for the first session with this id, one more after each deletion. */
  readonly incarnation: number;
  /** The last seq, 0 for a session without events. */
  readonly seq: number;
  /** How many times an event was replaced: a fold made at another revision may hold erased text. */
  readonly revision: number;
}

/** The incarnation that the caller opened: any other is `SESSION_NOT_FOUND`. Absent: the current one. */
export interface IncarnationOption {
  readonly incarnation?: number;
}

/** External content: a text stored outside its event, under the hash that names it (D58). The event owns a reference to it. */
export interface ContentWrite {
  /** The position of the event within the append, from 0. */
  readonly event: number;
  readonly hash: string;
  readonly text: string;
}

/** Contents that belong to one call and that only this session reads (D77): which ones an append stores and drops. */
export interface CallContents {
  readonly put?: readonly { readonly call: string; readonly text: string }[];
  readonly drop?: readonly string[];
}

/** Options of `Store.append`. */
export interface AppendOptions extends IncarnationOption {
  /** Identifies this append: repeating it after a lost acknowledgement writes nothing. */
  readonly id: string;
  /** The last seq that the caller has read: 0 for a new session. */
  readonly expectedSeq: number;
  /** The fence of the caller's lease. Absent: the append needs no lease (D51). */
  readonly fence?: number;
  /** External contents that the events refer to: stored in the same transaction. */
  readonly contents?: readonly ContentWrite[];
  readonly callContents?: CallContents;
  /** Drafts that end with this append: removed in the same transaction. */
  readonly endsDrafts?: readonly string[];
  /**
   * The append may resolve before it is synced: a crash of the process cannot undo it, a power failure can. The store syncs it with its
   * next commit, or at the end of this turn of the event loop if there is none. A store may ignore this option.
   */
  readonly syncLater?: true;
}

/** Options of `Store.read`. */
export interface ReadOptions extends IncarnationOption {
  /** Only events with a greater seq. */
  readonly after?: number;
  readonly limit?: number;
}

/** Events one by one or, if the store supports it, page by page, which costs less for a long log. */
export interface EventReading extends AsyncIterable<SessionEvent> {
  pages?(): AsyncIterable<readonly SessionEvent[]>;
}

/**
 * The process that holds a lease. Boot id, pid namespace, pid and start time together identify a process; a holder that lacks
 * one of them is never considered dead (D76).
 */
export interface LeaseHolder {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started, in the host's units: a reused pid has another start time. */
  readonly startedAt: string;
  /** The boot of the system that the process runs on; absent if the system does not provide one. */
  readonly bootId?: string;
  /** The namespace that the pid belongs to: processes in two containers can have the same pid. */
  readonly pidNamespace?: string;
  /** Whether the holder is `run`, which does all the work that the session has left (D61). */
  readonly runs?: true;
}

/** The right to run a session, and the process that holds it. */
export interface Lease {
  readonly fence: number;
  readonly holder: LeaseHolder;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly expiresAt: number;
  /** How many times the lease was renewed. */
  readonly renewals: number;
}

/** Options of `Store.acquireLease`. */
export interface AcquireLeaseOptions {
  readonly holder: LeaseHolder;
  readonly ttlMs: number;
  /**
   * Take over this lease although it has not expired, because its holder is dead. If the lease has another fence, or was renewed
   * since, the holder is alive and the lease is not acquired.
   */
  readonly replacing?: Pick<Lease, 'fence' | 'renewals'>;
}

/**
 * What `acquireLease` returns. Look at `acquired` before you use `lease`: with `acquired: false` it is the live lease of the other holder,
 * and its fence is not yours. Both variants have a `lease`, so the compiler does not remind you.
 */
export type LeaseAttempt =
  | { readonly acquired: true; readonly lease: Lease }
  | { readonly acquired: false; readonly lease: Lease };

/**
 * Renews a lease until it is stopped (D76). The keepers of SQLite and of a PostgreSQL store with an address renew in a thread, even while
 * the event loop is blocked. Those of `LeaseKeepers` in `holdfast/store` renew by timers, which a blocked event loop delays.
 */
export interface LeaseKeeper {
  /** Milliseconds until the lease ends, by the clock that leaves less time; negative once it has ended. */
  remainingMs(): number;
  /** Renews now; false when another holder has the lease. */
  renew(): Promise<boolean>;
  stop(): void;
}

/** Options of `Store.keepLease`. */
export interface KeepLeaseOptions {
  readonly ttlMs: number;
  /** Renewing ends when the event loop has been blocked for this long: a hung process loses its lease. */
  readonly maxBlockedMs?: number;
  /** Called once, when another holder has the lease. */
  readonly onLost: () => void;
}

/** One piece of a response that is still streaming, or of a running call's progress (D53, D62). */
export interface DraftChunk extends DraftKind, DraftPosition {
  /** The draft that it belongs to: the evaluation's id for a response, the call's id for progress. */
  readonly draftId: string;
  readonly evaluationId: string;
  readonly conversationId?: string;
  readonly turn: number;
  readonly attempt: number;
  readonly blockId: string;
  readonly delta: string;
  /** Where the delta begins in the stored text of its block, in UTF-16 units. Absent for progress, whose delta contains it. */
  readonly offset?: number;
  /** The last seq that the writer had folded: a reader of events and drafts shows the chunk right after that event. */
  readonly after?: number;
}

/** Options of `Store.readDraft`. */
export interface ReadDraftOptions extends IncarnationOption {
  /** Only chunks after this position. */
  readonly after?: DraftPosition;
  readonly draftId?: string;
  readonly limit?: number;
}

/** A snapshot as the store holds it: text that `parseSnapshot` checks when it is read. */
export interface StoredSnapshot {
  readonly seq: number;
  readonly data: string;
}

/** Options of `Store.writeSnapshot`. */
export interface WriteSnapshotOptions extends IncarnationOption {
  /** The revision of the log that was folded. The store drops a snapshot of another revision: it may hold erased text. */
  readonly revision?: number;
  readonly fence?: number;
}

/** Options of `Store.replaceEvent`. */
export interface ReplaceEventOptions extends IncarnationOption {
  /** The external contents that the event still refers to. The others lose its reference, in the same transaction. */
  readonly contents?: readonly string[];
}

/** Options of `Store.forkSession`. */
export interface ForkOptions extends IncarnationOption {
  /** How many of the origin's events are copied. */
  readonly at: number;
  /** The events that follow the copied ones. */
  readonly events: readonly NewEvent[];
}

/** A session as a listing shows it. */
export interface SessionInfo extends SessionSummary {
  readonly id: string;
  readonly seq: number;
  readonly updatedAt: string;
  /** The newest lease, expired or not, unless it was released. */
  readonly lease?: Lease;
}

/** Options of `Store.listSessions`: which sessions, and which page of them. */
export interface ListSessionsOptions {
  /** Only sessions that have all of these tags. */
  readonly tags?: readonly string[];
  readonly status?: NonNullable<SessionSummary['status']>;
  /** Only sessions in which a runner has work, now or at their `wakeAt`. */
  readonly work?: true;
  /** With `work`: an ISO time. Sessions that have no work before it are left out; a store need not read them. */
  readonly dueBy?: string;
  /** Only sessions whose id starts with this text. */
  readonly idPrefix?: string;
  /** Only sessions that were imported from this agent (`claude-sdk`, `codex`, `opencode`); `own`: only those that were not imported. */
  readonly source?: string;
  /** Only sessions whose metadata has these values. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The number of sessions in a page; 50 by default. */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
}

/** Newest activity first. */
export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  readonly next?: string;
}

/** Options of `Store.search`. */
export interface SearchOptions {
  readonly sessionId?: string;
  readonly limit?: number;
}

/** An event whose text matches a search. */
export interface SearchHit {
  readonly sessionId: string;
  readonly seq: number;
  readonly at: string;
  readonly role: string;
  /** The text around the hit, with the matched words between `⟦` and `⟧`. */
  readonly excerpt: string;
}

/** What `Store.check` found. */
export interface IntegrityReport {
  readonly ok: boolean;
  /** The problems, as sentences: a gap in a log, a damaged page, missing content. */
  readonly problems: readonly string[];
  readonly sessions: number;
  readonly events: number;
}

/**
 * Contract:
 * - `append` is atomic: it commits all events, in order and without a gap, with their contents, or none. It resolves when they
 *   are durable. If `expectedSeq` is not the last seq, it rejects with `SESSION_CONFLICT` and detail `sequence`. If `fence` is not the
 *   newest lease's, it rejects with `SESSION_CONFLICT` and detail `fence`, also when both are stale. A rejected append writes nothing.
 *   An append without events is an error.
 * - A repeated append returns what the first returned and writes nothing. The store recognises it by its id if it is the session's
 *   newest append or has the same `expectedSeq` as before. The same id with other events: `APPEND_ID_REUSED`.
 * - `read` yields a consistent prefix of the log: the events that were committed when it started, in order. An unknown session yields none.
 * - A deleted session and a later session with the same id are two incarnations. A call that names the older one (`append`, `read`,
 *   snapshots, drafts, contents) rejects with `SESSION_NOT_FOUND` and changes nothing, even if no newer one exists.
 * - Content is stored and referenced by the append of its event, and read through a session that refers to it. The store removes it with
 *   its last reference, in the transaction that replaces or deletes the event.
 * - A fence only increases, also across release, expiry and deletion of a session; deleting a session ends its lease and its fence.
 * - A session id is any text of 1 to 512 characters without control characters and lone surrogates; any other is `INVALID_ARGUMENT`.
 * - `watch` calls the watcher after an append, a draft, a replaced event, a fork into the session or its deletion was committed, by any
 *   process. Calls may be late, merged or spurious.
 * - Work on many events (deleting, forking) holds no lock for long; after a crash it is completed or undone.
 * - Every method rejects with a `HoldfastError`; after `close` with `SESSION_CLOSED`. `watch`, `watchWork` and `keepLease` return no
 *   promise and throw it; `read` returns at once and rejects when its first event is read.
 * - `close` resolves when the calls that were running have settled.
 */
export interface Store {
  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Promise<{ readonly seq: number }>;
  read(sessionId: string, options?: ReadOptions): EventReading;
  /** The session's newest position. For an unknown session: seq 0, and the incarnation that its first append will have. */
  head(sessionId: string): Promise<SessionHead>;
  watch(sessionId: string, listener: () => void): () => void;
  /**
   * Calls the listener after an append, by any process, with an event that may have given a session work (`makesWork` of
   * `holdfast/store`): with the session's id or, if the store cannot name it, without. Calls may be late, merged or spurious. Some may be
   * missed while a connection is lost: a worker also lists the sessions with work from time to time. Optional.
   */
  watchWork?(listener: (sessionId?: string) => void): () => void;

  acquireLease(sessionId: string, options: AcquireLeaseOptions): Promise<LeaseAttempt>;
  /** False when another holder has the lease. */
  renewLease(sessionId: string, fence: number, ttlMs: number): Promise<boolean>;
  /** Renews a lease in the background until it is stopped. */
  keepLease(sessionId: string, fence: number, options: KeepLeaseOptions): LeaseKeeper;
  /**
   * Releases a lease; a stale fence changes nothing. With `seq`, and if anything was appended after it: returns false and keeps the lease
   * (D61).
   */
  releaseLease(sessionId: string, fence: number, options?: { readonly seq?: number }): Promise<boolean>;
  /** The newest lease, expired or not, unless it was released. */
  readLease(sessionId: string): Promise<Lease | undefined>;

  /** Stores the newest snapshot. An older snapshot than the stored one changes nothing; one beyond the log is `INVALID_ARGUMENT`. */
  writeSnapshot(sessionId: string, snapshot: StoredSnapshot, options?: WriteSnapshotOptions): Promise<void>;
  readSnapshot(sessionId: string, options?: IncarnationOption): Promise<StoredSnapshot | undefined>;

  /** Stores chunks until an append ends their draft. A fence that is not the newest lease's is `SESSION_CONFLICT`. */
  appendDraft(
    sessionId: string,
    chunks: readonly DraftChunk[],
    options: IncarnationOption & { readonly fence: number },
  ): Promise<void>;
  /** Chunks ordered by fence, then by number. */
  readDraft(sessionId: string, options?: ReadDraftOptions): Promise<readonly DraftChunk[]>;

  /** External content that an event of this session refers to; undefined for any other. */
  readContent(sessionId: string, hash: string, options?: IncarnationOption): Promise<string | undefined>;
  /** Content that belongs to a call of this session (D77). */
  readCallContent(sessionId: string, call: string, options?: IncarnationOption): Promise<string | undefined>;

  listSessions(options?: ListSessionsOptions): Promise<SessionPage>;
  /**
   * Full-text search over messages, newest first: by start of the session, then by position in it. Finds everything that was committed
   * before the call. Optional.
   */
  search?(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /** Removes a session and everything that belongs to it, except contents that another session refers to. False if there was none. */
  deleteSession(sessionId: string, options?: IncarnationOption): Promise<boolean>;
  /**
   * Copies the first events of a session, with their external contents, into a new one, but neither drafts, lease nor contents of calls.
   * The fork becomes visible when it is complete. The store restarts it if an event of the origin is erased meanwhile, and removes it if
   * the origin is deleted. A target that exists is `SESSION_CONFLICT`.
   */
  forkSession(sessionId: string, target: string, options: ForkOptions): Promise<{ readonly seq: number }>;
  /**
   * Replaces the payload of one event and keeps its seq, to erase content (D58). Drops the stored snapshot and the search entries of the
   * old payload. Listings then show the summary of the changed log.
   */
  replaceEvent(sessionId: string, event: SessionEvent, options?: ReplaceEventOptions): Promise<void>;

  check(): Promise<IntegrityReport>;
  close(): Promise<void>;
}
