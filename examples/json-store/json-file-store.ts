/**
 * A store in one JSON file, for processes of one machine: small enough to read in one go, and it passes the whole suite. Each change
 * writes the whole file, so it is an example and no store for long sessions. docs/writing-a-store.md explains it.
 */
import {
  addChunks,
  type Clock,
  checkAppend,
  checkCount,
  checkDraft,
  checkFork,
  checkRead,
  checkReadDraft,
  checkSessionId,
  checkSnapshot,
  checkTtl,
  contentMissing,
  DEFAULT_HITS,
  decodeEvent,
  encodeEvent,
  eventNotFound,
  eventsFromPages,
  fenceConflict,
  findRepeatedAppend,
  forkTargetExists,
  type Lease,
  type LeaseAttempt,
  LeaseKeepers,
  leaseBlocks,
  listPage,
  makesWork,
  matchTexts,
  parseQuery,
  refuseStale,
  type SearchHit,
  type Store,
  searchableTexts,
  selectChunks,
  sessionNotFound,
  snapshotBeyondLog,
  storeClosed,
  summarizeAppend,
  systemClock,
  Watchers,
} from 'holdfast/store';
import { DATA_FORMAT, dropUnreferred, type LoggedEvent, present } from './json-data.ts';
import { JsonFile } from './json-file.ts';

const POLL_MS = 20;

/** Options of `jsonFileStore`. */
export interface JsonFileStoreOptions {
  /** The clock for the expiry of leases. */
  readonly clock?: Clock;
  /** Called between two writes: `crashPoints().pass` kills the process there. */
  readonly pass?: (point: string) => void;
}

