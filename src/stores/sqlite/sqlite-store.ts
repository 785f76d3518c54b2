import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import { checkAppend, checkCount, checkId, checkSessionId, checkTtl } from '../check-arguments.ts';
import { decodeEvent, encodeEvent } from '../encoded-event.ts';
import { eventNotFound, sessionNotFound, storeClosed } from '../refusals.ts';
import { DEFAULT_HITS, parseQuery } from '../search-text.ts';
import { systemClock } from '../system-clock.ts';
import { Watchers } from '../watchers.ts';
import { backUp } from './back-up.ts';
import { BackgroundIndexing } from './background-indexing.ts';
import { untilFree } from './busy.ts';
import { ContentTable } from './content-table.ts';
import { DraftTable } from './draft-table.ts';
import type { Database } from './driver.ts';
import { EventLog } from './event-log.ts';
import { EventTable } from './event-table.ts';
import { checkIntegrity } from './integrity.ts';
import { LeaseTable } from './lease-table.ts';
import {
  type ConnectionSettings,
  DEFAULT_BUSY_TIMEOUT_MS,
  type OpenOptions,
  openDatabase,
  readSettings,
} from './open-database.ts';
import { readEvents } from './read-events.ts';
import { RemoteCommits } from './remote-commits.ts';
import { SearchIndex } from './search-index.ts';
import { SessionTable } from './session-table.ts';
import { SnapshotTable } from './snapshot-table.ts';
import { storeError } from './sqlite-errors.ts';
import { emptyIfFree, emptyWriteAheadLog, stillInLog } from './write-ahead-log.ts';
import { WriteQueue } from './write-queue.ts';

export interface SqliteStoreOptions extends OpenOptions {
  /** What leases expire by. */
  readonly clock?: Clock;
  /** Whether the search index is filled while nothing else is written (the default), or only when a search asks for it. */
  readonly backgroundIndexing?: boolean;
}

/** A store in one SQLite file. */
export interface SqliteStore extends Store {
  /** What the store's connection is set to, asked of the connection. */
  settings(): ConnectionSettings;
}

/**
 * Opens or creates a store in one SQLite file, the default for one machine. Any number of processes may share the file. What
 * `append` has acknowledged survives a crash of the process, of the system and of the power.
 */
export async function sqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  if (options.busyTimeoutMs !== undefined) checkCount('busyTimeoutMs', options.busyTimeoutMs);
  const database = await openDatabase(path, options);
  try {
    return await untilFree(path, options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS, () =>
      storeOn(database, path, options),
    );
  } catch (error) {
    // A table that is not as it should be shows when statements are prepared.
    database.close();
    throw error;
  }
}

