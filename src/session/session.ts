import { HoldfastError } from '../core/errors.ts';
import { RECORD_SLICES } from '../core/fold/record-items.ts';
import type { AnySlice, EventIn, EventOf, StateOf } from '../core/fold/slices.ts';
import type { ParseSnapshotOptions, Snapshot } from '../core/fold/snapshot.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type {
  BuiltInEvent,
  EventEnvelope,
  InputContent,
  NewEvent,
  SessionDescribed,
  SessionEvent,
  UnstoredEvent,
  Without,
} from '../core/log/events.ts';
import type { ConversationMessage } from '../core/log/messages.ts';
import { checkSessionId } from '../core/log/session-id.ts';
import type { TailItem } from '../core/log/tail.ts';
import type { Upcasters } from '../core/log/upcast.ts';
import type { SessionSummary } from '../core/summary/session-summary.ts';
import type { SessionDecisions } from '../core/views/session-decisions.ts';
import type { SessionView } from '../core/views/session-view.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { AppendEntryOptions, AppendGuard } from './append/append-queue.ts';
import type { SendOptions, SentInput } from './append/send-input.ts';
import type { StagedSession } from './append/staged-session.ts';
import type { EventListener, SliceObserver } from './read/live.ts';
import { SessionHandle } from './session-handle.ts';

/** Options of `openSession`. */
export interface OpenSessionOptions<Slices extends readonly AnySlice[] = readonly AnySlice[]> {
  readonly store: Store;
  readonly id: string;
  readonly slices?: Slices;
  /** Never writes; a session that does not exist is `SESSION_NOT_FOUND`. */
  readonly readOnly?: boolean;
  readonly clock?: Clock;
  /**
   * Runs once on every event before it is appended: what it returns is what is recorded. Tools still run with the exact arguments
   * of a call: they are stored outside the log until the call ends.
   */
  readonly redact?: (event: UnstoredEvent) => NewEvent;
  /**
   * Redacts a piece of a streamed text before it is stored as a draft. Pieces end at whitespace, so that no word is cut. Without it a
   * session that has `redact` stores no drafts at all.
   */
  readonly redactText?: (text: string) => string;
  /** The longest event, as JSON. */
  readonly maxEventLength?: number;
  /** Texts and media longer than this are external content: stored under their hash, outside their event. */
  readonly maxInlineLength?: number;
  /** How events that were written under an older name are read. */
  readonly upcasters?: Upcasters;
  /** Receives errors that a listener, an observer or a slice's reducer throws. By default a process warning. */
  readonly onError?: (error: unknown) => void;
}

/** An event as it is dispatched: of one of the session's slices, or built in. If the slices are not known here, of any type. */
export type Dispatched<Slices extends readonly AnySlice[], Type extends string> = Type extends BuiltInEvent['type']
  ? { readonly type: Type } & Without<Extract<BuiltInEvent, { readonly type: Type }>, keyof EventEnvelope>
  : string extends EventOf<Slices[number]>['type'] // the slices are not known here
    ? { readonly type: Type } & Readonly<Record<string, unknown>>
    : Type extends EventOf<Slices[number]>['type']
      ? { readonly type: Type } & Extract<EventOf<Slices[number]>, { readonly type: Type }>
      : { readonly type: EventOf<Slices[number]>['type'] } & Readonly<Record<string, unknown>>;

/** Options of `session.subscribe`. */
export interface SubscribeOptions {
  /** Only events of these types. */
  readonly types?: readonly string[];
  /** Begin with the event of this seq, 1 being the first. Without it: only what this handle has not seen yet. */
  readonly from?: number;
}

/** Options of `session.events`. */
export interface EventsOptions {
  /** The first seq wanted; 1, the beginning, unless given. */
  readonly from?: number;
  /** Continue with later commits instead of ending. */
  readonly live?: boolean;
  readonly types?: readonly string[];
  readonly signal?: AbortSignal;
  /** Also yield pieces of responses and progress that are not recorded yet, each item with its cursor: see `TailOptions`. */
  readonly drafts?: false;
}

/** Options of a tail: events and pieces of drafts in one stream, from whichever process writes them. */
export interface TailOptions extends Omit<EventsOptions, 'drafts'> {
  readonly drafts: true;
  /**
   * The cursor of the last item that was read: the tail continues after it. A cursor of another incarnation of the session, or one beyond
   * the end of its log, begins again with a `session/reset`; malformed text is `INVALID_ARGUMENT`. Not together with `from`.
   */
  readonly after?: string | undefined;
}

export interface SessionAppendOptions extends Pick<AppendEntryOptions, 'endsDrafts' | 'untilStored'> {
  /** Only while the lease with this fence holds. */
  readonly fence?: number;
  /** Called with the folded state before every try; when it throws, nothing is appended and `append` rejects with its error. */
  readonly guard?: AppendGuard | undefined;
}

/** What may be stored of a response before it is recorded. */
export interface DraftPolicy {
  readonly stored: boolean;
  readonly redactText?: (text: string) => string;
  /** Arguments that are being streamed are not emitted: the session has `redact`, which runs on whole events. */
  readonly hidesArguments?: true;
}

/** `strict` refuses a snapshot with slices that this session was not opened with. */
export type RestoreOptions = Pick<ParseSnapshotOptions, 'strict' | 'maxLength'>;

/**
 * One log and the state that is folded from it: what is in it, and what people decide about it. Functions that need no slices take any
 * session.
 *
 * Contract: `dispatch` and everything else that writes resolves when it is durable. Reading is synchronous and shows what this
 * handle has folded; other handles' events arrive with the next write, while a listener is subscribed, or by `refresh`. Any number
 * of handles and processes may hold the same session: none can corrupt it.
 */
