import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import { makesWork } from '../core/summary/work-events.ts';
import type { Clock } from '../ports/clock.ts';
import type { ContentWrite, SearchHit, Store } from '../ports/store.ts';
import {
  checkAppend,
  checkCount,
  checkDraft,
  checkFork,
  checkRead,
  checkReadDraft,
  checkSessionId,
  checkSnapshot,
  checkTtl,
} from './check-arguments.ts';
import { eventsFromPages } from './event-pages.ts';
import { MemoryLeases } from './memory-leases.ts';
import { MemorySession } from './memory-session.ts';
import {
  fenceConflict,
  forkTargetExists,
  sessionGone,
  sessionNotFound,
  snapshotBeyondLog,
  storeClosed,
} from './refusals.ts';
import { DEFAULT_HITS, matchTexts, parseQuery, searchableTexts } from './search-text.ts';
import { listPage } from './session-listing.ts';
import { systemClock } from './system-clock.ts';
import { Watchers } from './watchers.ts';

const PAGE = 256;

export interface MemoryStoreOptions {
  /** The clock for the expiry of leases. */
  readonly clock?: Clock;
}

const KNOWN: KnownOptions<MemoryStoreOptions> = { clock: true };

/**
 * A store in the memory of its process: for tests, and for conversations that are not needed later. It meets the whole contract except
 * durability.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  refuseUnknownOptions('memoryStore', options, KNOWN);
  const { clock = systemClock } = options;
  const sessions = new Map<string, MemorySession>();
  /** How many incarnations of each session were deleted. */
  const deleted = new Map<string, number>();
  const contents = new Map<string, { readonly text: string; references: number }>();
  const watchers = new Watchers();
  const leases = new MemoryLeases(clock);
  let closed = false;

  function begin(sessionId: string): MemorySession {
    return new MemorySession(sessionId, (deleted.get(sessionId) ?? 0) + 1);
  }

  /** Returns the session and creates it if necessary: a lease may come before the first event. */
  function session(sessionId: string): MemorySession {
    const found = sessions.get(sessionId) ?? begin(sessionId);
    sessions.set(sessionId, found);
    return found;
  }

  function enter(sessionId?: string): void {
    if (closed) throw storeClosed();
    if (sessionId !== undefined) checkSessionId(sessionId);
  }

  /** Returns the incarnation that the caller names; creates the session if there is none. */
  function living(sessionId: string, incarnation: number | undefined): MemorySession {
    const found = sessions.get(sessionId) ?? begin(sessionId);
    if (incarnation !== undefined && incarnation !== found.incarnation) throw sessionGone(sessionId);
    return found;
  }

  function refer(written: readonly ContentWrite[] = []): void {
    for (const { hash, text } of written) {
      const content = contents.get(hash) ?? { text, references: 0 };
      contents.set(hash, content);
      content.references++;
    }
  }

  /** Removes references, and contents that have no reference left. */
  function dropReferences(hashes: readonly string[]): void {
    for (const hash of hashes) {
      const content = contents.get(hash);
      if (content && --content.references === 0) contents.delete(hash);
    }
  }

  return {
    async append(sessionId, events, options) {
      enter();
      checkAppend(sessionId, events.length, options);
      const target = living(sessionId, options.incarnation);
      const { seq, isNew } = target.append(events, options);
      sessions.set(sessionId, target);
      if (isNew) {
        refer(options.contents);
        watchers.notify(sessionId);
        if (events.some(makesWork)) watchers.notifyWork(sessionId);
      }
      return { seq };
    },

    read(sessionId, options = {}) {
      let log: MemorySession | undefined;
      let after = options.after ?? 0;
      let until: number | undefined;
      return eventsFromPages(async () => {
        enter();
        if (until === undefined) {
          checkRead(sessionId, options);
          log = living(sessionId, options.incarnation);
          until = Math.min(log.seq, after + (options.limit ?? Number.POSITIVE_INFINITY));
        }
        const page = log?.read(after, until, PAGE) ?? [];
        after += page.length;
        return page;
      });
    },

    async head(sessionId) {
      enter(sessionId);
      return living(sessionId, undefined).head;
    },

    watch(sessionId, listener) {
      enter(sessionId);
      return watchers.add(sessionId, listener);
    },

    watchWork(listener) {
      enter();
      return watchers.addWork(listener);
    },

    async acquireLease(sessionId, options) {
      enter(sessionId);
      checkTtl(options.ttlMs);
      return leases.acquire(session(sessionId), options);
    },

    async renewLease(sessionId, fence, ttlMs) {
      enter(sessionId);
      checkTtl(ttlMs);
      return leases.renew(sessions.get(sessionId), fence, ttlMs);
    },

    keepLease(sessionId, fence, options) {
      enter(sessionId);
      checkTtl(options.ttlMs);
      const renew = (): Promise<boolean> => this.renewLease(sessionId, fence, options.ttlMs);
      return leases.keep(() => sessions.get(sessionId), fence, options, renew);
    },

    async releaseLease(sessionId, fence, { seq } = {}) {
      enter(sessionId);
      return leases.release(sessions.get(sessionId), fence, seq);
    },

    async readLease(sessionId) {
      enter(sessionId);
      return leases.read(sessions.get(sessionId));
    },

    async writeSnapshot(sessionId, { seq, data }, { incarnation, revision, fence } = {}) {
      enter(sessionId);
      checkSnapshot({ seq, data });
      const target = living(sessionId, incarnation);
      if (fence !== undefined && fence !== target.fence) throw fenceConflict(sessionId, target.fence, fence);
      if (seq > target.seq) throw snapshotBeyondLog(sessionId, seq, target.seq);
      if (revision !== undefined && revision !== target.revision) return;
      if (seq > 0 && seq >= (target.snapshot?.seq ?? 0)) target.snapshot = { seq, data };
    },

    async readSnapshot(sessionId, { incarnation } = {}) {
      enter(sessionId);
      return living(sessionId, incarnation).snapshot;
    },

    async appendDraft(sessionId, chunks, { incarnation, fence }) {
      enter(sessionId);
      checkDraft(chunks, fence);
      const target = living(sessionId, incarnation);
      if (fence !== target.fence) throw fenceConflict(sessionId, target.fence, fence);
      if (chunks.length === 0) return;
      target.drafts.add(chunks);
      watchers.notify(sessionId);
    },

    async readDraft(sessionId, options = {}) {
      enter(sessionId);
      checkReadDraft(options);
      return living(sessionId, options.incarnation).drafts.read(options);
    },

    async readContent(sessionId, hash, { incarnation } = {}) {
      enter(sessionId);
      return living(sessionId, incarnation).refersTo(hash) ? contents.get(hash)?.text : undefined;
    },

    async readCallContent(sessionId, call, { incarnation } = {}) {
      enter(sessionId);
      return living(sessionId, incarnation).callContents.get(call);
    },

    async listSessions(options = {}) {
      enter();
      // Most sessions have no work, and a worker lists often.
      const listed = [...sessions.values()].filter((each) => !options.work || each.hasWork);
      const infos = listed.map((each) => each.info(leases.read(each)));
      return listPage(
        infos.filter((info) => info !== undefined),
        options,
      );
    },

    async search(query, { sessionId, limit = DEFAULT_HITS } = {}) {
      enter(sessionId);
      checkCount('limit', limit, 1);
      const terms = parseQuery(query);
      const hits: SearchHit[] = [];
      for (const each of sessions.values()) {
        if (sessionId !== undefined && each.id !== sessionId) continue;
        for (const event of each.read(0, each.seq, each.seq)) {
          const texts = searchableTexts(event, (name) => contents.get(name)?.text);
          const found = matchTexts(texts, terms).map((hit) => ({
            sessionId: each.id,
            seq: event.seq,
            at: event.at,
            ...hit,
          }));
          hits.push(...found.reverse());
        }
      }
      return hits.reverse().slice(0, limit);
    },

    async deleteSession(sessionId, { incarnation } = {}) {
      enter(sessionId);
      const target = living(sessionId, incarnation);
      if (!sessions.delete(sessionId)) return false;
      deleted.set(sessionId, target.incarnation);
      dropReferences(target.references());
      watchers.notify(sessionId);
      return target.seq > 0;
    },

    async forkSession(sessionId, target, options) {
      enter(sessionId);
      const origin = living(sessionId, options.incarnation);
      checkFork(origin, target, options);
      if ((sessions.get(target)?.seq ?? 0) > 0) throw forkTargetExists(target);
      const fork = origin.fork(target, begin(target).incarnation, options.at);
      const { seq } = fork.append(options.events, { id: `fork:${target}:end`, expectedSeq: options.at });
      refer(fork.references().map((hash) => ({ event: 0, hash, text: contents.get(hash)?.text ?? '' })));
      sessions.delete(target); // it may have had a lease and no events: the fork replaces it
      sessions.set(target, fork);
      watchers.notify(target);
      return { seq };
    },

    async replaceEvent(sessionId, event, { incarnation, contents: kept = [] } = {}) {
      enter(sessionId);
      checkCount('the seq of an event', event.seq, 1);
      const target = living(sessionId, incarnation);
      if (target.seq === 0) throw sessionNotFound(sessionId);
      dropReferences(target.replace(event, kept));
      watchers.notify(sessionId);
    },

    async check() {
      enter();
      const logs = [...sessions.values()].filter((each) => each.seq > 0);
      const problems = logs.flatMap((each) =>
        each
          .references()
          .filter((hash) => !contents.has(hash))
          .map((hash) => `session ${each.id} refers to content ${hash}, which is missing`),
      );
      const events = logs.reduce((sum, each) => sum + each.seq, 0);
      return { ok: problems.length === 0, problems, sessions: logs.length, events };
    },

    async close() {
      closed = true;
      leases.close();
      watchers.clear();
    },
  };
}
