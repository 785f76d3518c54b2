import { sameValue } from '../../conversation/same-value.ts';
import type { Fold, SessionState } from '../../core/fold/fold.ts';
import { type AnySlice, itemsAsArray } from '../../core/fold/slices.ts';
import type { SliceSnapshot } from '../../core/fold/snapshot.ts';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import { type UpcastErrorHandler, type Upcasters, upcastLogged, upcastPage } from '../../core/log/upcast.ts';
import type { ReadOptions, Store } from '../../ports/store.ts';
import { loadState, storedOpaque, withRestoredSlices } from './load-state.ts';

export interface FoldedLogOptions {
  readonly store: Store;
  readonly sessionId: string;
  /** The life of the session that was opened. */
  readonly incarnation: number;
  readonly fold: Fold;
  readonly slices: readonly AnySlice[];
  readonly upcasters: Upcasters;
  readonly onUpcastError: UpcastErrorHandler;
  /** Called after each change of the state, with the events that made it. */
  readonly changed: (before: SessionState, after: SessionState, events: readonly SessionEvent[]) => void;
}

/** One session's log, read and folded as far as this handle knows it. */
export class FoldedLog {
  #options: FoldedLogOptions;
  #state: SessionState;
  #opaque: ReadonlyMap<string, SliceSnapshot>;
  /** The revision of the log that was folded: a snapshot of another one may hold erased text. */
  #revision: number;
  #refreshing: Promise<void> | undefined;
  #refreshingNext: Promise<void> | undefined;
  /** How many events had to be read on opening. */
  readonly replayed: number;

  static async load(options: FoldedLogOptions, revision: number): Promise<FoldedLog> {
    const { state, opaque, replayed } = await loadState(options.store, options.sessionId, options);
    return new FoldedLog(options, state, opaque, replayed, revision);
  }

  private constructor(
    options: FoldedLogOptions,
    state: SessionState,
    opaque: ReadonlyMap<string, SliceSnapshot>,
    replayed: number,
    revision: number,
  ) {
    this.#revision = revision;
    this.#options = options;
    this.#state = state;
    this.#opaque = opaque;
    this.replayed = replayed;
  }

  get revision(): number {
    return this.#revision;
  }

  get state(): SessionState {
    return this.#state;
  }

  get fold(): Fold {
    return this.#options.fold;
  }

  get slices(): readonly AnySlice[] {
    return this.#options.slices;
  }

  /** Folds more slices from now on, each from the start of the log or its part of the snapshot (D6). `fold` folds all of them. */
  async addSlices(added: readonly AnySlice[], fold: Fold): Promise<void> {
    this.#options = { ...this.#options, fold, slices: [...this.slices, ...added] };
    await this.refoldSlices();
  }

  /** Slices of the snapshot that this process does not define: they go into the next one (D6). */
  get opaque(): ReadonlyMap<string, SliceSnapshot> {
    return this.#opaque;
  }

  /** Events under their current names. */
  async *read(range: ReadOptions): AsyncIterable<SessionEvent> {
    const { store, sessionId, incarnation } = this.#options;
    for await (const event of store.read(sessionId, { ...range, incarnation })) yield this.translate(event);
  }

  /** A stored event under its current name. */
  translate(event: SessionEvent): SessionEvent {
    return upcastLogged(event, this.#options.upcasters, this.#options.onUpcastError);
  }

  /** Folds events that this handle has committed: `events` ended at `last`. They are read as anyone else reads them. */
  committed(events: readonly NewEvent[], last: number): void {
    let seq = last - events.length;
    for (const event of events as readonly { seq?: number }[]) event.seq = ++seq; // what was accepted is our own copy
    const { upcasters, onUpcastError } = this.#options;
    this.#ingest(upcastPage(events as readonly SessionEvent[], upcasters, onUpcastError));
  }

  /** Folds committed events, in order. Those already folded are skipped (I7). */
  #ingest(events: readonly SessionEvent[]): void {
    const before = this.#state;
    const isNew = (event: SessionEvent): boolean => event.seq > before.seq;
    const fresh = events.every(isNew) ? events : events.filter(isNew);
    if (fresh.length === 0) return;
    this.#opaque = withRestoredSlices(this.#opaque, fresh, this.#options.slices);
    this.#become(this.#options.fold.applyAll(before, fresh), fresh);
  }

  /** Reads and folds what others have appended; when it resolves, whatever was committed before the call is folded. */
  refresh(): Promise<void> {
    if (!this.#refreshing) {
      this.#refreshing = this.#readUp().finally(() => {
        this.#refreshing = undefined;
      });
      return this.#refreshing;
    }
    // The read under way may have begun before the events that the caller wants: another read follows it.
    this.#refreshingNext ??= this.#refreshing
      .catch(() => {}) // its own caller gets the error
      .then(() => {
        this.#refreshingNext = undefined;
        return this.refresh();
      });
    return this.#refreshingNext;
  }

  async #readUp(): Promise<void> {
    const fresh = await collect(this.read({ after: this.#state.seq }));
    this.#ingest(fresh);
    if (fresh.some((event) => event.type === 'message/erased')) await this.refoldSlices();
  }

  /** Folds the slices again from a log in which something was erased: none of them holds the erased content any more (D58). */
  async refoldSlices(): Promise<void> {
    const { store, sessionId, fold } = this.#options;
    // Before the log is read: what is erased meanwhile makes this revision an old one.
    const { revision } = await store.head(sessionId);
    const loaded = await loadState(store, sessionId, this.#options);
    let { state } = loaded;
    // What was committed meanwhile is folded into the one that lacks it.
    for (let missing = this.#state.seq - state.seq; missing !== 0; missing = this.#state.seq - state.seq) {
      const events = await collect(
        this.read({ after: Math.min(state.seq, this.#state.seq), limit: Math.abs(missing) }),
      );
      if (events.length === 0) return; // the session was deleted
      if (missing < 0) this.#ingest(events);
      else state = fold.applyAll(state, events);
    }
    const slices = new Map(this.#state.slices);
    for (const [name, items] of state.slices) {
      if (!sameValue(itemsAsArray(items), itemsAsArray(slices.get(name) ?? []))) slices.set(name, items);
    }
    this.#opaque = loaded.opaque;
    this.#revision = revision;
    this.#become({ ...this.#state, slices }, []);
  }

  /** Takes over slices of the stored snapshot that another process folded further. What may hold erased content is left (D58). */
  async refreshOpaque(): Promise<void> {
    const { store, sessionId } = this.#options;
    const newer = new Map(this.#opaque);
    for (const [name, slice] of await storedOpaque(store, sessionId, this.#options)) {
      const isClean = (this.#state.erasedSeq ?? 0) <= slice.seq;
      if (isClean && slice.seq <= this.#state.seq && slice.seq >= (newer.get(name)?.seq ?? 0)) newer.set(name, slice);
    }
    this.#opaque = newer;
  }

  #become(state: SessionState, events: readonly SessionEvent[]): void {
    const before = this.#state;
    this.#state = state;
    this.#options.changed(before, state, events);
  }
}

async function collect(events: AsyncIterable<SessionEvent>): Promise<readonly SessionEvent[]> {
  const all: SessionEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}