export interface AnySession extends SessionView, SessionDecisions {
  readonly id: string;
  readonly store: Store;
  /** The life of the session that was opened: one more after each deletion. */
  readonly incarnation: number;
  readonly clock: Clock;
  readonly readOnly: boolean;
  /** Whether text may be stored while it is being streamed, and what redacts it before. */
  readonly drafts: DraftPolicy;
  /** The last seq folded. */
  readonly seq: number;
  /** Title, tags, metadata and the state of the newest evaluation; undefined before the first event. */
  readonly summary: SessionSummary | undefined;

  /** Appends several events in one commit, of any type. */
  append(
    events: readonly { readonly type: string; readonly [field: string]: unknown }[],
    options?: SessionAppendOptions,
  ): Promise<{ readonly seq: number }>;
  /**
   * Runs `body` on a transaction and appends what it dispatched in one commit; nothing if it throws. The body reads the state that
   * it began with, and runs again when anything else was appended before its commit, by whichever handle or process: it must do
   * nothing but read, compute and dispatch to `tx`.
   */
  transaction<T>(body: (tx: StagedSession) => Promise<T> | T): Promise<T>;
  /**
   * Queues an input for whichever process runs the session, without a lease, and resolves when it is durable. A `steer` joins the
   * running evaluation before its next request; one that is too late, and a `next`, begin an evaluation that continues the newest.
   * The same `id` again returns the first; with another text it is `KEY_REUSED`.
   */
  send(input: string | InputContent, options?: SendOptions): Promise<SentInput>;
  /** Withdraws a queued input. Returns false when it was placed already; an input that was never sent is `INPUT_NOT_FOUND`. */
  withdraw(inputId: string, options?: { readonly by?: string }): Promise<boolean>;
  /** Opens a transaction that the caller appends. */
  stage(): StagedSession;

  observe<S extends AnySlice>(slice: S, observer: SliceObserver<StateOf<S>>): () => void;
  subscribe(listener: EventListener, options?: SubscribeOptions): () => void;
  /** Committed events; with `drafts`, pieces of responses and progress as well, each item with the cursor that continues after it. */
  events(options?: EventsOptions): AsyncIterable<SessionEvent>;
  events(options: TailOptions): AsyncIterable<TailItem>;
  /** Reads and folds what others have appended. */
  refresh(): Promise<void>;

  /**
   * The state as a value that `parseSnapshot` reads and `restore` takes, with the external contents that this handle has written. If it
   * would lack some, it throws `SNAPSHOT_INVALID`: `contents: true` reads them from the store and is a promise, `contents: false` leaves
   * all of them out and names them. Slices that this process does not define are kept as they were last stored.
   */
  snapshot(options?: { readonly contents?: false }): Snapshot;
  snapshot(options: { readonly contents: true }): Promise<Snapshot>;
  /**
   * Puts the slices that roll back to where the snapshot has them; into an empty session also its conversation and its contents.
   * A session that has events takes only snapshots of itself.
   */
  restore(snapshot: Snapshot | string, options?: RestoreOptions): Promise<void>;
  /** Writes a snapshot to the store, so that opening replays only later events. */
  compact(): Promise<void>;
  /** Sets title and tags, and merges metadata (`null` removes a key). */
  describe(description: Pick<SessionDescribed, 'title' | 'tags' | 'metadata'>): Promise<void>;
  /** Removes the content of a message from the log, keeping its place. */
  eraseMessage(messageId: string, reason?: string): Promise<void>;
  /** The messages with their external content loaded. */
  resolve(messages: readonly ConversationMessage[]): Promise<readonly ConversationMessage[]>;
  /** Waits for appends under way and releases the handle. The store stays open. */
  close(): Promise<void>;
}

/** A session that knows its slices: dispatched events are checked against theirs, and events that are read have their fields. */
export interface Session<Slices extends readonly AnySlice[] = readonly AnySlice[]> extends AnySession {
  /**
   * Appends an event that a slice of the session folds, or a built-in one; any other is `EVENT_INVALID`. To record an event that
   * changes no state, declare it in a slice whose reducer returns the state as it is, or use `append`.
   */
  dispatch<const Type extends string>(event: Dispatched<Slices, Type>): Promise<{ readonly seq: number }>;
  transaction<T>(body: (tx: StagedSession<Slices>) => Promise<T> | T): Promise<T>;
  subscribe(listener: EventListener<EventIn<Slices>>, options?: SubscribeOptions): () => void;
  events(options?: EventsOptions): AsyncIterable<EventIn<Slices>>;
  events(options: TailOptions): AsyncIterable<TailItem<EventIn<Slices>>>;
  /** A session of its own that begins with this one's log, up to `at` if given. */
  fork(options?: { readonly id?: string; readonly at?: number }): Promise<Session<Slices>>;
}

const KNOWN: KnownOptions<OpenSessionOptions> = {
  store: true,
  id: true,
  slices: true,
  readOnly: true,
  clock: true,
  redact: true,
  redactText: true,
  maxEventLength: true,
  maxInlineLength: true,
  upcasters: true,
  onError: true,
};

/** Opens a session: restores it from its store, or begins it. Takes no lease and appends nothing. */
export async function openSession<const Slices extends readonly AnySlice[] = readonly []>(
  options: OpenSessionOptions<Slices>,
): Promise<Session<Slices>> {
  refuseUnknownOptions('openSession', options, KNOWN);
  checkSessionId(options.id);
  const names = new Set<string>(RECORD_SLICES);
  for (const { name } of options.slices ?? []) {
    if (names.has(name)) throw new HoldfastError('INVALID_ARGUMENT', `two slices are called "${name}"; rename one`);
    names.add(name);
  }
  return SessionHandle.open(options);
}
