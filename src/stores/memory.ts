import { HoldfastError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { DraftChunk, SearchHit, SessionInfo, Store } from '../ports/store.ts';
import { checkAppend, checkCount, checkId, checkRead, checkSessionId, checkTtl } from './check-arguments.ts';
import { contentReferences } from './content-references.ts';
import { eventsFromPages } from './event-pages.ts';
import { leaseBlocks } from './lease-rules.ts';
import { MemorySession } from './memory-session.ts';
import { sessionNotFound, snapshotBeyondLog, storeClosed } from './refusals.ts';
import { DEFAULT_HITS, matchText, parseQuery, searchableText } from './search-text.ts';
import { checkListing, compareSessions, DEFAULT_PAGE, encodeCursor, matchesFilter } from './session-listing.ts';
import { systemClock } from './system-clock.ts';
import { Watchers } from './watchers.ts';

const PAGE = 256;

export interface MemoryStoreOptions {
  /** What leases expire by. */
  readonly clock?: Clock;
}

/**
 * A store that lasts as long as its process: for tests, and for conversations that nobody needs again. It keeps the whole
 * contract but durability, and has nothing that could be backed up.
 */
export function memoryStore({ clock = systemClock }: MemoryStoreOptions = {}): Store {
  const sessions = new Map<string, MemorySession>();
  const contents = new Map<string, string>();
  const watchers = new Watchers();
  let lastFence = 0;
  let closed = false;

  /** The session, made if need be: a lease, a draft or a content may come before the first event. */
  function session(sessionId: string): MemorySession {
    const found = sessions.get(sessionId) ?? new MemorySession(sessionId);
    sessions.set(sessionId, found);
    return found;
  }

  function enter(sessionId?: string): void {
    if (closed) throw storeClosed();
    if (sessionId !== undefined) checkSessionId(sessionId);
  }

  /** Lets a content go that no session refers to any more. */
  function dropContents(from: MemorySession, hashes: Iterable<string>): void {
    for (const hash of [...hashes]) {
      from.contents.delete(hash);
      if (![...sessions.values()].some((other) => other.contents.has(hash))) contents.delete(hash);
    }
  }

  return {
    async append(sessionId, events, options) {
      enter();
      checkAppend(sessionId, events.length, options);
      const target = sessions.get(sessionId) ?? new MemorySession(sessionId);
      const seq = target.append(events, options);
      sessions.set(sessionId, target);
      watchers.notify(sessionId);
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
          log = sessions.get(sessionId);
          until = Math.min(log?.seq ?? 0, after + (options.limit ?? Number.POSITIVE_INFINITY));
        }
        const page = log?.read(after, until, PAGE) ?? [];
        after += page.length;
        return page;
      });
    },

    async head(sessionId) {
      enter(sessionId);
      return sessions.get(sessionId)?.seq ?? 0;
    },

    watch(sessionId, listener) {
      enter(sessionId);
      return watchers.add(sessionId, listener);
    },

    async acquireLease(sessionId, options) {
      enter(sessionId);
      checkTtl(options.ttlMs);
      const target = session(sessionId);
      const now = clock.now();
      if (leaseBlocks(target.lease, options, now)) return { acquired: false, lease: target.lease };
      target.fence = ++lastFence;
      target.lease = { fence: lastFence, holder: { ...options.holder }, expiresAt: now + options.ttlMs };
      return { acquired: true, lease: target.lease };
    },

    async renewLease(sessionId, fence, ttlMs) {
      enter(sessionId);
      checkTtl(ttlMs);
      const target = sessions.get(sessionId);
      if (target?.lease?.fence !== fence) return false;
      target.lease = { ...target.lease, expiresAt: clock.now() + ttlMs };
      return true;
    },

    async releaseLease(sessionId, fence) {
      enter(sessionId);
      const target = sessions.get(sessionId);
      if (target?.lease?.fence === fence) target.lease = undefined;
    },

    async readLease(sessionId) {
      enter(sessionId);
      return sessions.get(sessionId)?.lease;
    },

    async writeSnapshot(sessionId, { seq, data }) {
      enter(sessionId);
      checkCount('the seq of a snapshot', seq);
      const target = sessions.get(sessionId);
      const head = target?.seq ?? 0;
      if (seq > head) throw snapshotBeyondLog(sessionId, seq, head);
      if (target && seq > 0 && seq >= (target.snapshot?.seq ?? 0)) target.snapshot = { seq, data };
    },

    async readSnapshot(sessionId) {
      enter(sessionId);
      return sessions.get(sessionId)?.snapshot;
    },

    async appendDraft(sessionId, chunks) {
      enter(sessionId);
      for (const chunk of chunks) checkId('an evaluation id', chunk.evaluationId);
      for (const chunk of chunks) {
        const { drafts } = session(sessionId);
        const draft = drafts.get(chunk.evaluationId) ?? new Map<string, DraftChunk>();
        drafts.set(chunk.evaluationId, draft);
        const position = JSON.stringify([chunk.turn, chunk.attempt, chunk.n]);
        if (!draft.has(position)) draft.set(position, { ...chunk });
      }
    },

    async readDraft(sessionId, evaluationId) {
      enter(sessionId);
      const chunks = sessions.get(sessionId)?.drafts.get(evaluationId)?.values() ?? [];
      return [...chunks].sort((a, b) => a.turn - b.turn || a.attempt - b.attempt || a.n - b.n);
    },

    async deleteDraft(sessionId, evaluationId) {
      enter(sessionId);
      sessions.get(sessionId)?.drafts.delete(evaluationId);
    },

    async writeContent(sessionId, hash, text) {
      enter(sessionId);
      checkId('a hash', hash);
      session(sessionId).contents.add(hash);
      if (!contents.has(hash)) contents.set(hash, text);
    },

    async readContent(hash) {
      enter();
      return contents.get(hash);
    },

    async listSessions(options = {}) {
      enter();
      const { limit = DEFAULT_PAGE } = options;
      const position = checkListing(options);
      const matching = [...sessions.values()]
        .map((each) => each.info())
        .filter((info): info is SessionInfo => info !== undefined && matchesFilter(info, options))
        .filter((info) => position === undefined || compareSessions(position, info) < 0)
        .sort(compareSessions);
      const page = matching.slice(0, limit);
      const last = page.at(-1);
      return { sessions: page, ...(last && matching.length > limit && { next: encodeCursor(last) }) };
    },

    async search(query, { sessionId, limit = DEFAULT_HITS } = {}) {
      enter(sessionId);
      checkCount('limit', limit, 1);
      const terms = parseQuery(query);
      const hits: SearchHit[] = [];
      for (const each of sessions.values()) {
        if (sessionId !== undefined && each.id !== sessionId) continue;
        for (const event of each.read(0, each.seq, each.seq)) {
          const said = searchableText(event);
          const excerpt = said && matchText(said.text, terms);
          if (!said || excerpt === undefined) continue;
          hits.push({ sessionId: each.id, seq: event.seq, at: event.at, role: said.role, excerpt });
        }
      }
      return hits.reverse().slice(0, limit);
    },

    async deleteSession(sessionId) {
      enter(sessionId);
      const target = sessions.get(sessionId);
      if (!target) return false;
      sessions.delete(sessionId);
      dropContents(target, target.contents);
      watchers.notify(sessionId);
      return target.seq > 0;
    },

    async replaceEvent(sessionId, event, droppedContents = []) {
      enter(sessionId);
      checkCount('the seq of an event', event.seq, 1);
      const target = sessions.get(sessionId);
      if (!target) throw sessionNotFound(sessionId);
      target.replace(event);
      dropContents(target, droppedContents);
    },

    async check() {
      enter();
      const logs = [...sessions.values()].filter((each) => each.seq > 0);
      const problems = logs.flatMap((each) =>
        each.read(0, each.seq, each.seq).flatMap((event) =>
          contentReferences(event)
            .filter((hash) => !contents.has(hash))
            .map((hash) => `event ${event.seq} of session ${each.id} shows content ${hash}, which is missing`),
        ),
      );
      const events = logs.reduce((sum, each) => sum + each.seq, 0);
      return { ok: problems.length === 0, problems, sessions: logs.length, events };
    },

    async backup() {
      enter();
      throw new HoldfastError('STORE_UNSUPPORTED', 'a memory store has no file to copy; use sqliteStore for backups');
    },

    async close() {
      closed = true;
      watchers.clear();
    },
  };
}
