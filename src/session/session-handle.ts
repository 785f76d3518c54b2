import { HoldfastError, messageOf } from '../core/errors.ts';
import { createFold, type Fold, type SessionState } from '../core/fold/fold.ts';
import { type AnySlice, type EventIn, heldBy, type StateOf } from '../core/fold/slices.ts';
import { MAX_SNAPSHOT_DEPTH, parseSnapshot, type Snapshot } from '../core/fold/snapshot.ts';
import type { InputContent, SessionDescribed, SessionEvent } from '../core/log/events.ts';
import type { ConversationMessage } from '../core/log/messages.ts';
import type { TailItem } from '../core/log/tail.ts';
import type { SessionSummary } from '../core/summary/session-summary.ts';
import { itemsOf } from '../core/views/session-view.ts';
import { unknownSlice } from '../core/views/state-view.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { systemClock } from '../stores/system-clock.ts';
import type { AnyEvent, LoopAppendOptions, LoopKnowledge } from './append/append-for-loop.ts';
import { type AppendEntryOptions, AppendQueue } from './append/append-queue.ts';
import { EventIntake } from './append/event-intake.ts';
import { noteAppend, runTransaction } from './append/run-transaction.ts';
import { type InputTarget, type SendOptions, type SentInput, sendInput, withdrawInput } from './append/send-input.ts';
import { StagedSession } from './append/staged-session.ts';
import { uniqueId } from './append/unique-id.ts';
import { eraseMessage } from './change/erase-message.ts';
import { forkSession } from './change/fork-session.ts';
import { DecidableSession } from './people/decidable-session.ts';
import { resolveContents, restoredContents, sha256 } from './read/contents.ts';
import { FoldedLog, missingSlices } from './read/folded-log.ts';
import { type EventListener, Listeners, type SliceObserver } from './read/live.ts';
import { restoredSlices } from './read/restored-slices.ts';
import { SessionSnapshots } from './read/session-snapshots.ts';
import { checkFrom, cursorWithoutDrafts, tail } from './read/tail.ts';
import { oncePerEvent, reporter } from './report-errors.ts';
import type {
  Dispatched,
  DraftPolicy,
  EventsOptions,
  OpenSessionOptions,
  RestoreOptions,
  Session,
  SessionAppendOptions,
  SubscribeOptions,
  TailOptions,
} from './session.ts';

/** Events of a program's append are copied and checked. */
const NOTHING_KNOWN: LoopKnowledge = {};

/** The session that `openSession` returns; `Session` documents its contract. */
export class SessionHandle<Slices extends readonly AnySlice[]> extends DecidableSession implements Session<Slices> {
  readonly id: string;
  readonly store: Store;
  readonly incarnation: number;
  readonly clock: Clock;
  readonly readOnly: boolean;
  readonly drafts: DraftPolicy;
  readonly #options: OpenSessionOptions<Slices>;
  readonly #createFold: (slices: readonly AnySlice[]) => Fold;
  readonly #report: (error: unknown) => void;
  readonly #listeners: Listeners;
  readonly #log: FoldedLog;
  #adding: Promise<void> = Promise.resolve();
  readonly #intake: EventIntake;
  readonly #queue: AppendQueue;
  readonly #snapshots: SessionSnapshots;
  #unwatch: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  /** This handle commits nothing more: readers that follow it have received its last event. */
  #closed = false;
  /** Aborts when this handle is closed; made for the first tail. */
  #end: AbortController | undefined;

