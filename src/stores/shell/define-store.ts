import { HoldfastError } from '../../core/errors.ts';
import { MAX_PROGRESS_LENGTH } from '../../core/log/progress.ts';
import { makesWork } from '../../core/summary/summary-fields.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DraftChunk, IncarnationOption, SearchHit, SearchOptions, SessionInfo, Store } from '../../ports/store.ts';
import {
  checkAppend,
  checkCount,
  checkDraft,
  checkRead,
  checkReadDraft,
  checkSessionId,
  checkSnapshot,
  checkTtl,
} from '../check-arguments.ts';
import { StoreLeases } from '../leases/store-leases.ts';
import { contentMissing, fenceConflict, snapshotBeyondLog, storeClosed } from '../refusals.ts';
import { DEFAULT_HITS, parseQuery } from '../search-text.ts';
import { storeFailure } from '../store-failure.ts';
import { systemClock } from '../system-clock.ts';
import { Watchers } from '../watchers.ts';
import { Appending } from './appending.ts';
import type { ListedRow, OwnBackend, SessionKey, SessionRow, StoreBackend } from './backend.ts';
import { Changing } from './changing.ts';
import { checkListing, Listing } from './listing.ts';
import { findLiving, readEvents } from './reading.ts';
import { scanSearch } from './scan-search.ts';
import { Summaries } from './summaries.ts';
import { type CommitFeed, PollingFeed } from './watching.ts';

/** Options of `defineStore`. */
export interface DefineStoreOptions {
  /** What leases expire by: the time of this process unless given. */
  readonly clock?: Clock | undefined;
}

/** A store that searches and announces work, as every one made by `defineStore`. */
export type DefinedStore = Store & {
  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  watchWork(listener: (sessionId?: string) => void): () => void;
};

/** Makes a store of a backend: the store checks, folds, lists, watches and keeps leases; the backend has transactions and rows. */
export function defineStore<Key extends SessionKey>(
  backend: StoreBackend<Key>,
  options: DefineStoreOptions = {},
): DefinedStore {
  return new Shell<Key>(backend, options).store;
}

const FROM_START = { fence: -1, n: 0 } as const;

/** The part of a store that is the same for every database. */
export class Shell<Key extends SessionKey> {
  readonly store: DefinedStore;
  readonly #backend: OwnBackend<Key>;
  readonly #watchers = new Watchers();
  readonly #feed: CommitFeed | undefined;
  readonly #listing: Listing<Key>;
  /** How many calls are running. */
  #running = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(backend: OwnBackend<Key>, { clock = systemClock }: DefineStoreOptions) {
    this.#backend = backend;
    const ask = backend.version?.bind(backend);
    this.#feed = backend.feed ?? (ask && new PollingFeed(ask));
    this.#feed?.start(this.#watchers);
    const leases = new StoreLeases(backend.leases, clock, backend.renewals);
    const summaries = new Summaries<Key>(backend);
    this.#listing = new Listing(backend, summaries, (sessionId, lease) => leases.shown(sessionId, lease));
    const appending = new Appending(backend, summaries, (sessionId, events) =>
      this.#committed(sessionId, events.some(makesWork)),
    );
    const changing = new Changing(backend, summaries);
    const enter = (sessionId?: string): void => this.enter(sessionId);
    const run = <T>(work: () => Promise<T>): Promise<T> => this.run(work);
    const write = <T>(work: () => Promise<T>): Promise<T> => {
      backend.refuseWrites?.();
      return this.run(work);
    };
    const living = (sessionId: string, incarnation: number | undefined): Promise<SessionRow<Key>> =>
      findLiving(backend, sessionId, incarnation);
    /** Reads what belongs to a session: `none` when it has no row. */
    const readOf = <T, N>(
      sessionId: string,
      { incarnation }: IncarnationOption,
      none: N,
      work: (key: Key) => Promise<T>,
    ): Promise<T | N> =>
      run(async () => {
        const { key } = await living(sessionId, incarnation);
        return key === undefined ? none : work(key);
      });

