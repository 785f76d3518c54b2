import { randomBytes } from 'node:crypto';
import { HoldfastError, messageOf } from '../core/errors.ts';
import type { BuiltInEvent, EventEnvelope, NewEvent, SessionDescribed, SessionEvent, Without } from '../core/events.ts';
import { createFold, type Fold, type SessionState } from '../core/fold.ts';
import type { ConversationMessage } from '../core/messages.ts';
import { encodeRecord } from '../core/record.ts';
import type { SessionSummary } from '../core/session-summary.ts';
import { BUILT_IN_SLICES, itemsOf, type Selection, type SessionView, selectionOf } from '../core/session-view.ts';
import type { AnySlice, EventOf, ItemOf } from '../core/slices.ts';
import { parseSnapshot, type SliceSnapshot, type Snapshot, takeSnapshot } from '../core/snapshot.ts';
import { type Upcasters, upcast } from '../core/upcast.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadOptions, Store } from '../ports/store.ts';
import { systemClock } from '../stores/system-clock.ts';
import { AppendQueue } from './append-queue.ts';
import { checkEventSize, hasLargeContent, resolveContents, storeApart } from './contents.ts';
import { eraseMessage } from './erase-message.ts';
import { forkSession } from './fork-session.ts';
import { type EventListener, Listeners, type SliceObserver } from './live.ts';
import { loadState } from './load-state.ts';
import { StagedSession, unknownSlice } from './staged-session.ts';
import { validateEvent } from './validate-event.ts';

export interface OpenSessionOptions<Slices extends readonly AnySlice[] = readonly AnySlice[]> {
  readonly store: Store;
  readonly id: string;
  readonly slices?: Slices;
  /** Never writes, and refuses a session that does not exist. */
  readonly readOnly?: boolean;
  readonly clock?: Clock;
  /** Runs on every event before it is appended: what it returns is what is recorded (D58). */
  readonly redact?: (event: NewEvent) => NewEvent;
  /** The longest event, as JSON. */
  readonly maxEventLength?: number;
  /** Texts and media longer than this are stored apart, under their hash. */
  readonly maxInlineLength?: number;
  /** How events that were written under an older name are read. */
  readonly upcasters?: Upcasters;
  /** Told when a listener, an observer or a slice's reducer throws. By default a process warning. */
  readonly onError?: (error: unknown) => void;
}

/** An event as it is dispatched: of one of the session's slices, one of ours, or any other. */
export type Dispatched<Slices extends readonly AnySlice[], Type extends string> = {
  readonly type: Type;
} & (Type extends EventOf<Slices[number]>['type']
  ? Extract<EventOf<Slices[number]>, { readonly type: Type }>
  : Type extends BuiltInEvent['type']
    ? Without<Extract<BuiltInEvent, { readonly type: Type }>, keyof EventEnvelope>
    : Readonly<Record<string, unknown>>);

export interface SubscribeOptions {
  /** Only events of these types. */
  readonly types?: readonly string[];
  /** Begin with the event of this seq, 1 being the first. Without it: only what is committed from now on. */
  readonly from?: number;
}

export interface EventsOptions {
  /** The first seq wanted; 1, the beginning, unless given. */
  readonly from?: number;
  /** Go on with what is committed later instead of ending. */
  readonly live?: boolean;
  readonly types?: readonly string[];
  readonly signal?: AbortSignal;
}

/**
 * A conversation: its log, and what the log adds up to. What needs no slices takes any session.
 *
 * Contract: `dispatch` and everything else that writes resolves when it is durable. Reading is synchronous and shows what this
 * handle has folded; other handles' events arrive when something is written, when someone listens, or by `refresh`. Any number
 * of handles and processes may hold the same session: none can corrupt it.
 */
export interface AnySession extends SessionView {
  readonly id: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly readOnly: boolean;
  /** The last seq folded. */
  readonly seq: number;
  /** Title, tags, metadata and the state of the newest evaluation; undefined before the first event. */
  readonly summary: SessionSummary | undefined;

  /** Appends several events in one commit; with the fence of a lease, only while that lease holds. */
  append(
    events: readonly { readonly type: string; readonly [field: string]: unknown }[],
    options?: { readonly fence?: number },
  ): Promise<{ readonly seq: number }>;
  /** Runs `body` on a transaction and appends what it dispatched in one commit; nothing if it throws. */
  transaction<T>(body: (tx: StagedSession) => Promise<T> | T): Promise<T>;
  /** Opens a transaction for someone who appends it himself. */
  stage(): StagedSession;