function storeOn(database: Database, path: string, options: SqliteStoreOptions): SqliteStore {
  const {
    clock = systemClock,
    readOnly = false,
    busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
    backgroundIndexing = true,
  } = options;
  const sessions = new SessionTable(database);
  const events = new EventTable(database);
  const log = new EventLog(sessions, events);
  const leases = new LeaseTable(database, sessions);
  const drafts = new DraftTable(database, sessions);
  const snapshots = new SnapshotTable(database, sessions);
  const contents = new ContentTable(database, sessions);
  const index = new SearchIndex(database, events);
  const queue = new WriteQueue(database, path, busyTimeoutMs);
  const indexing = new BackgroundIndexing(index, queue);
  const watchers = new Watchers();
  const remote = new RemoteCommits(database, sessions, watchers);
  /** Operations of several steps, which `close` waits for. */
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function enter(sessionId?: string): void {
    if (closing) throw storeClosed();
    if (sessionId !== undefined) checkSessionId(sessionId);
  }

  function query<T>(work: () => T): Promise<T> {
    return untilFree(path, busyTimeoutMs, () => {
      // It may have been closed while this waited for a lock.
      if (!database.isOpen) throw storeClosed();
      return work();
    });
  }

  function write<T>(work: () => T, writer?: string): Promise<T> {
    if (!readOnly) return queue.submit(work, writer);
    throw new HoldfastError('STORE_READ_ONLY', `${path} was opened with readOnly; open it without to write`);
  }

  async function track<T>(operation: Promise<T>): Promise<T> {
    underWay.add(operation);
    try {
      return await operation;
    } finally {
      underWay.delete(operation);
    }
  }

  function announce(sessionId: string): void {
    if (!watchers.has(sessionId)) return;
    remote.noticed(sessionId);
    watchers.notify(sessionId);
  }

  if (!readOnly && backgroundIndexing) indexing.schedule();

  return {
    async append(sessionId, newEvents, appendOptions) {
      enter();
      checkAppend(sessionId, newEvents.length, appendOptions);
      const encoded = newEvents.map(encodeEvent);
      const appended = await write(() => log.append(sessionId, newEvents, encoded, appendOptions), sessionId);
      if (appended.summary) {
        log.remember(sessionId, appended);
        announce(sessionId);
        if (backgroundIndexing) indexing.schedule();
      }
      return { seq: appended.seq };
    },

    read(sessionId, readOptions = {}) {
      const guarded = <T>(work: () => T): Promise<T> => {
        enter();
        return query(work);
      };
      return readEvents(events, sessions, guarded, sessionId, readOptions);
    },

    async head(sessionId) {
      enter(sessionId);
      return query(() => sessions.find(sessionId)?.seq ?? 0);
    },

    watch(sessionId, listener) {
      enter(sessionId);
      try {
        remote.watch(sessionId);
      } catch (error) {
        throw storeError(error, path);
      }
      return watchers.add(sessionId, listener);
    },

    async acquireLease(sessionId, leaseOptions) {
      enter(sessionId);
      checkTtl(leaseOptions.ttlMs);
      return write(() => leases.acquire(sessionId, leaseOptions, clock.now()));
    },

    async renewLease(sessionId, fence, ttlMs) {
      enter(sessionId);
      checkTtl(ttlMs);
      return write(() => leases.renew(sessionId, fence, clock.now() + ttlMs));
    },

    async releaseLease(sessionId, fence) {
      enter(sessionId);
      return write(() => leases.release(sessionId, fence));
    },

    async readLease(sessionId) {
      enter(sessionId);
      return query(() => leases.read(sessionId));
    },

    async writeSnapshot(sessionId, snapshot) {
      enter(sessionId);
      checkCount('the seq of a snapshot', snapshot.seq);
      if (!snapshot.data.isWellFormed()) {
        throw new HoldfastError('INVALID_ARGUMENT', 'a snapshot must be well-formed text, as JSON.stringify gives it');
      }
      return write(() => snapshots.write(sessionId, snapshot));
    },

    async readSnapshot(sessionId) {
      enter(sessionId);
      return query(() => snapshots.read(sessionId));
    },

    async appendDraft(sessionId, chunks) {
      enter(sessionId);
      for (const chunk of chunks) checkId('an evaluation id', chunk.evaluationId);
      if (chunks.length > 0) await write(() => drafts.append(sessionId, chunks));
    },

    async readDraft(sessionId, evaluationId) {
      enter(sessionId);
      return query(() => drafts.read(sessionId, evaluationId));
    },

    async deleteDraft(sessionId, evaluationId) {
      enter(sessionId);
      return write(() => drafts.delete(sessionId, evaluationId));
    },

    async writeContent(sessionId, hash, text) {
      enter(sessionId);
      checkId('a hash', hash);
      const encoded = JSON.stringify(text);
      return write(() => contents.write(sessionId, hash, encoded));
    },

    async readContent(hash) {
      enter();
      return query(() => contents.read(hash));
    },

    async listSessions(listOptions = {}) {
      enter();
      return query(() => sessions.list(listOptions));
    },

    async search(text, { sessionId, limit = DEFAULT_HITS } = {}) {
      enter(sessionId);
      checkCount('limit', limit, 1);
      const terms = parseQuery(text);
      if (terms.length === 0) return [];
      const find = async () => {
        if (!readOnly) await indexing.catchUp(sessionId, busyTimeoutMs);
        // One snapshot: an event that is indexed meanwhile is neither found twice nor missed.
        const look = () => {
          const key = sessionId === undefined ? undefined : sessions.find(sessionId)?.key;
          if (sessionId !== undefined && key === undefined) return [];
          const fresh = index.isComplete(sessionId) ? [] : index.findUnindexed(terms, sessionId, limit);
          return [...fresh, ...index.find(terms, key, limit)].slice(0, limit);
        };
        return query(() => database.transaction('DEFERRED', look));
      };
      return track(find());
    },

    async deleteSession(sessionId) {
      enter(sessionId);
      const remove = async () => {
        const existed = await write(() => {
          const session = sessions.find(sessionId);
          if (!session) return false;
          index.deleteSession(session.key, sessionId);
          contents.drop(session.key);
          events.deleteSession(session.key);
          sessions.delete(session.key);
          return session.seq > 0;
        });
        announce(sessionId);
        if (existed) emptyIfFree(database);
        return existed;
      };
      return track(remove());
    },

    async replaceEvent(sessionId, event, droppedContents) {
      enter(sessionId);
      checkCount('the seq of an event', event.seq, 1);
      const encoded = encodeEvent(event);
      const replacement = decodeEvent(sessionId, event.seq, encoded.at, encoded.type, encoded.data);
      const replace = async () => {
        await write(() => {
          const session = sessions.find(sessionId);
          if (!session) throw sessionNotFound(sessionId);
          if (event.seq > session.seq) throw eventNotFound(sessionId, event.seq);
          index.replace(session.key, sessionId, replacement);
          events.replace(session.key, event.seq, encoded);
          snapshots.drop(session.key);
          contents.drop(session.key, droppedContents ?? []);
        });
        await query(() => emptyWriteAheadLog(database)).catch((cause) => {
          throw isHoldfastError(cause, 'STORE_BUSY') ? stillInLog(sessionId, event.seq, cause) : cause;
        });
      };
      return track(replace());
    },

    async check() {
      enter();
      return query(() => checkIntegrity(database));
    },

    async backup(target) {
      enter();
      return track(backUp(path, target));
    },

    close() {
      closing ??= (async () => {
        indexing.stop();
        remote.stop();
        watchers.clear();
        await Promise.allSettled(underWay);
        await queue.idle();
        database.close();
      })();
      return closing;
    },

    settings() {
      enter();
      return readSettings(database);
    },
  };
}
