import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { decodeEvent } from '../encoded-event.ts';
import { BackgroundIndexing } from '../search/background-indexing.ts';
import type { LeaseRows, OwnBackend, StoredEvent } from '../shell/backend.ts';
import { Shell } from '../shell/define-store.ts';
import { systemClock } from '../system-clock.ts';
import { busyDeadline, untilFree } from './connection/busy.ts';
import { FileGuard } from './connection/file-guard.ts';
import { checkIntegrity } from './connection/integrity.ts';
import { RemoteCommits } from './connection/remote-commits.ts';
import { renewalPart } from './connection/renewal-source.ts';
import { emptyIfFree, emptyWriteAheadLog, stillInLog } from './connection/write-ahead-log.ts';
import { type SubmitOptions, WriteQueue } from './connection/write-queue.ts';
import type { Database } from './driver.ts';
import { SessionFork } from './long-work/session-fork.ts';
import { SessionRemoval } from './long-work/session-removal.ts';
import { SliceCheckpoints } from './long-work/slice-checkpoints.ts';
import { DEFAULT_BUSY_TIMEOUT_MS, readSettings } from './open-database.ts';
import { ContentTable } from './rows/content-table.ts';
import { DraftTable } from './rows/draft-table.ts';
import { EventLog, type Written } from './rows/event-log.ts';
import { type EventRow, EventTable, MAX_SEQ } from './rows/event-table.ts';
import { LeaseTable } from './rows/lease-table.ts';
import { SessionList } from './rows/session-list.ts';
import { SessionTable } from './rows/session-table.ts';
import { SnapshotTable } from './rows/snapshot-table.ts';
import { SummaryTable } from './rows/summary-table.ts';
import { SearchIndex } from './search/search-index.ts';
import type { SqliteStore, SqliteStoreOptions } from './sqlite-store.ts';

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
  const now = (): number => clock.now();
  const sessions = new SessionTable(database);
  const events = new EventTable(database, placeEvery);
  const summaries = new SummaryTable(database);
  const list = new SessionList(database);
  const leaseTable = new LeaseTable(database, sessions);
  const drafts = new DraftTable(database);
  const snapshots = new SnapshotTable(database);
  const contents = new ContentTable(database);
  const index = new SearchIndex(database, events, contents);
  const guard = new FileGuard(database, path);
  const queue = new WriteQueue(database, path, busyTimeoutMs, guard);
  const log = new EventLog({ sessions, events, contents, drafts, summaries, epoch: () => queue.epoch });
  const indexing = new BackgroundIndexing({
    advance: async () => index.isComplete(undefined) || queue.submitAlone(() => index.advance()),
    delayMs: 1000,
    pauseMs: 50,
  });
  const remote = new RemoteCommits(database, sessions, drafts);
  const checkpoints = new SliceCheckpoints(database, path);
  const removal = new SessionRemoval(database, { sessions, events, contents, index, queue, checkpoints });
  const forks = new SessionFork(database, { sessions, events, contents, summaries, removal, queue, checkpoints, now });

  function query<T>(work: () => T): Promise<T> {
    return untilFree(path, busyTimeoutMs, work);
  }

  function write<T, U = T>(work: () => T, how?: SubmitOptions<T, U>): Promise<U> {
    return queue.submit(work, how);
  }

  function scheduleIndexing(): void {
    if (backgroundIndexing && !readOnly) indexing.schedule();
  }

  /** Indexes what is committed now, as far as it can: a locked, full or damaged database leaves a rest, which the search reads. */
  async function catchUp(sessionId: string | undefined): Promise<void> {
    const deadline = busyDeadline(busyTimeoutMs);
    try {
      while (!index.isComplete(sessionId) && performance.now() < deadline) {
        if (await queue.submitAlone(() => index.advance())) return;
      }
    } catch {
      // The search meets what is really wrong.
    }
  }

  /** Rows of a log, as text. */
  function readLog(key: number, after: number, until: number, limit: number): readonly StoredEvent[] {
    return events.read(key, after, until, limit).map(storedEvent);
  }

  const leases: LeaseRows = {
    read: (sessionId) => query(() => leaseTable.read(sessionId)),
    grant: (...grant) => write(() => leaseTable.grant(...grant)),
    renew: (sessionId, fence, term) => write(() => leaseTable.renew(sessionId, fence, term)),
    release: (sessionId, fence, seq) => write(() => leaseTable.release(sessionId, fence, seq)),
  };

  const backend: OwnBackend<number> = {
    where: path,
    leases,
    feed: remote,
    renewals: renewalPart(path),

    refuseWrites() {
      if (!readOnly) return;
      throw new HoldfastError('STORE_READ_ONLY', `${path} was opened with readOnly; open it without to write`);
    },

    find: (sessionId) =>
      query(() => {
        const row = sessions.findAtHead(sessionId);
        if (!row) return { incarnation: sessions.nextIncarnation(sessionId), seq: 0, revision: 0 };
        const { key, incarnation, seq, revision, fence } = row;
        return { key, incarnation, seq, revision, fence: fence ?? undefined };
      }),

    append(sessionId, append) {
      return write(() => log.append(sessionId, append), {
        writer: sessionId,
        onlyAppends: true,
        sync: append.syncLater ? 'soon' : 'now',
        committed(written: Written | undefined) {
          if (!written) return undefined;
          log.remember(sessionId, written);
          scheduleIndexing();
          return written.key;
        },
        wrote: (written) => written !== undefined,
      });
    },

    events: (key, { after, until, limit }) => query(() => readLog(key, after, until, limit)),
    lastAppend: (key) => query(() => events.lastAppend(key)),
    summary: (key) => query(() => summaries.read(key)),

    async replace(key, { seq, event, contents: kept, revision, summarizedSeq, summarize }) {
      const replaced = await write(() => {
        const session = sessions.readAtHead(key);
        if (session?.revision !== revision) return undefined;
        const { id, seq: end } = session;
        index.replace(key, id, decodeEvent(id, seq, event.at, event.type, event.data));
        events.replace(key, seq, event);
        contents.drop(key, seq, contents.referredBy(key, seq), kept);
        snapshots.drop(key);
        sessions.revise(key, seq === end ? event.at : undefined);
        summaries.write(key, summarize(readLog(key, summarizedSeq, end, MAX_SEQ)));
        return session;
      });
      if (!replaced) return false;
      await query(() => emptyWriteAheadLog(database)).catch((cause) => {
        throw isHoldfastError(cause, 'STORE_BUSY') ? stillInLog(replaced.id, seq, cause) : cause;
      });
      return true;
    },

    async fork(origin, fork) {
      const isForked = await forks.fork(origin, fork);
      scheduleIndexing();
      return isForked;
    },

    async remove(sessionId, key) {
      const session = await write(() => {
        const found = sessions.findAtHead(sessionId);
        if (found?.key !== key) return undefined;
        removal.end(sessionId, found);
        return found;
      });
      if (!session) return undefined;
      await removal.removeAll(key);
      emptyIfFree(database);
      return session.seq;
    },

    list: (page) => query(() => list.read(page)),

    writeSnapshot: (key, snapshot, revision) =>
      write(() => {
        if (sessions.readAtHead(key)?.revision === revision) snapshots.write(key, snapshot);
      }),
    readSnapshot: (key) => query(() => snapshots.read(key)),

    writeDrafts: (key, fence, chunks, limited) =>
      write(() => {
        if (sessions.readAtHead(key)?.fence !== fence) return false;
        drafts.append(key, chunks, limited);
        return true;
      }),
    readDrafts: (key, options) => query(() => drafts.read(key, options)),

    readContent: (key, hash) => query(() => contents.read(key, hash)),
    readCallContent: (key, call) => query(() => contents.readCall(key, call)),

    async search(terms, { sessionId, limit }) {
      if (!readOnly) await catchUp(sessionId);
      // One snapshot: an event that is indexed meanwhile is neither found twice nor missed.
      const look = () => {
        if (sessionId === undefined) return index.find(terms, undefined, limit);
        const key = sessions.find(sessionId)?.key;
        return key === undefined ? [] : index.find(terms, { id: sessionId, key }, limit);
      };
      return query(() => database.transaction('DEFERRED', look));
    },

    check: () => query(() => checkIntegrity(database)),

    closing() {
      indexing.stop();
      removal.stop();
      remote.stop();
    },

    async close() {
      await queue.idle();
      await checkpoints.close();
      database.close();
    },
  };

  if (!readOnly) removal.schedule(now);
  scheduleIndexing();
  const shell = new Shell(backend, { clock });
  return {
    ...shell.store,

    async backup(target) {
      shell.enter();
      guard.refuseReplaced();
      return shell.run(async () => (await import('./connection/back-up.ts')).backUp(path, target));
    },

    settings() {
      shell.enter();
      return readSettings(database);
    },
  };
}

function storedEvent([seq, at, type, data, appendId]: EventRow): StoredEvent {
  return appendId === null ? { seq, at, type, data } : { seq, at, type, data, appendId };
}
