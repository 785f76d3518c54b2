import {
  checkAppend,
  checkCount,
  checkDraft,
  checkReadDraft,
  checkSessionId,
  checkSnapshot,
  checkTtl,
} from '../check-arguments.ts';
import { LeaseKeepers } from '../keep-lease.ts';
import { type LeaseTerm, remainingForHolder } from '../lease-rules.ts';
import { storeClosed } from '../refusals.ts';
import { RenewalThread } from '../renewal-thread.ts';
import { DEFAULT_HITS, parseQuery } from '../search-text.ts';
import { systemClock } from '../system-clock.ts';
import { Watchers } from '../watchers.ts';
import { AppendJoins } from './append-joins.ts';
import { AppendQueue } from './append-queue.ts';
import { AppendRefusals } from './append-refusals.ts';
import { BackgroundIndexing } from './background-indexing.ts';
import { ContentRows } from './content-rows.ts';
import { keepingAlive } from './database.ts';
import { DraftRows } from './draft-rows.ts';
import { EventReplacement } from './event-replacement.ts';
import { checkIntegrity } from './integrity.ts';
import { LeaseRows } from './lease-rows.ts';
import { Notices } from './notices.ts';
import type { OpenDatabase } from './open-database.ts';
import type { PostgresStore, PostgresStoreOptions } from './postgres-store.ts';
import { readEvents } from './read-events.ts';
import { renewalPart } from './renewal-source.ts';
import { SearchIndex } from './search-index.ts';
import { SessionFork } from './session-fork.ts';
import { SessionList } from './session-list.ts';
import { SessionRemoval } from './session-removal.ts';
import { SessionRows } from './session-rows.ts';
import { SnapshotRows } from './snapshot-rows.ts';

