import type { ErrorCode } from '../../core/errors.ts';
import type { SessionSummary } from '../../core/summary/session-summary.ts';
import type {
  AcquireLeaseOptions,
  DraftPosition,
  IntegrityReport,
  Lease,
  LeaseAttempt,
  ListSessionsOptions,
  SearchHit,
  StoredSnapshot,
} from '../../ports/store.ts';
import type { EncodedEvent } from '../encoded-event.ts';
import type { LeaseTerm } from '../leases/lease-rules.ts';
import type { RenewalPart } from '../leases/renewal-thread.ts';
import type { SearchTerm } from '../search-text.ts';
import type { CommitFeed } from './watching.ts';

/** What a backend names a session's rows by. A key is never used again, and a session that begins later has a greater one. */
export type SessionKey = string | number;

/** What a backend knows of a session id. */
export interface SessionRow<Key extends SessionKey = SessionKey> {
  /** Absent when the id has no row: its next append or lease creates it. */
  readonly key?: Key | undefined;
  /** 1 plus the number of sessions with this id that were deleted. */
  readonly incarnation: number;
  /** The last seq; 0 without events. */
  readonly seq: number;
  /** How many times an event was replaced. */
  readonly revision: number;
  /** The newest fence, also after its release. */
  readonly fence?: number | undefined;
}

/** An event as it is stored: text that a backend never looks into. */
export interface StoredEvent extends EncodedEvent {
  readonly seq: number;
  /** The id of the append that began with this event. */
  readonly appendId?: string | undefined;
}

/** Which events of a log: those after one seq, up to another. */
export interface EventRange {
  readonly after: number;
  readonly until: number;
  readonly limit: number;
}

/** What a listing shows of a session. `status`, `work` and `wakeAt` repeat what `data` says, for an index. */
export interface StoredSummary {
  /** The last event that is folded in. Later ones change nothing that a listing filters by. */
  readonly seq: number;
  /** The revision and the version of the fold: a summary of others is not used. */
  readonly revision: number;
  readonly version: number;
  readonly data: string;
  readonly status?: string | undefined;
  readonly work?: string | undefined;
  readonly wakeAt?: string | undefined;
}

/** A reference of an event to a content, with the text as JSON. */
export interface ContentRow {
  readonly seq: number;
  readonly hash: string;
  readonly text: string;
}

/** An append, ready to be written. */
export interface AppendRows<Key extends SessionKey = SessionKey> {
  /** The session that it continues. Absent for the first append of an incarnation. */
  readonly key: Key | undefined;
  readonly incarnation: number | undefined;
  readonly expectedSeq: number;
  readonly revision: number;
  readonly fence: number | undefined;
  readonly id: string;
  readonly events: readonly EncodedEvent[];
  readonly contents: readonly ContentRow[];
  /** Contents of calls, as JSON: each put replaces an earlier one; then those of `dropCalls` are removed. */
  readonly putCalls: readonly { readonly call: string; readonly text: string }[];
  readonly dropCalls: readonly string[];
  readonly endsDrafts: readonly string[];
  /** May be acknowledged before it is synced. */
  readonly syncLater: boolean;
  /** Replaces the stored summary; absent when that stays. */
  readonly summary: StoredSummary | undefined;
  /** The summary before and after the append, for a backend that acts on what an append changes. */
  readonly folded: { readonly before: SessionSummary | undefined; readonly after: SessionSummary };
}

/** A replaced event, with what depends on it. */
export interface Replacement {
  readonly seq: number;
  readonly event: EncodedEvent;
  /** The hashes that the event still refers to. */
  readonly contents: readonly string[];
  /** The revision that it replaces: the session has the next one afterwards. */
  readonly revision: number;
  /** `summarize` is given the rows after this seq. */
  readonly summarizedSeq: number;
  summarize(rest: readonly StoredEvent[]): StoredSummary;
}

/** A fork, ready to be made. */
export interface ForkRows {
  readonly target: string;
  /** The origin's revision. */
  readonly revision: number;
  /** How many of its events are copied. */
  readonly at: number;
  /** The events after them. */
  readonly events: readonly EncodedEvent[];
  readonly summary: StoredSummary;
}

/** The place of a session in a listing: newest activity first, equal times by id. */
export interface ListPosition {
  readonly updatedAt: string;
  readonly id: string;
}

/** A part of a listing. A backend may leave out sessions that `filter` rules out by their stored summary, and need not. */
export interface ListQuery {
  readonly after: ListPosition | undefined;
  readonly limit: number;
  readonly filter: ListSessionsOptions;
}

/** A lease as it is stored. */
export interface StoredLease extends Lease {
  /** Its end by the monotonic clock of the holder's boot. */
  readonly deadline?: number | undefined;
}

/** A session of a listing. `updatedAt` is the `at` of its last event. */
export interface ListedRow<Key extends SessionKey = SessionKey> extends ListPosition {
  readonly key: Key;
  readonly seq: number;
  readonly revision: number;
  readonly summary?: StoredSummary | undefined;
  readonly lease?: StoredLease | undefined;
}

/** One chunk of a draft; `data` is the rest of it as JSON. */
export interface DraftRow extends DraftPosition {
  readonly draftId: string;
  readonly length: number;
  readonly data: string;
}

/**
 * Leases as rows: the store decides by the clocks of its process, the backend compares and writes.
 *
 * Contract: fences come from one counter that never falls, also when sessions are deleted.
 */
