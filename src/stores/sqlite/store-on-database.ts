import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { makesWork } from '../../core/summary/work-events.ts';
import {
  checkAppend,
  checkCount,
  checkDraft,
  checkReadDraft,
  checkSessionId,
  checkSnapshot,
  checkTtl,
} from '../check-arguments.ts';
import { encodeEvent } from '../encoded-event.ts';
import { eventsForSummary } from '../events-for-summary.ts';
import { LeaseKeepers } from '../keep-lease.ts';
import { type LeaseTerm, remainingForHolder } from '../lease-rules.ts';
import { contentMissing, fenceConflict, snapshotBeyondLog, storeClosed } from '../refusals.ts';
import { RenewalThread } from '../renewal-thread.ts';
import { DEFAULT_HITS, parseQuery } from '../search-text.ts';
import { systemClock } from '../system-clock.ts';
import { Watchers } from '../watchers.ts';
import { BackgroundIndexing } from './background-indexing.ts';
import { untilFree } from './busy.ts';
import { ContentTable } from './content-table.ts';
import { DraftTable } from './draft-table.ts';
import type { Database } from './driver.ts';
import { type Appended, EventLog, isWritten } from './event-log.ts';
import { EventReplacement } from './event-replacement.ts';
import { EventTable } from './event-table.ts';
import { FileGuard } from './file-guard.ts';
import { checkIntegrity } from './integrity.ts';
import { LeaseTable } from './lease-table.ts';
import { DEFAULT_BUSY_TIMEOUT_MS, readSettings } from './open-database.ts';
import { readEvents } from './read-events.ts';
import { RemoteCommits } from './remote-commits.ts';
import { renewalPart } from './renewal-source.ts';
import { SearchIndex } from './search-index.ts';
import { SessionFork } from './session-fork.ts';
import { SessionList } from './session-list.ts';
import { SessionRemoval } from './session-removal.ts';
import { SessionTable } from './session-table.ts';
import { SliceCheckpoints } from './slice-checkpoints.ts';
import { SnapshotTable } from './snapshot-table.ts';
import { storeError } from './sqlite-errors.ts';
import type { SqliteStore, SqliteStoreOptions } from './sqlite-store.ts';
import { SummaryTable } from './summary-table.ts';
import { emptyIfFree, emptyWriteAheadLog, stillInLog } from './write-ahead-log.ts';
import { type SubmitOptions, WriteQueue } from './write-queue.ts';

/**
 * The store on an open connection. `placeEvery` is how many events of all sessions may wait for their places: tests set it low, so that
 * few events are enough to reach what many would.
 */
