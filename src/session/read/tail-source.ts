import { frozen } from '../../core/frozen.ts';
import type { DraftPosition } from '../../core/log/draft-position.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import type { DraftChunk, Store } from '../../ports/store.ts';

/** How many events are read at a time. */
export const EVENT_PAGE = 128;
/** A reader that has more chunks to read than this is too slow for pieces: it gets the drafts as they are now. */
export const CHUNK_PAGE = 256;

const LONG_MS = 2 ** 30;

/** What a reader has read so far. */
export interface TailPosition {
  readonly seq: number;
  readonly position: DraftPosition | undefined;
}

/** What lies after a place. Chunks were read before the events: every event that a chunk follows is among them, or was read before. */
export interface TailBatch {
  readonly chunks: readonly DraftChunk[];
  /** The chunks are all that the store holds, not only those after the place: too many were missed, or one lacks its offset. */
  readonly isFresh: boolean;
  /** No draft is open: what the reader has read of drafts is recorded. */
  readonly isSettled: boolean;
  readonly events: readonly SessionEvent[];
  /** There are more events. */
  readonly isPartial: boolean;
}

const SOURCES = new WeakMap<Store, Map<string, TailSource>>();

/**
 * One session as all tails in this process read it: one watcher of the store for all of them, and one read for all that stand at the
 * same place. A read is shared while it is under way, and only with readers that were woken by the same change: no batch is kept.
 */
export class TailSource {
  readonly #store: Store;
  readonly #id: string;
  readonly #incarnation: number;
  readonly #waiters = new Set<() => void>();
  readonly #reads = new Map<string, Promise<TailBatch>>();
  #version = 0;
  #followers = 0;
  #unwatch: (() => void) | undefined;
  /** Keeps the process alive while a tail waits: the timers of stores do not. */
  #alive: NodeJS.Timeout | undefined;

  /** The source that live tails of this session share; each calls `release` when it ends. */
  static follow(store: Store, id: string, incarnation: number): TailSource {
    const sources = SOURCES.get(store) ?? new Map<string, TailSource>();
    SOURCES.set(store, sources);
    const key = keyOf(id, incarnation);
    const source = sources.get(key) ?? new TailSource(store, id, incarnation);
    source.#unwatch ??= store.watch(id, () => source.#wake());
    source.#followers++;
    sources.set(key, source);
    return source;
  }

  constructor(store: Store, id: string, incarnation: number) {
    this.#store = store;
    this.#id = id;
    this.#incarnation = incarnation;
  }

  /** A tail that followed has ended; the last one ends the watching. */
  release(): void {
    if (--this.#followers > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
    SOURCES.get(this.#store)?.delete(keyOf(this.#id, this.#incarnation));
  }

  /** Changes after every commit that this process noticed while a tail followed. */
  get version(): number {
    return this.#version;
  }

  /** Waits for a change after `version`, or for one of the signals to abort. */
  changed(version: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    if (version !== this.#version || signals.some((signal) => signal?.aborted)) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(wake);
        for (const signal of signals) signal?.removeEventListener('abort', wake);
        if (this.#waiters.size === 0) clearInterval(this.#alive);
        resolve();
      };
      if (this.#waiters.size === 0) this.#alive = setInterval(() => {}, LONG_MS);
      this.#waiters.add(wake);
      for (const signal of signals) signal?.addEventListener('abort', wake);
    });
  }

  /** Reads what lies after a place; without `drafts` only events. `isShared`: a read that has begun before is as good. */
  read(
    from: TailPosition,
    { drafts, isShared }: { readonly drafts: boolean; readonly isShared: boolean },
  ): Promise<TailBatch> {
    if (!isShared) return this.#read(from, drafts);
    const { seq, position } = from;
    const key = `${this.#version}/${seq}/${position?.fence}.${position?.n}/${drafts}`;
    const known = this.#reads.get(key);
    if (known) return known;
    const reading = this.#read(from, drafts).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  /** The oldest chunk of a draft that is still stored. */
  async oldest(draftId?: string): Promise<DraftPosition | undefined> {
    const options = { limit: 1, incarnation: this.#incarnation, ...(draftId !== undefined && { draftId }) };
    const [oldest] = await this.#store.readDraft(this.#id, options);
    return oldest;
  }

  #wake(): void {
    this.#version++;
    for (const wake of [...this.#waiters]) wake();
  }

  async #read({ seq, position }: TailPosition, drafts: boolean): Promise<TailBatch> {
    const { chunks, isFresh } = drafts ? await this.#chunks(position) : { chunks: [], isFresh: false };
    const isSettled = drafts && position !== undefined && chunks.length === 0 && !(await this.oldest());
    const events: SessionEvent[] = [];
    const range = { after: seq, limit: EVENT_PAGE, incarnation: this.#incarnation };
    for await (const event of this.#store.read(this.#id, range)) events.push(frozen(event));
    return { chunks, isFresh, isSettled, events, isPartial: events.length === EVENT_PAGE };
  }

  async #chunks(position: DraftPosition | undefined): Promise<Pick<TailBatch, 'chunks' | 'isFresh'>> {
    const incarnation = this.#incarnation;
    const options = { limit: CHUNK_PAGE, incarnation, ...(position && { after: position }) };
    const chunks = await this.#store.readDraft(this.#id, options);
    const isFresh = chunks.length === CHUNK_PAGE || chunks.some(lacksOffset);
    return { chunks: isFresh ? await this.#store.readDraft(this.#id, { incarnation }) : chunks, isFresh };
  }
}

function keyOf(id: string, incarnation: number): string {
  return `${incarnation}:${id}`;
}

/** Chunks of earlier versions lack it: where they belong follows from those before them. */
function lacksOffset({ kind, offset }: DraftChunk): boolean {
  return offset === undefined && kind !== 'progress';
}