  static async open<Slices extends readonly AnySlice[]>(
    options: OpenSessionOptions<Slices>,
  ): Promise<SessionHandle<Slices>> {
    const { store, id, upcasters = {}, slices = [], readOnly = false } = options;
    const report = reporter(options.onError);
    const foldOf = (all: readonly AnySlice[]): Fold =>
      createFold(all, (slice, event, cause) => {
        const why = `slice "${slice}" could not fold ${event.type} at ${event.seq}: ${messageOf(cause)}`;
        report(new HoldfastError('EVENT_INVALID', why, { cause }));
      });
    const listeners = new Listeners(report);
    const changed = listeners.notify.bind(listeners);
    const { incarnation, revision } = await store.head(id);
    const onUpcastError = oncePerEvent(report);
    const log = await FoldedLog.load(
      { store, sessionId: id, incarnation, fold: foldOf(slices), slices, upcasters, changed, onUpcastError },
      revision,
    );
    if (readOnly && log.state.seq === 0) {
      throw new HoldfastError('SESSION_NOT_FOUND', `there is no session ${id}; open it without readOnly to begin it`);
    }
    const session = new SessionHandle(options, { foldOf, log, listeners, report, incarnation });
    await session.#snapshots.writeIfDue();
    return session;
  }

  private constructor(
    options: OpenSessionOptions<Slices>,
    parts: {
      readonly foldOf: (slices: readonly AnySlice[]) => Fold;
      readonly log: FoldedLog;
      readonly listeners: Listeners;
      readonly report: (error: unknown) => void;
      readonly incarnation: number;
    },
  ) {
    super();
    const { id, store, clock = systemClock, readOnly = false, redactText } = options;
    const { log } = parts;
    this.id = id;
    this.store = store;
    this.incarnation = parts.incarnation;
    this.clock = clock;
    this.readOnly = readOnly;
    this.drafts = {
      ...(redactText ? { stored: true, redactText } : { stored: !options.redact }),
      ...(options.redact && { hidesArguments: true as const }),
    };
    this.#options = options;
    this.#createFold = parts.foldOf;
    this.#log = log;
    this.#listeners = parts.listeners;
    this.#report = parts.report;
    this.#snapshots = new SessionSnapshots(this, { log, report: parts.report });
    const hold = this.#snapshots.hold.bind(this.#snapshots);
    this.#intake = new EventIntake({ ...options, clock, log, hold });
    this.#queue = new AppendQueue(
      {
        store,
        sessionId: id,
        incarnation: parts.incarnation,
        pause: (ms) => new Promise((resolve) => clock.after(ms, resolve)),
        state: () => log.state,
        committed: (events, seq) => log.committed(events, seq),
        refresh: () => log.refresh(),
      },
      uniqueId(),
    );
  }

  get state(): SessionState {
    return this.#log.state;
  }

  get seq(): number {
    return this.#log.state.seq;
  }

  get summary(): SessionSummary | undefined {
    return this.#log.state.summary;
  }

  dispatch<const Type extends string>(event: Dispatched<Slices, Type>): Promise<{ readonly seq: number }> {
    return this.#append([event as AnyEvent], {}, NOTHING_KNOWN, { declared: true });
  }

  append(events: readonly AnyEvent[], options: SessionAppendOptions = {}): Promise<{ readonly seq: number }> {
    return this.#append(events, options, NOTHING_KNOWN);
  }

  /** Not part of `Session`: `appendForLoop` calls it. */
  appendForLoop(events: readonly AnyEvent[], options: LoopAppendOptions): Promise<{ readonly seq: number }> {
    return this.#append(events, options, options);
  }

  #append(
    events: readonly AnyEvent[],
    options: AppendEntryOptions,
    { now, plain, discarded = 0 }: LoopKnowledge,
    { declared = false } = {},
  ): Promise<{ readonly seq: number }> {
    try {
      this.#assertWritable();
      if (events.length === 0) return Promise.resolve({ seq: this.seq });
      noteAppend(this.store, this.id);
      const ready = this.#intake.accept(discarded > 0 ? this.#intake.markFirst(events, discarded) : events, plain);
      if (declared) ready.events.forEach(this.#intake.checkDeclared, this.#intake);
      return this.#queue.append(ready, options, now);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Not part of `Session`: `addSlices` calls it. One call after the other, so that each knows what the one before has added. */
  addSlices(slices: readonly AnySlice[]): Promise<void> {
    const added = this.#adding.then(() => {
      const missing = missingSlices(this.id, this.#log.slices, slices);
      if (missing.length > 0) return this.#log.addSlices(missing, this.#createFold([...this.#log.slices, ...missing]));
    });
    this.#adding = added.catch(() => {});
    return added;
  }

  send(input: string | InputContent, options: SendOptions = {}): Promise<SentInput> {
    return sendInput(this.#inputs, input, options);
  }

  withdraw(inputId: string, options: { readonly by?: string } = {}): Promise<boolean> {
    return withdrawInput(this.#inputs, inputId, options);
  }

  readonly #inputs: InputTarget = {
    state: () => this.state,
    refresh: () => this.refresh(),
    accept: (event, plain) => {
      this.#assertWritable();
      return this.#intake.accept([event], plain);
    },
    append: (accepted, guard) => {
      noteAppend(this.store, this.id);
      return this.#queue.append(accepted, { guard }, true);
    },
  };

  async transaction<T>(body: (tx: StagedSession<Slices>) => Promise<T> | T): Promise<T> {
    this.#assertWritable();
    return runTransaction(this.store, this.id, async (beforeCommit) => {
      await this.refresh(); // another process may have committed what this one must see
      const { id, state } = this;
      const tx = new StagedSession<Slices>({ id, state }, this.#log.fold, this.#intake);
      try {
        const result = await body(tx);
        const events = tx.close() as readonly AnyEvent[];
        if (events.length === 0) return result;
        await beforeCommit();
        this.#assertWritable();
        await this.#queue.append(this.#intake.accept(events), { after: state.seq });
        return result;
      } finally {
        tx.close();
      }
    });
  }

  stage(): StagedSession {
    this.#assertWritable();
    return new StagedSession(this, this.#log.fold, this.#intake);
  }

  observe<S extends AnySlice>(slice: S, observer: SliceObserver<StateOf<S>>): () => void {
    this.#assertOpen();
    if (!itemsOf(this.state, slice.name)) throw unknownSlice(slice.name);
    const observed = (before: readonly unknown[], after: readonly unknown[]): void | Promise<void> =>
      observer(heldBy(slice, before), heldBy(slice, after));
    return this.#listening(this.#listeners.observe(slice.name, observed));
  }

  subscribe(listener: EventListener<EventIn<Slices>>, options: SubscribeOptions = {}): () => void {
    const { types, from } = options;
    this.#assertOpen();
    if (from !== undefined) checkFrom(from);
    const [seq, read] = [() => this.seq, (after: number) => this.#log.read({ after })];
    return this.#listening(this.#listeners.subscribe(listener as EventListener, { types, from, seq, read }));
  }

  events(options?: EventsOptions): AsyncIterable<EventIn<Slices>>;
  events(options: TailOptions): AsyncIterable<TailItem<EventIn<Slices>>>;
  events(options: EventsOptions | TailOptions = {}): AsyncIterable<EventIn<Slices> | TailItem<EventIn<Slices>>> {
    return options.drafts === true ? this.#tail(options) : this.#events(options);
  }

  #tail(options: TailOptions): AsyncIterable<TailItem<EventIn<Slices>>> {
    this.#end ??= new AbortController();
    const { store, id, incarnation } = this;
    const assertOpen = (): void => this.#assertOpen();
    const translate = (event: SessionEvent): SessionEvent => this.#log.translate(event);
    return tail({ store, id, incarnation, assertOpen, translate, closed: this.#end.signal }, options) as AsyncIterable<
      TailItem<EventIn<Slices>>
    >;
  }

  async *#events(options: EventsOptions): AsyncIterable<EventIn<Slices>> {
    const { from = 1, live = false, signal } = options;
    this.#assertOpen();
    if ('after' in options && options.after !== undefined) throw cursorWithoutDrafts();
    checkFrom(from);
    const types = options.types && new Set(options.types);
    let cursor = from - 1;
    while (!signal?.aborted) {
      // Registered before the read, so that no commit is missed meanwhile.
      const next = live && !this.#closed ? this.#listeners.nextCommit(signal) : undefined;
      const stop = next && this.#listening(next.cancel);
      try {
        for await (const event of this.#log.read({ after: cursor })) {
          cursor = event.seq;
          if (!types || types.has(event.type)) yield event as EventIn<Slices>;
          if (signal?.aborted) return;
        }
        if (!next) return;
        await next.happened;
      } finally {
        stop?.();
      }
    }
  }

  async refresh(): Promise<void> {
    this.#assertOpen();
    await this.#log.refresh();
  }

  snapshot(options?: { readonly contents?: false }): Snapshot;
  snapshot(options: { readonly contents: true }): Promise<Snapshot>;
  snapshot({ contents }: { readonly contents?: boolean } = {}): Snapshot | Promise<Snapshot> {
    if (contents) return this.#snapshots.takeWhole();
    return contents === false ? this.#snapshots.takeWithout() : this.#snapshots.take();
  }

  async restore(input: Snapshot | string, options: RestoreOptions = {}): Promise<void> {
    this.#assertWritable();
    const known = this.#log.slices.map((slice) => slice.name);
    const snapshot = parseSnapshot(input, { ...options, known, hash: sha256 });
    await this.#log.refresh();
    const restored = await restoredSlices(snapshot, {
      sessionId: this.id,
      seq: this.seq,
      createdAt: this.summary?.createdAt,
      slices: this.#log.slices,
      fold: this.#log.fold,
      read: (limit) => this.#log.read({ limit }),
    });
    const messages = (restored.slices.messages ?? []) as readonly ConversationMessage[];
    const contents = await restoredContents(this.store, snapshot, messages);
    this.#snapshots.hold(contents);
    // Without a size limit: a restored conversation is one event, however long it is.
    const events = [this.#intake.prepare({ type: 'session/restored', ...restored }, MAX_SNAPSHOT_DEPTH)];
    await this.#queue.append({ events, contents });
  }

  async compact(): Promise<void> {
    this.#assertWritable();
    await this.#snapshots.write();
  }

  async fork(options: { readonly id?: string; readonly at?: number } = {}): Promise<Session<Slices>> {
    this.#assertOpen();
    const id = await forkSession(this, { ...options, upcasters: this.#options.upcasters });
    return SessionHandle.open({ ...this.#options, readOnly: false, id });
  }

  async describe(description: Pick<SessionDescribed, 'title' | 'tags' | 'metadata'>): Promise<void> {
    await this.append([{ type: 'session/described', ...description }]);
  }

  async eraseMessage(messageId: string, reason?: string): Promise<void> {
    this.#assertWritable();
    await eraseMessage(this, messageId, reason);
    await this.#log.refoldSlices();
  }

  resolve(messages: readonly ConversationMessage[]): Promise<readonly ConversationMessage[]> {
    return resolveContents(this, messages);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#queue.idle();
    await this.#snapshots.writeIfDue();
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#closed = true;
    this.#end?.abort();
    this.#listeners.close();
  }

  /** Follows other handles' commits while there is a listener. */
  #listening(stop: () => void): () => void {
    this.#unwatch ??= this.store.watch(this.id, () => {
      if (!this.#closing) this.#log.refresh().catch(this.#report);
    });
    return () => {
      stop();
      if (this.#listeners.listening) return;
      this.#unwatch?.();
      this.#unwatch = undefined;
    };
  }

  #assertOpen(): void {
    if (this.#closing) throw new HoldfastError('SESSION_CLOSED', `session ${this.id} was closed; open it again`);
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (!this.readOnly) return;
    throw new HoldfastError(
      'SESSION_READ_ONLY',
      `session ${this.id} was opened to be read; open it without readOnly to write`,
    );
  }
}
