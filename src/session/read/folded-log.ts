import { sameValue } from '../../conversation/same-value.ts';
import { HoldfastError } from '../../core/errors.ts';
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
  #refolding: Promise<void> = Promise.resolve();
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
  addSlices(added: readonly AnySlice[], fold: Fold): Promise<void> {
    return this.#refold({ fold, slices: [...this.slices, ...added] });
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
  refoldSlices(): Promise<void> {
    return this.#refold({});
  }

  /** One at a time. The options change together with the state: slices are never known and not folded. */
  #refold(changes: Partial<Pick<FoldedLogOptions, 'fold' | 'slices'>>): Promise<void> {
    const refolded = this.#refolding.then(() => this.#refoldNow({ ...this.#options, ...changes }));
    this.#refolding = refolded.catch(() => {});
    return refolded;
  }

  async #refoldNow(options: FoldedLogOptions): Promise<void> {
    const { store, sessionId, fold } = options;
    // Before the log is read: what is erased meanwhile makes this revision an old one.
    const { revision } = await store.head(sessionId);
    const loaded = await loadState(store, sessionId, options);
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
      const known = slices.get(name);
      if (known === undefined || !sameValue(itemsAsArray(items), itemsAsArray(known))) slices.set(name, items);
    }
    this.#options = options;
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

/** The slices that a session does not fold yet. Another slice of a name that it has would fold the same events to something else. */
export function missingSlices(
  sessionId: string,
  known: readonly AnySlice[],
  wanted: readonly AnySlice[],
): readonly AnySlice[] {
  const byName = new Map(known.map((slice) => [slice.name, slice]));
  const clash = wanted.find((slice) => (byName.get(slice.name) ?? slice) !== slice);
  if (clash) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `session ${sessionId} was opened with another slice called "${clash.name}" than a tool of the agent uses; define it once and give both the same one, or rename one`,
    );
  }
  return wanted.filter(({ name }) => !byName.has(name));
}