export interface LeaseRows {
  read(sessionId: string): Promise<StoredLease | undefined>;
  /** Grants a lease in the place of `over`, and creates the session's row if there is none. Undefined when another lease is there. */
  grant(
    sessionId: string,
    lease: Pick<StoredLease, 'holder' | 'expiresAt' | 'deadline'>,
    over: Pick<Lease, 'fence' | 'renewals'> | undefined,
  ): Promise<number | undefined>;
  /** Writes a new end and counts the renewal; false when the lease is not this fence's. */
  renew(sessionId: string, fence: number, term: LeaseTerm): Promise<boolean>;
  /** Ends the lease of this fence and keeps the fence, unless the log ends at another seq; false when nothing changed. */
  release(sessionId: string, fence: number, seq: number | undefined): Promise<boolean>;
}

/** Leases by a clock of the backend's own, such as the server's. */
export interface LeaseRules {
  read(sessionId: string): Promise<Lease | undefined>;
  acquire(sessionId: string, options: AcquireLeaseOptions): Promise<LeaseAttempt>;
  /** False when the lease is another's. */
  renew(sessionId: string, fence: number, ttlMs: number): Promise<boolean>;
  /** False when the lease stays because events were appended after `seq`. */
  release(sessionId: string, fence: number, seq: number | undefined): Promise<boolean>;
}

/**
 * A database, as `defineStore` needs it: transactions and rows. All that a store must check, decide or fold is done by then.
 *
 * Contract:
 * - Each method is one transaction, and resolves when what it wrote is durable. It compares what it is given with what is stored, and
 *   writes all or nothing. A comparison that fails is no error: the method returns undefined or false, and the store finds out why.
 * - All text is well-formed and comes back exactly.
 * - What belongs to a key that was removed is not found.
 * - A method may reject with any error: the store makes a `HoldfastError` of it.
 */
export interface StoreBackend<Key extends SessionKey = SessionKey> {
  /** The path or address that errors name. */
  readonly where: string;
  /** What an error of the database means; undefined for those that `storeFailure` knows. */
  errorCode?(error: unknown): ErrorCode | undefined;

  find(sessionId: string): Promise<SessionRow<Key>>;
  /**
   * Writes an append if the session has this key (or no events, without a key) and incarnation, sequence, revision and fence are as given,
   * and if its newest append has another id. Returns the session's key.
   */
  append(sessionId: string, append: AppendRows<Key>): Promise<Key | undefined>;
  /** All rows of the range, in order, up to `limit`. */
  events(key: Key, range: EventRange): Promise<readonly StoredEvent[]>;
  /** The id of the newest append. */
  lastAppend(key: Key): Promise<string | undefined>;
  summary(key: Key): Promise<StoredSummary | undefined>;
  /**
   * Replaces an event if the revision is as given: drops its other references, contents that nothing refers to any more and the
   * snapshot, raises the revision and stores the summary.
   */
  replace(key: Key, replacement: Replacement): Promise<boolean>;
  /**
   * Copies events with their contents into a new session, and removes a target without events. False when the origin's revision is another,
   * the origin is gone, or the target has events.
   */
  fork(origin: Key, fork: ForkRows): Promise<boolean>;
  /** Removes a session with everything, and counts its incarnation. Returns its last seq; undefined when it was gone. */
  remove(sessionId: string, key: Key): Promise<number | undefined>;
  /** Sessions with events after a position: newest activity first, equal times by id. */
  list(query: ListQuery): Promise<readonly ListedRow<Key>[]>;

  readonly leases: LeaseRows | LeaseRules;

  /** Stores a snapshot if the revision is as given, in the place of an older or equal one. */
  writeSnapshot(key: Key, snapshot: StoredSnapshot, revision: number): Promise<void>;
  readSnapshot(key: Key): Promise<StoredSnapshot | undefined>;
  /**
   * Adds chunks that are not there yet, if the fence is the newest. Then drops the oldest ones of the drafts in `limited` while more than
   * `maxLength` remains, except for the last.
   */
  writeDrafts(
    key: Key,
    fence: number,
    chunks: readonly DraftRow[],
    limited: { readonly draftIds: readonly string[]; readonly maxLength: number },
  ): Promise<boolean>;
  /** Chunks after a position, by fence and number. */
  readDrafts(
    key: Key,
    options: {
      readonly after: DraftPosition;
      readonly draftId: string | undefined;
      readonly limit: number | undefined;
    },
  ): Promise<readonly Omit<DraftRow, 'length'>[]>;
  /** A content that the session refers to: null when it is lost. */
  readContent(key: Key, hash: string): Promise<string | null | undefined>;
  readCallContent(key: Key, call: string): Promise<string | undefined>;

  check(): Promise<IntegrityReport>;
  /** Called once, when nothing else is running. */
  close(): Promise<void>;

  /** A value that each commit of any process changes; the store reads it often while a session is watched. */
  version?(): Promise<unknown>;
  /** Hits by an index. Without it, a search reads all sessions. */
  search?(
    terms: readonly SearchTerm[],
    options: { readonly sessionId: string | undefined; readonly limit: number },
  ): Promise<readonly SearchHit[]>;
}

/** What the backends of this package do besides, each in the way of its database. */
export interface OwnBackend<Key extends SessionKey> extends StoreBackend<Key> {
  /** Throws when nothing may be written. */
  refuseWrites?(): void;
  /** Notifies other processes of commits, and watchers of theirs. */
  readonly feed?: CommitFeed;
  /** How a thread renews leases. */
  readonly renewals?: RenewalPart | undefined;
  /** Ends background work when the store begins to close. */
  closing?(): void;
}