  select<S extends AnySlice>(slice: S): Selection<ItemOf<S>>;
  observe<S extends AnySlice>(slice: S, observer: SliceObserver<ItemOf<S>>): () => void;
  subscribe(listener: EventListener, options?: SubscribeOptions): () => void;
  events(options?: EventsOptions): AsyncIterable<SessionEvent>;
  /** Reads and folds what others have appended. */
  refresh(): Promise<void>;

  /** The state as a value that `parseSnapshot` reads and `restore` takes. */
  snapshot(): Snapshot;
  /** Puts the slices that roll back to where the snapshot has them; into an empty session also its conversation (D21). */
  restore(snapshot: Snapshot | string): Promise<void>;
  /** Writes a snapshot to the store, so that opening replays only what comes after. */
  compact(): Promise<void>;
  /** Sets title and tags, and merges metadata (`null` removes a key). */
  describe(description: Pick<SessionDescribed, 'title' | 'tags' | 'metadata'>): Promise<void>;
  /** Removes what a message said from the log, keeping its place (D58). */
  eraseMessage(messageId: string, reason?: string): Promise<void>;
  /** Messages with the content that is stored apart put back. */
  resolve(messages: readonly ConversationMessage[]): Promise<readonly ConversationMessage[]>;
  /** Waits for what is being written, and lets go. The store stays open. */
  close(): Promise<void>;
}

/** A session that knows its slices: what is dispatched to it is checked against their events. */
export interface Session<Slices extends readonly AnySlice[] = readonly AnySlice[]> extends AnySession {
  /** Appends an event. */
  dispatch<const Type extends string>(event: Dispatched<Slices, Type>): Promise<{ readonly seq: number }>;
  /** A session of its own that begins with this one's log, up to `at` if given (D55). */
  fork(options?: { readonly id?: string; readonly at?: number }): Promise<Session<Slices>>;
}

const DEFAULT_MAX_EVENT_LENGTH = 4 * 1024 * 1024;
const DEFAULT_MAX_INLINE_LENGTH = 256 * 1024;
/** A snapshot is written when this many events, and as many as it holds, have come since: the cost per event stays constant. */
const SNAPSHOT_EVERY = 1_000;
const SESSION_ID = /^[^\p{Cc}]{1,512}$/u;

/** Opens a session: restores it from its store, or begins it. Takes no lease and writes nothing (D51). */
export async function openSession<const Slices extends readonly AnySlice[] = readonly []>(
  options: OpenSessionOptions<Slices>,
): Promise<Session<Slices>> {
  if (typeof options.id !== 'string' || !SESSION_ID.test(options.id)) {
    throw new HoldfastError('INVALID_ARGUMENT', 'a session id is 1 to 512 characters without control characters');
  }
  const names = new Set<string>(BUILT_IN_SLICES);
  for (const { name } of options.slices ?? []) {
    if (names.has(name)) throw new HoldfastError('INVALID_ARGUMENT', `two slices are called "${name}"; rename one`);
    names.add(name);
  }
  return SessionHandle.open(options);
}

class SessionHandle<Slices extends readonly AnySlice[]> implements Session<Slices> {
  readonly id: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly readOnly: boolean;
  readonly #options: OpenSessionOptions<Slices>;
  readonly #slices: readonly AnySlice[];
  readonly #fold: Fold;
  readonly #opaque: ReadonlyMap<string, SliceSnapshot>;
  readonly #listeners: Listeners;
  readonly #queue: AppendQueue;
  readonly #prepared = new WeakSet<object>();
  #state: SessionState;
  #snapshotSeq: number;
  #refreshing: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;
  #closed = false;

  static async open<Slices extends readonly AnySlice[]>(
    options: OpenSessionOptions<Slices>,
  ): Promise<SessionHandle<Slices>> {
    const { store, id, upcasters = {}, slices = [], readOnly = false } = options;
    const onError = options.onError ?? warn;
    const fold = createFold(slices, (slice, event, error) => {
      onError(
        new HoldfastError(
          'EVENT_INVALID',
          `slice "${slice}" could not fold ${event.type} at ${event.seq}: ${messageOf(error)}`,
          { cause: error },
        ),
      );
    });
    const { state, opaque, replayed } = await loadState(store, id, { fold, slices, upcasters });
    if (readOnly && state.seq === 0) {
      throw new HoldfastError('SESSION_NOT_FOUND', `there is no session ${id}; open it without readOnly to begin it`);
    }
    const session = new SessionHandle(options, { fold, state, opaque, snapshotSeq: state.seq - replayed, onError });
    await session.#compactIfDue();
    return session;
  }