/** Opens the store in this file, which need not exist. */
export function jsonFileStore(path: string, options: JsonFileStoreOptions = {}): Store {
  const { clock = systemClock, pass = () => {} } = options;
  const file = new JsonFile(path, DATA_FORMAT, pass);
  const watchers = new Watchers();
  const keepers = new LeaseKeepers(clock);
  /** The leases that this handle acquired or renewed last: a keeper looks here, not into the file. */
  const held = new Map<string, Lease>();
  let poll: NodeJS.Timeout | undefined;
  let seen: string | undefined;
  let closed = false;

  function enter(sessionId?: string): void {
    if (closed) throw storeClosed();
    if (sessionId !== undefined) checkSessionId(sessionId);
  }

  /** Looks for changes of other processes from now on. */
  function startPolling(): void {
    if (poll) return;
    seen = file.version();
    poll = setInterval(look, POLL_MS).unref();
  }

  /** Another process may have changed any session: spurious calls are allowed. */
  function look(): void {
    try {
      const now = file.version();
      if (now === seen) return;
      seen = now;
    } catch {
      return; // the next look may succeed
    }
    for (const sessionId of watchers.sessions()) watchers.notify(sessionId);
    watchers.notifyWork();
  }

  return {
    async append(sessionId, events, options) {
      enter();
      checkAppend(sessionId, events.length, options);
      const encoded = events.map(encodeEvent);
      const { seq, isNew } = await file.change((data) => {
        const session = present(data, sessionId, options.incarnation);
        const repeated = findRepeatedAppend(sessionId, session.log, encoded, options);
        if (repeated !== undefined) return { seq: repeated, isNew: false };
        refuseStale(sessionId, { seq: session.log.length, fence: session.fence }, options);
        session.summary = summarizeAppend(sessionId, session.summary, session.log.length, encoded);
        const { contents = [], callContents: { put = [], drop = [] } = {}, endsDrafts = [] } = options;
        for (const [i, event] of encoded.entries()) {
          const hashes = contents.filter((content) => content.event === i).map(({ hash }) => hash);
          session.log.push({ ...event, ...(i === 0 && { appendId: options.id }), contents: hashes });
        }
        for (const { hash, text } of contents) if (!data.contents.has(hash)) data.contents.set(hash, text);
        const calls = new Map([...session.callContents, ...put.map(({ call, text }) => [call, text] as const)]);
        for (const call of drop) calls.delete(call);
        session.callContents = [...calls];
        session.drafts = session.drafts.filter((chunk) => !endsDrafts.includes(chunk.draftId));
        data.sessions.set(sessionId, session);
        return { seq: session.log.length, isNew: true };
      });
      if (isNew) watchers.notify(sessionId);
      if (isNew && events.some(makesWork)) watchers.notifyWork(sessionId);
      return { seq };
    },

    read(sessionId, options = {}) {
      let isRead = false;
      return eventsFromPages(async () => {
        enter();
        checkRead(sessionId, options);
        if (isRead) return [];
        isRead = true;
        const { after = 0, limit = Number.POSITIVE_INFINITY } = options;
        return present(file.read(), sessionId, options.incarnation)
          .log.slice(after, after + limit)
          .map(({ at, type, data }, i) => decodeEvent(sessionId, after + i + 1, at, type, data));
      });
    },

    async head(sessionId) {
      enter(sessionId);
      const { incarnation, revision, log } = present(file.read(), sessionId);
      return { incarnation, seq: log.length, revision };
    },

    watch(sessionId, listener) {
      enter(sessionId);
      startPolling();
      return watchers.add(sessionId, listener);
    },

    watchWork(listener) {
      enter();
      startPolling();
      return watchers.addWork(listener);
    },

    async acquireLease(sessionId, options) {
      enter(sessionId);
      checkTtl(options.ttlMs);
      const attempt = await file.change((data): LeaseAttempt => {
        const session = present(data, sessionId);
        const { lease } = session;
        if (lease && leaseBlocks(lease, options, lease.expiresAt - clock.now())) return { acquired: false, lease };
        const fence = ++data.lastFence;
        const { holder } = options;
        session.fence = fence;
        session.lease = { fence, holder: { ...holder }, expiresAt: clock.now() + options.ttlMs, renewals: 0 };
        data.sessions.set(sessionId, session);
        return { acquired: true, lease: session.lease };
      });
      if (attempt.acquired) held.set(sessionId, attempt.lease);
      return attempt;
    },

    async renewLease(sessionId, fence, ttlMs) {
      enter(sessionId);
      checkTtl(ttlMs);
      const renewed = await file.change((data) => {
        const session = data.sessions.get(sessionId);
        if (session?.lease?.fence !== fence) return undefined;
        const { lease } = session;
        session.lease = { ...lease, expiresAt: clock.now() + ttlMs, renewals: lease.renewals + 1 };
        return session.lease;
      });
      if (renewed) held.set(sessionId, renewed);
      else if (held.get(sessionId)?.fence === fence) held.delete(sessionId);
      return renewed !== undefined;
    },

    keepLease(sessionId, fence, options) {
      enter(sessionId);
      checkTtl(options.ttlMs);
      const remainingMs = (): number => {
        const lease = held.get(sessionId);
        return lease?.fence === fence ? lease.expiresAt - clock.now() : Number.NEGATIVE_INFINITY;
      };
      const renew = (): Promise<boolean> => this.renewLease(sessionId, fence, options.ttlMs);
      return keepers.keep({ renew, remainingMs }, options);
    },

    async releaseLease(sessionId, fence, { seq } = {}) {
      enter(sessionId);
      return file.change((data) => {
        const session = data.sessions.get(sessionId);
        if (session?.lease?.fence !== fence) return true;
        if (seq !== undefined && session.log.length !== seq) return false;
        session.lease = undefined;
        return true;
      });
    },

    async readLease(sessionId) {
      enter(sessionId);
      return file.read().sessions.get(sessionId)?.lease;
    },

    async writeSnapshot(sessionId, snapshot, { incarnation, revision, fence } = {}) {
      enter(sessionId);
      checkSnapshot(snapshot);
      const { seq, data: text } = snapshot;
      await file.change((data) => {
        const session = present(data, sessionId, incarnation);
        if (fence !== undefined && fence !== session.fence) throw fenceConflict(sessionId, session.fence, fence);
        if (seq > session.log.length) throw snapshotBeyondLog(sessionId, seq, session.log.length);
        if (revision !== undefined && revision !== session.revision) return;
        if (seq > 0 && seq >= (session.snapshot?.seq ?? 0)) session.snapshot = { seq, data: text };
      });
    },

    async readSnapshot(sessionId, { incarnation } = {}) {
      enter(sessionId);
      return present(file.read(), sessionId, incarnation).snapshot;
    },

    async appendDraft(sessionId, chunks, { incarnation, fence }) {
      enter(sessionId);
      checkDraft(chunks, fence);
      await file.change((data) => {
        const session = present(data, sessionId, incarnation);
        if (fence !== session.fence) throw fenceConflict(sessionId, session.fence, fence);
        session.drafts = addChunks(session.drafts, chunks);
      });
      watchers.notify(sessionId);
    },

    async readDraft(sessionId, options = {}) {
      enter(sessionId);
      checkReadDraft(options);
      return selectChunks(present(file.read(), sessionId, options.incarnation).drafts, options);
    },

    async readContent(sessionId, hash, { incarnation } = {}) {
      enter(sessionId);
      const data = file.read();
      const { log } = present(data, sessionId, incarnation);
      if (!log.some(({ contents }) => contents?.includes(hash))) return undefined;
      const text = data.contents.get(hash);
      if (text === undefined) throw contentMissing(sessionId, hash);
      return text;
    },

    async readCallContent(sessionId, call, { incarnation } = {}) {
      enter(sessionId);
      return new Map(present(file.read(), sessionId, incarnation).callContents).get(call);
    },

    async listSessions(options = {}) {
      enter();
      const sessions = [...file.read().sessions].flatMap(([id, { summary, log, lease }]) =>
        summary ? [{ ...summary, id, seq: log.length, updatedAt: log.at(-1)?.at ?? '', ...(lease && { lease }) }] : [],
      );
      return structuredClone(listPage(sessions, options));
    },

    async search(query, { sessionId, limit = DEFAULT_HITS } = {}) {
      enter(sessionId);
      checkCount('limit', limit, 1);
      const terms = parseQuery(query);
      const hits: SearchHit[] = [];
      const { sessions, contents } = file.read();
      const contentOf = (hash: string): string | undefined => contents.get(hash);
      for (const [id, { log }] of sessions) {
        if (sessionId !== undefined && id !== sessionId) continue;
        for (const [i, { at, type, data }] of log.entries()) {
          const event = decodeEvent(id, i + 1, at, type, data);
          const found = matchTexts(searchableTexts(event, contentOf), terms);
          hits.push(...found.map((hit) => ({ sessionId: id, seq: i + 1, at, ...hit })).reverse());
        }
      }
      return hits.reverse().slice(0, limit);
    },

    async deleteSession(sessionId, { incarnation } = {}) {
      enter(sessionId);
      const removed = await file.change((data) => {
        const session = present(data, sessionId, incarnation);
        if (!data.sessions.delete(sessionId)) return false;
        data.ended.set(sessionId, session.incarnation);
        dropUnreferred(data);
        return session.log.length > 0;
      });
      watchers.notify(sessionId);
      return removed;
    },

    async forkSession(sessionId, target, options) {
      enter(sessionId);
      const closing = options.events.map(encodeEvent);
      const seq = await file.change((data) => {
        const origin = present(data, sessionId, options.incarnation);
        checkFork({ id: sessionId, seq: origin.log.length }, target, options);
        if (data.sessions.get(target)?.log.length) throw forkTargetExists(target);
        const log: LoggedEvent[] = [...origin.log.slice(0, options.at), ...closing].map(
          ({ at, type, data: payload, contents }: LoggedEvent, i) => ({
            at,
            type,
            data: payload,
            ...(contents && { contents }),
            ...(i === 0 && { appendId: `fork of ${sessionId}` }),
            ...(i === options.at && { appendId: `end of the fork of ${sessionId}` }),
          }),
        );
        const { incarnation } = present(data, target);
        data.sessions.delete(target); // it may have had a lease and no events: the fork replaces it
        const summary = summarizeAppend(target, undefined, 0, log);
        data.sessions.set(target, { incarnation, revision: 0, log, summary, drafts: [], callContents: [] });
        return log.length;
      });
      watchers.notify(target);
      return { seq };
    },

    async replaceEvent(sessionId, event, { incarnation, contents: kept = [] } = {}) {
      enter(sessionId);
      checkCount('the seq of an event', event.seq, 1);
      const encoded = encodeEvent(event);
      await file.change((data) => {
        const session = present(data, sessionId, incarnation);
        if (session.log.length === 0) throw sessionNotFound(sessionId);
        const before = session.log[event.seq - 1];
        if (!before) throw eventNotFound(sessionId, event.seq);
        const contents = before.contents?.filter((hash) => kept.includes(hash)) ?? [];
        session.log[event.seq - 1] = { ...before, ...encoded, contents };
        session.summary = summarizeAppend(sessionId, undefined, 0, session.log);
        session.snapshot = undefined;
        session.revision++;
        dropUnreferred(data);
      });
      watchers.notify(sessionId);
    },

    async check() {
      enter();
      const { sessions, contents } = file.read();
      const logs = [...sessions].filter(([, { log }]) => log.length > 0);
      const problems = logs.flatMap(([id, { log }]) =>
        log
          .flatMap((event) => event.contents ?? [])
          .filter((hash) => !contents.has(hash))
          .map((hash) => `session ${id} refers to content ${hash}, which is missing`),
      );
      const events = logs.reduce((sum, [, { log }]) => sum + log.length, 0);
      return { ok: problems.length === 0, problems, sessions: logs.length, events };
    },

    async close() {
      closed = true;
      keepers.stop();
      clearInterval(poll);
      watchers.clear();
      await file.idle();
    },
  };
}