/** The store on an open database. */
export function storeOnDatabase(open: OpenDatabase, options: PostgresStoreOptions): PostgresStore {
  const { database, listener, isTransactionPooled } = open;
  const { clock = systemClock, backgroundIndexing = true } = options;
  /** Null: the server's clock. */
  const time = (): number | null => (options.clock === undefined ? null : clock.now());
  const sessions = new SessionRows(database);
  const leases = new LeaseRows(database, clock, time);
  const drafts = new DraftRows(database, sessions);
  const snapshots = new SnapshotRows(database, sessions);
  const contents = new ContentRows(database, sessions);
  const list = new SessionList(database);
  const watchers = new Watchers();
  const notices = new Notices({ database, watchers, listener });
  const joins = new AppendJoins();
  const index = new SearchIndex(database, contents);
  const indexing = new BackgroundIndexing(index);
  const queue = new AppendQueue({
    database,
    refusals: new AppendRefusals(database, sessions),
    joins,
    committed(sessionId, { work, wakeAt }) {
      announce(sessionId, work !== undefined || wakeAt !== undefined);
      if (backgroundIndexing) indexing.schedule();
    },
  });
  const removal = new SessionRemoval(database, sessions);
  const forks = new SessionFork(database, sessions, removal);
  const replacement = new EventReplacement({
    database,
    sessions,
    index,
    read: (sessionId, readOptions) => readEvents(database, sessions, () => {}, sessionId, readOptions),
  });
  const thread =
    open.thread && clock.monotonic ? new RenewalThread(renewalPart(database, open.thread), clock) : undefined;
  const keepers = new LeaseKeepers(clock);
  /** Operations that `close` waits for. */
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function enter(sessionId?: string): void {
    if (closing) throw storeClosed();
    if (sessionId !== undefined) checkSessionId(sessionId);
  }

  async function track<T>(operation: Promise<T>): Promise<T> {
    underWay.add(operation);
    try {
      return await operation;
    } finally {
      underWay.delete(operation);
    }
  }

  function announce(sessionId: string, hasWork = false): void {
    notices.committed(sessionId, hasWork);
  }

  removal.schedule(time);
  if (backgroundIndexing) indexing.schedule();

  return {
    append(sessionId, newEvents, appendOptions) {
      try {
        enter();
        checkAppend(sessionId, newEvents.length, appendOptions);
        return queue.append(sessionId, newEvents, appendOptions);
      } catch (error) {
        return Promise.reject(error);
      }
    },

    read(sessionId, readOptions = {}) {
      return readEvents(database, sessions, enter, sessionId, readOptions);
    },

    async head(sessionId) {
      enter(sessionId);
      return track(sessions.head(sessionId));
    },

    watch(sessionId, watcher) {
      enter(sessionId);
      return notices.watch(sessionId, watcher);
    },

    async acquireLease(sessionId, leaseOptions) {
      enter(sessionId);
      checkTtl(leaseOptions.ttlMs);
      return track(leases.acquire(sessionId, leaseOptions));
    },

    async renewLease(sessionId, fence, ttlMs) {
      enter(sessionId);
      checkTtl(ttlMs);
      return track(leases.renew(sessionId, fence, ttlMs).then((term) => term !== undefined));
    },

    keepLease(sessionId, fence, keepOptions) {
      enter(sessionId);
      checkTtl(keepOptions.ttlMs);
      const { ttlMs } = keepOptions;
      const renew = async (): Promise<LeaseTerm | undefined> => {
        enter();
        return track(leases.renew(sessionId, fence, ttlMs));
      };
      const term = leases.term(sessionId, fence);
      if (thread) return thread.keep({ sessionId, fence, term, renew }, keepOptions);
      const remainingMs = (): number => {
        const now = leases.term(sessionId, fence);
        return now ? remainingForHolder(now, clock) : Number.NEGATIVE_INFINITY;
      };
      return keepers.keep({ renew: async () => (await renew()) !== undefined, remainingMs }, keepOptions);
    },

    async releaseLease(sessionId, fence, { seq } = {}) {
      enter(sessionId);
      const released = await track(leases.release(sessionId, fence, seq));
      // Work that its holder did not finish can be taken now.
      if (released) announce(sessionId, true);
      return released;
    },

    async readLease(sessionId) {
      enter(sessionId);
      return track(leases.read(sessionId));
    },

    async writeSnapshot(sessionId, snapshot, snapshotOptions = {}) {
      enter(sessionId);
      checkSnapshot(snapshot);
      return track(snapshots.write(sessionId, snapshot, snapshotOptions));
    },

    async readSnapshot(sessionId, snapshotOptions = {}) {
      enter(sessionId);
      return track(snapshots.read(sessionId, snapshotOptions));
    },

    async appendDraft(sessionId, chunks, draftOptions) {
      enter(sessionId);
      checkDraft(chunks, draftOptions.fence);
      await track(drafts.append(sessionId, chunks, draftOptions));
      if (chunks.length > 0) announce(sessionId);
    },

    async readDraft(sessionId, draftOptions = {}) {
      enter(sessionId);
      checkReadDraft(draftOptions);
      return track(drafts.read(sessionId, draftOptions));
    },

    async readContent(sessionId, hash, contentOptions = {}) {
      enter(sessionId);
      return track(contents.read(sessionId, hash, contentOptions));
    },

    async readCallContent(sessionId, call, contentOptions = {}) {
      enter(sessionId);
      return track(contents.readCall(sessionId, call, contentOptions));
    },

    async listSessions(listOptions = {}) {
      enter();
      return track(list.page(listOptions));
    },

    async search(text, { sessionId, limit = DEFAULT_HITS } = {}) {
      enter(sessionId);
      checkCount('limit', limit, 1);
      const terms = parseQuery(text);
      if (terms.length === 0) return [];
      return track(index.catchUp(sessionId).then(() => index.find(terms, sessionId, limit)));
    },

    async deleteSession(sessionId, { incarnation } = {}) {
      enter(sessionId);
      const seq = await track(removal.delete(sessionId, incarnation));
      queue.forget(sessionId);
      if (seq === undefined) return false;
      announce(sessionId);
      return seq > 0;
    },

    async forkSession(sessionId, target, forkOptions) {
      enter(sessionId);
      const forked = await track(forks.fork(sessionId, target, forkOptions));
      announce(target, true);
      if (backgroundIndexing) indexing.schedule();
      return forked;
    },

    async replaceEvent(sessionId, event, replaceOptions = {}) {
      enter(sessionId);
      checkCount('the seq of an event', event.seq, 1);
      await track(replacement.replace(sessionId, event, replaceOptions));
      queue.forget(sessionId);
      announce(sessionId);
    },

    async check() {
      enter();
      return track(checkIntegrity(database));
    },

    joinAppends(join) {
      enter();
      return joins.add(join);
    },

    async sessionsWithWork(workOptions = {}) {
      enter();
      if (workOptions.limit !== undefined) checkCount('limit', workOptions.limit, 1);
      return track(list.withWork(workOptions, time()));
    },

    watchWork(watcher) {
      enter();
      return notices.watchWork(watcher);
    },

    settings() {
      enter();
      return {
        schema: database.schema,
        isTransactionPooled,
        renewsIn: thread ? 'thread' : 'event loop',
        watchesBy: listener ? 'notices' : 'polling',
      };
    },

    close() {
      closing ??= keepingAlive(async () => {
        indexing.stop();
        keepers.stop();
        await Promise.allSettled(underWay);
        await queue.idle();
        removal.stop();
        await indexing.idle();
        await notices.close();
        watchers.clear();
        await thread?.close();
        await database.close(open.owned);
      });
      return closing;
    },
  };
}