  private constructor(
    options: OpenSessionOptions<Slices>,
    loaded: {
      readonly fold: Fold;
      readonly state: SessionState;
      readonly opaque: ReadonlyMap<string, SliceSnapshot>;
      readonly snapshotSeq: number;
      readonly onError: (error: unknown) => void;
    },
  ) {
    this.id = options.id;
    this.store = options.store;
    this.clock = options.clock ?? systemClock;
    this.readOnly = options.readOnly ?? false;
    this.#options = options;
    this.#slices = options.slices ?? [];
    this.#fold = loaded.fold;
    this.#state = loaded.state;
    this.#opaque = loaded.opaque;
    this.#snapshotSeq = loaded.snapshotSeq;
    this.#listeners = new Listeners(loaded.onError);
    this.#queue = new AppendQueue(
      {
        store: this.store,
        sessionId: this.id,
        seq: () => this.#state.seq,
        committed: (events, seq) =>
          this.#ingest(events.map((event, i) => ({ ...event, seq: seq - events.length + 1 + i }) as SessionEvent)),
        refresh: () => this.refresh(),
      },
      randomBytes(9).toString('base64url'),
    );
  }

  get state(): SessionState {
    return this.#state;
  }

  get seq(): number {
    return this.#state.seq;
  }

  get summary(): SessionSummary | undefined {
    return this.#state.summary;
  }

  dispatch<const Type extends string>(event: Dispatched<Slices, Type>): Promise<{ readonly seq: number }> {
    return this.append([event as { readonly type: string }]);
  }

  async append(
    events: readonly { readonly type: string; readonly [field: string]: unknown }[],
    options: { readonly fence?: number } = {},
  ): Promise<{ readonly seq: number }> {
    this.#assertWritable();
    if (events.length === 0) return { seq: this.seq };
    const prepared = events.map((event) => this.#prepare(event));
    const { maxInlineLength = DEFAULT_MAX_INLINE_LENGTH } = this.#options;
    const ready = prepared.some((event) => hasLargeContent(event, maxInlineLength))
      ? this.#storeApart(prepared, maxInlineLength)
      : this.#checkSizes(prepared);
    return { seq: await this.#queue.append(ready, options.fence) };
  }

  async transaction<T>(body: (tx: StagedSession) => Promise<T> | T): Promise<T> {
    const tx = this.stage();
    try {
      const result = await body(tx);
      await this.append(tx.close() as readonly { readonly type: string; readonly [field: string]: unknown }[]);
      return result;
    } finally {
      tx.close();
    }
  }

  stage(): StagedSession {
    this.#assertWritable();
    return new StagedSession(this, this.#fold, (event) => this.#prepare(event));
  }

  select<S extends AnySlice>(slice: S): Selection<ItemOf<S>> {
    const items = itemsOf(this.#state, slice.name);
    if (!items) throw unknownSlice(slice.name);
    return selectionOf(items as readonly ItemOf<S>[]);
  }

  observe<S extends AnySlice>(slice: S, observer: SliceObserver<ItemOf<S>>): () => void {
    if (!itemsOf(this.#state, slice.name)) throw unknownSlice(slice.name);
    const stop = this.#listeners.observe(slice.name, observer as SliceObserver<unknown>);
    return this.#listening(stop);
  }

  subscribe(listener: EventListener, options: SubscribeOptions = {}): () => void {
    const stop = this.#listeners.subscribe(listener, {
      types: options.types,
      from: options.from,
      seq: () => this.seq,
      read: (after) => this.#read({ after }),
    });
    return this.#listening(stop);
  }

  async *events(options: EventsOptions = {}): AsyncIterable<SessionEvent> {
    const { from = 1, live = false, signal } = options;
    const types = options.types && new Set(options.types);
    let cursor = from - 1;
    const stop = live ? this.#listening(() => {}) : () => {};
    try {
      while (!signal?.aborted) {
        // Asked for before reading, so that a commit during the read is not missed.
        const changed = live ? this.#listeners.changed(signal) : undefined;
        for await (const event of this.#read({ after: cursor })) {
          cursor = event.seq;
          if (!types || types.has(event.type)) yield event;
          if (signal?.aborted) return;
        }
        if (!changed || this.#closed) return;
        this.#watch();
        await changed;
      }
    } finally {
      stop();
    }
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#readUp().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  snapshot(): Snapshot {
    return takeSnapshot(this.#state, {
      sessionId: this.id,
      at: this.#now(),
      slices: this.#slices,
      opaque: this.#opaque,
    });
  }

  async restore(input: Snapshot | string): Promise<void> {
    this.#assertWritable();
    const snapshot = parseSnapshot(input);
    await this.refresh();
    const slices: Record<string, readonly unknown[]> = {};
    for (const slice of this.#slices) {
      const kept = snapshot.slices[slice.name];
      if (slice.rollback && kept?.version === slice.version) slices[slice.name] = kept.items;
    }
    if (this.seq === 0) {
      for (const name of Object.keys(encodeRecord(this.#state.record)))
        slices[name] = snapshot.slices[name]?.items ?? [];
    }
    await this.#queue.append([{ type: 'session/restored', at: this.#now(), slices }]);
  }

  async compact(): Promise<void> {
    this.#assertWritable();
    const { seq } = this.#state;
    if (seq === 0) return;
    await this.store.writeSnapshot(this.id, { seq, data: JSON.stringify(this.snapshot()) });
    this.#snapshotSeq = seq;
  }

  async fork(options: { readonly id?: string; readonly at?: number } = {}): Promise<Session<Slices>> {
    const id = await forkSession(this, options);
    return openSession({ ...this.#options, readOnly: false, id } as OpenSessionOptions<Slices>);
  }

  async describe(description: Pick<SessionDescribed, 'title' | 'tags' | 'metadata'>): Promise<void> {
    await this.append([{ type: 'session/described', ...description }]);
  }

  async eraseMessage(messageId: string, reason?: string): Promise<void> {
    this.#assertWritable();
    await this.refresh();
    await eraseMessage(this, messageId, reason);
  }

  resolve(messages: readonly ConversationMessage[]): Promise<readonly ConversationMessage[]> {
    return resolveContents(this.store, messages);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#queue.idle();
    await this.#compactIfDue();
    this.#closed = true;
    this.#unwatch?.();
    this.#listeners.wake();
  }

  /** Checks, dates and redacts an event, once: a staged event is ready when its transaction is appended. */
  #prepare(event: { readonly type: string }): NewEvent {
    if (this.#prepared.has(event)) return event as NewEvent;
    const valid = { ...validateEvent(event, this.#state), at: this.#now() } as NewEvent;
    const ready = this.#options.redact ? this.#options.redact(valid) : valid;
    this.#prepared.add(ready);
    return ready;
  }

  async #storeApart(events: readonly NewEvent[], maxInlineLength: number): Promise<readonly NewEvent[]> {
    return this.#checkSizes(
      await Promise.all(events.map((event) => storeApart(this.store, this.id, event, maxInlineLength))),
    );
  }

  #checkSizes(events: readonly NewEvent[]): readonly NewEvent[] {
    const { maxEventLength = DEFAULT_MAX_EVENT_LENGTH } = this.#options;
    for (const event of events) checkEventSize(event, maxEventLength);
    return events;
  }

  /** Folds committed events, in order, and tells who listens. Those already folded are skipped (I7). */
  #ingest(events: readonly SessionEvent[]): void {
    const before = this.#state;
    const fresh = events.filter((event) => event.seq > before.seq);
    if (fresh.length === 0) return;
    let state = before;
    for (const event of fresh) state = this.#fold.apply(state, event);
    this.#state = state;
    this.#listeners.notify(before, state, fresh);
  }

  async #readUp(): Promise<void> {
    const fresh: SessionEvent[] = [];
    for await (const event of this.#read({ after: this.seq })) fresh.push(event);
    this.#ingest(fresh);
  }

  async *#read(options: ReadOptions): AsyncIterable<SessionEvent> {
    for await (const event of this.store.read(this.id, options)) yield upcast(event, this.#options.upcasters);
  }

  /** While anyone listens, others' commits are followed. */
  #listening(stop: () => void): () => void {
    this.#assertOpen();
    this.#watch();
    return () => {
      stop();
      if (this.#listeners.listening) return;
      this.#unwatch?.();
      this.#unwatch = undefined;
    };
  }

  #watch(): void {
    this.#unwatch ??= this.store.watch(this.id, () => {
      if (!this.#closed) this.refresh().catch(this.#options.onError ?? warn);
    });
  }

  async #compactIfDue(): Promise<void> {
    const tail = this.seq - this.#snapshotSeq;
    if (!this.readOnly && tail >= Math.max(SNAPSHOT_EVERY, this.#snapshotSeq)) await this.compact();
  }

  #now(): string {
    return new Date(this.clock.now()).toISOString();
  }

  #assertOpen(): void {
    if (this.#closed) throw new HoldfastError('SESSION_CLOSED', `session ${this.id} was closed; open it again`);
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (this.readOnly)
      throw new HoldfastError(
        'SESSION_READ_ONLY',
        `session ${this.id} was opened to be read; open it without readOnly to write`,
      );
  }
}

function warn(error: unknown): void {
  process.emitWarning(messageOf(error), 'HoldfastWarning');
}