export function storeOnDatabase(
  database: Database,
  path: string,
  options: SqliteStoreOptions,
  placeEvery?: number,
): SqliteStore {
  const {
    clock = systemClock,
    readOnly = false,
    busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
    backgroundIndexing = true,
  } = options;
  const sessions = new SessionTable(database);
  const events = new EventTable(database, placeEvery, () => summaries.writeRecent());
  const summaries = new SummaryTable(database, events);
  const list = new SessionList(database, summaries, clock);
  const leases = new LeaseTable(database, sessions, clock);
  const drafts = new DraftTable(database);
  const snapshots = new SnapshotTable(database);
  const contents = new ContentTable(database);
  const index = new SearchIndex(database, events, contents);
  const guard = new FileGuard(database, path);
  const queue = new WriteQueue(database, path, busyTimeoutMs, guard);
  const log = new EventLog({ sessions, events, contents, drafts, summaries, epoch: () => queue.epoch });
  const indexing = new BackgroundIndexing(index, queue);
  const watchers = new Watchers();
  const remote = new RemoteCommits(database, sessions, drafts, watchers);
  const checkpoints = new SliceCheckpoints(database, path);
  const removal = new SessionRemoval(database, { sessions, events, contents, index, queue, checkpoints });
  const forks = new SessionFork(database, {
    sessions,
    events,
    contents,
    summaries,
    removal,
    queue,
    checkpoints,
    now: () => clock.now(),
  });
  const renewals = new RenewalThread(renewalPart(path), clock);
  const keepers = new LeaseKeepers(clock);
  const replacement = new EventReplacement({
    sessions,
    events,
    contents,
    snapshots,
    summaries,
    index,
    // Not refused while the store closes: `close` waits for it.
    read: (sessionId, readOptions) => readEvents(events, sessions, query, sessionId, readOptions),
    write,
  });
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

  function write<T, U = T>(work: () => T, how?: SubmitOptions<T, U>): Promise<U> {
    if (!readOnly) return queue.submit(work, how);
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

  function announce(sessionId: string, isWork = false): void {
    if (isWork) watchers.notifyWork(sessionId);
    if (watchers.has(sessionId)) remote.noticed(sessionId);
    watchers.notify(sessionId);
  }

  /** When a lease ends; undefined when it is another's, or when that cannot be read now: then its holder renews it first. */
  function currentTerm(sessionId: string, fence: number): LeaseTerm | undefined {
    try {
      return leases.term(sessionId, fence);
    } catch {
      return undefined;
    }
  }

  if (!readOnly) removal.schedule(() => clock.now());
  if (!readOnly && backgroundIndexing) indexing.schedule();

  return {
    // Not asynchronous itself: an append is what the store does most, and each further promise costs it.
    append(sessionId, newEvents, appendOptions) {
      try {
        enter();
        checkAppend(sessionId, newEvents.length, appendOptions);
        const encoded = newEvents.map(encodeEvent);
        const read = eventsForSummary(newEvents, encoded, appendOptions.expectedSeq);
        const work = () => log.append(sessionId, read, encoded, appendOptions);
        const committed = ({ seq, written }: Appended) => {
          if (written) {
            log.remember(sessionId, written);
            announce(sessionId, encoded.some(makesWork));
            if (backgroundIndexing) indexing.schedule();
          }
          return { seq };
        };
        const sync = appendOptions.syncLater ? 'soon' : 'now';
        return write(work, { writer: sessionId, onlyAppends: true, sync, committed, wrote: isWritten });
      } catch (error) {
        return Promise.reject(error);
      }
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
      return query(() => sessions.head(sessionId));
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

    watchWork(listener) {
      enter();
      return remote.watchWork(listener);
    },

    async acquireLease(sessionId, leaseOptions) {
      enter(sessionId);
      checkTtl(leaseOptions.ttlMs);
      return write(() => leases.acquire(sessionId, leaseOptions));
    },

    async renewLease(sessionId, fence, ttlMs) {
      enter(sessionId);
      checkTtl(ttlMs);
      return write(() => leases.renew(sessionId, fence, ttlMs) !== undefined);
    },

    keepLease(sessionId, fence, keepOptions) {
      enter(sessionId);
      checkTtl(keepOptions.ttlMs);
      const { ttlMs } = keepOptions;
      let term = currentTerm(sessionId, fence);
      const renew = async (): Promise<LeaseTerm | undefined> => {
        enter();
        term = await write(() => leases.renew(sessionId, fence, ttlMs));
        return term;
      };
      if (clock.monotonic) return renewals.keep({ sessionId, fence, term, renew }, keepOptions);
      // A clock with a time of its own: the thread could not read it.
      const remainingMs = (): number => (term ? remainingForHolder(term, clock) : Number.NEGATIVE_INFINITY);
      return keepers.keep({ renew: async () => (await renew()) !== undefined, remainingMs }, keepOptions);
    },

    async releaseLease(sessionId, fence, { seq } = {}) {
      enter(sessionId);
      return write(() => leases.release(sessionId, fence, seq));
    },

    async readLease(sessionId) {
      enter(sessionId);
      return query(() => leases.read(sessionId));
    },

    async writeSnapshot(sessionId, snapshot, { incarnation, revision, fence } = {}) {
      enter(sessionId);
      checkSnapshot(snapshot);
      return write(() => {
        const session = sessions.findLivingAtHead(sessionId, incarnation);
        const head = session?.seq ?? 0;
        if (fence !== undefined && fence !== session?.fence)
          throw fenceConflict(sessionId, session?.fence ?? undefined, fence);
        if (snapshot.seq > head) throw snapshotBeyondLog(sessionId, snapshot.seq, head);
        if (!session || snapshot.seq === 0 || (revision !== undefined && revision !== session.revision)) return;
        snapshots.write(session, snapshot);
      });
    },

    async readSnapshot(sessionId, { incarnation } = {}) {
      enter(sessionId);
      return query(() => {
        const session = sessions.findLiving(sessionId, incarnation);
        return session && snapshots.read(session.key);
      });
    },

    async appendDraft(sessionId, chunks, { incarnation, fence }) {
      enter(sessionId);
      checkDraft(chunks, fence);
      await write(() => {
        const session = sessions.findLiving(sessionId, incarnation);
        if (session?.fence !== fence) throw fenceConflict(sessionId, session?.fence ?? undefined, fence);
        drafts.append(session.key, chunks);
      });
      if (chunks.length > 0) announce(sessionId);
    },

    async readDraft(sessionId, draftOptions = {}) {
      enter(sessionId);
      checkReadDraft(draftOptions);
      return query(() => {
        const session = sessions.findLiving(sessionId, draftOptions.incarnation);
        return session ? drafts.read(session.key, draftOptions) : [];
      });
    },

    async readContent(sessionId, hash, { incarnation } = {}) {
      enter(sessionId);
      return query(() => {
        const session = sessions.findLiving(sessionId, incarnation);
        const text = session && contents.read(session.key, hash);
        if (text === null) throw contentMissing(sessionId, hash);
        return text;
      });
    },

    async readCallContent(sessionId, call, { incarnation } = {}) {
      enter(sessionId);
      return query(() => {
        const session = sessions.findLiving(sessionId, incarnation);
        return session && contents.readCall(session.key, call);
      });
    },

    async listSessions(listOptions = {}) {
      enter();
      return query(() => list.page(listOptions));
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
          if (sessionId === undefined) return index.find(terms, undefined, limit);
          const key = sessions.find(sessionId)?.key;
          return key === undefined ? [] : index.find(terms, { id: sessionId, key }, limit);
        };
        return query(() => database.transaction('DEFERRED', look));
      };
      return track(find());
    },

    async deleteSession(sessionId, { incarnation } = {}) {
      enter(sessionId);
      const remove = async () => {
        const session = await write(() => {
          const found = sessions.findLivingAtHead(sessionId, incarnation);
          if (found) removal.end(sessionId, found);
          return found;
        });
        if (!session) return false;
        announce(sessionId);
        await removal.removeAll(session.key);
        emptyIfFree(database);
        return session.seq > 0;
      };
      return track(remove());
    },

    async forkSession(sessionId, target, forkOptions) {
      enter(sessionId);
      if (readOnly) return write(() => ({ seq: 0 }));
      const forked = await track(forks.fork(sessionId, target, forkOptions));
      announce(target);
      if (backgroundIndexing) indexing.schedule();
      return forked;
    },

    async replaceEvent(sessionId, event, replaceOptions = {}) {
      enter(sessionId);
      checkCount('the seq of an event', event.seq, 1);
      const replace = async () => {
        await replacement.replace(sessionId, event, replaceOptions);
        announce(sessionId);
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
      guard.refuseReplaced();
      return track(import('./back-up.ts').then(({ backUp }) => backUp(path, target)));
    },

    close() {
      closing ??= (async () => {
        indexing.stop();
        removal.stop();
        remote.stop();
        watchers.clear();
        keepers.stop();
        await Promise.allSettled(underWay);
        await queue.idle();
        await renewals.close();
        await checkpoints.close();
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