    this.store = {
      // Not asynchronous itself: an append is what a store does most, and each further promise costs it.
      append(sessionId, events, options) {
        try {
          enter();
          checkAppend(sessionId, events.length, options);
          return write(() => appending.append(sessionId, events, options));
        } catch (error) {
          return Promise.reject(error);
        }
      },

      read(sessionId, options = {}) {
        const find = (): Promise<SessionRow<Key>> => {
          enter();
          checkRead(sessionId, options);
          return run(() => living(sessionId, options.incarnation));
        };
        const events: StoreBackend<Key>['events'] = (key, range) => {
          enter();
          return run(() => backend.events(key, range));
        };
        return readEvents({ events }, async () => find(), sessionId, options);
      },

      async head(sessionId) {
        enter(sessionId);
        const { incarnation, seq, revision } = await run(() => backend.find(sessionId));
        return { incarnation, seq, revision };
      },

      watch: (sessionId, listener) => {
        enter(sessionId);
        if (!this.#watchers.has(sessionId)) this.#mapped(() => this.#feed?.watch(sessionId));
        return this.#watchers.add(sessionId, listener);
      },

      watchWork: (listener) => {
        enter();
        this.#mapped(() => this.#feed?.watchWork());
        return this.#watchers.addWork(listener);
      },

      async acquireLease(sessionId, options) {
        enter(sessionId);
        checkTtl(options.ttlMs);
        return write(() => leases.acquire(sessionId, options));
      },

      async renewLease(sessionId, fence, ttlMs) {
        enter(sessionId);
        checkTtl(ttlMs);
        return (await write(() => leases.renew(sessionId, fence, ttlMs))) !== undefined;
      },

      keepLease(sessionId, fence, options) {
        enter(sessionId);
        checkTtl(options.ttlMs);
        // By its own method: a store that wraps this one sees renewals, too.
        return leases.keep(sessionId, fence, options, () => this.renewLease(sessionId, fence, options.ttlMs));
      },

      releaseLease: async (sessionId, fence, { seq } = {}) => {
        enter(sessionId);
        const isReleased = await write(() => leases.release(sessionId, fence, seq));
        // Work that its holder did not finish can be done now.
        if (isReleased) this.#committed(sessionId, true);
        return isReleased;
      },

      async readLease(sessionId) {
        enter(sessionId);
        return run(() => leases.read(sessionId));
      },

      async writeSnapshot(sessionId, snapshot, { incarnation, revision, fence } = {}) {
        enter(sessionId);
        checkSnapshot(snapshot);
        const { seq, data } = snapshot;
        await write(async () => {
          const session = await living(sessionId, incarnation);
          if (fence !== undefined && fence !== session.fence) throw fenceConflict(sessionId, session.fence, fence);
          if (seq > session.seq) throw snapshotBeyondLog(sessionId, seq, session.seq);
          if (session.key === undefined || seq === 0 || (revision ?? session.revision) !== session.revision) return;
          await backend.writeSnapshot(session.key, { seq, data }, session.revision);
        });
      },

      async readSnapshot(sessionId, options = {}) {
        enter(sessionId);
        return readOf(sessionId, options, undefined, (key) => backend.readSnapshot(key));
      },

      appendDraft: async (sessionId, chunks, { incarnation, fence }) => {
        enter(sessionId);
        checkDraft(chunks, fence);
        const rows = chunks.map(({ fence: _, n, draftId, ...rest }) => {
          return { fence, n, draftId, length: rest.delta.length, data: JSON.stringify(rest) };
        });
        const limited = new Set(chunks.flatMap(({ kind, draftId }) => (kind === 'progress' ? [draftId] : [])));
        const limit = { draftIds: [...limited], maxLength: MAX_PROGRESS_LENGTH };
        await write(async () => {
          const { key } = await living(sessionId, incarnation);
          const isWritten = key !== undefined && (await backend.writeDrafts(key, fence, rows, limit));
          if (!isWritten) throw fenceConflict(sessionId, (await living(sessionId, incarnation)).fence, fence);
        });
        if (chunks.length > 0) this.#committed(sessionId, false);
      },

      async readDraft(sessionId, options = {}) {
        enter(sessionId);
        checkReadDraft(options);
        const { after = FROM_START, draftId, limit } = options;
        const rows = await readOf(sessionId, options, [], (key) => backend.readDrafts(key, { after, draftId, limit }));
        return rows.map(({ fence, n, draftId: id, data }) => {
          return { ...(JSON.parse(data) as Omit<DraftChunk, 'fence' | 'n' | 'draftId'>), fence, n, draftId: id };
        });
      },

      async readContent(sessionId, hash, options = {}) {
        enter(sessionId);
        const text = await readOf(sessionId, options, undefined, (key) => backend.readContent(key, hash));
        if (text === null) throw contentMissing(sessionId, hash);
        return text === undefined ? undefined : (JSON.parse(text) as string);
      },

      async readCallContent(sessionId, call, options = {}) {
        enter(sessionId);
        const text = await readOf(sessionId, options, undefined, (key) => backend.readCallContent(key, call));
        return text === undefined ? undefined : (JSON.parse(text) as string);
      },

      listSessions: async (options = {}) => {
        enter();
        checkListing(options);
        return run(() => this.#listing.page(options));
      },

      async search(query, { sessionId, limit = DEFAULT_HITS } = {}) {
        enter(sessionId);
        checkCount('limit', limit, 1);
        const terms = parseQuery(query);
        if (terms.length === 0) return [];
        const where = { sessionId, limit };
        return run(() => (backend.search ? backend.search(terms, where) : scanSearch(backend, terms, where)));
      },

      deleteSession: async (sessionId, { incarnation } = {}) => {
        enter(sessionId);
        const seq = await write(async () => {
          const { key } = await living(sessionId, incarnation);
          return key === undefined ? undefined : backend.remove(sessionId, key);
        });
        summaries.forget(sessionId);
        if (seq === undefined) return false;
        this.#committed(sessionId, false);
        return seq > 0;
      },

      forkSession: async (sessionId, target, options) => {
        enter(sessionId);
        const forked = await write(() => changing.fork(sessionId, target, options));
        this.#committed(target, true);
        return forked;
      },

      replaceEvent: async (sessionId, event, options = {}) => {
        enter(sessionId);
        checkCount('the seq of an event', event.seq, 1);
        // Readers are notified in any case: it may fail after it was replaced.
        await write(() => changing.replace(sessionId, event, options)).finally(() => this.#committed(sessionId, false));
      },

      async check() {
        enter();
        return run(() => backend.check());
      },

      close: () => {
        this.#closing ??= this.#close(leases);
        return this.#closing;
      },
    };
  }

  /** Throws when the store is closed, or when the id cannot be one of a session. */
  enter(sessionId?: string): void {
    if (this.#closing) throw storeClosed();
    if (sessionId !== undefined) checkSessionId(sessionId);
  }

  /** Runs a call that `close` waits for. Its errors become `HoldfastError`s. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#running++;
    let working: Promise<T>;
    try {
      working = work();
    } catch (error) {
      working = Promise.reject(error);
    }
    return working.then(this.#done, this.#failed) as Promise<T>;
  }

  /** Rows of the backend as callers see them. */
  infos(rows: readonly ListedRow<Key>[]): Promise<readonly SessionInfo[]> {
    return this.#listing.infos(rows);
  }

  readonly #done = <T>(value: T): T => {
    if (--this.#running === 0) this.#idle?.();
    return value;
  };

  readonly #failed = (error: unknown): never => {
    this.#done(undefined);
    throw this.#typed(error);
  };

  #typed(error: unknown): HoldfastError {
    if (error instanceof HoldfastError) return error;
    return storeFailure(error, this.#backend.where, this.#backend.errorCode?.(error));
  }

  #mapped(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw this.#typed(error);
    }
  }

  #committed(sessionId: string, isWork: boolean): void {
    if (isWork) this.#watchers.notifyWork(sessionId);
    this.#feed?.committed(sessionId, isWork);
    this.#watchers.notify(sessionId);
  }

  async #close(leases: StoreLeases): Promise<void> {
    this.#backend.closing?.();
    this.#watchers.clear();
    leases.stop();
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await leases.close();
    await this.#backend.close();
  }
}
