import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { Clock } from '../ports/clock.ts';
import type { IntegrityReport, Store, StoredSnapshot } from '../ports/store.ts';
import { DraftList } from './draft-list.ts';
import type { EncodedEvent } from './encoded-event.ts';
import type {
  AppendRows,
  ContentRow,
  LeaseRows,
  ListedRow,
  SessionRow,
  StoreBackend,
  StoredEvent,
  StoredLease,
  StoredSummary,
} from './shell/backend.ts';
import { type DefinedStore, defineStore } from './shell/define-store.ts';
import { compareSessions } from './shell/listing.ts';

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
  return defineStore(memoryBackend(), options) satisfies DefinedStore;
}

/** A session's rows. */
interface Session {
  readonly id: string;
  readonly key: number;
  readonly incarnation: number;
  revision: number;
  fence: number | undefined;
  lease: StoredLease | undefined;
  log: StoredEvent[];
  summary: StoredSummary | undefined;
  snapshot: StoredSnapshot | undefined;
  /** The contents that each event refers to, by seq. */
  readonly references: Map<number, readonly string[]>;
  readonly calls: Map<string, string>;
  readonly drafts: DraftList;
}

/** The simplest backend: maps. Nothing else runs while a method does, so each of them is a transaction. */
export function memoryBackend(): StoreBackend<number> {
  const sessions = new Map<string, Session>();
  const byKey = new Map<number, Session>();
  /** How many incarnations of each session were removed. */
  const removed = new Map<string, number>();
  const contents = new Map<string, { readonly text: string; references: number }>();
  let lastKey = 0;
  let lastFence = 0;

  function create(id: string): Session {
    const key = ++lastKey;
    const incarnation = (removed.get(id) ?? 0) + 1;
    const rows = { revision: 0, fence: undefined, lease: undefined, log: [], summary: undefined, snapshot: undefined };
    const own = { references: new Map(), calls: new Map(), drafts: new DraftList() };
    const session: Session = { id, key, incarnation, ...rows, ...own };
    sessions.set(id, session);
    byKey.set(key, session);
    return session;
  }

  function rowOf(id: string): SessionRow<number> {
    const session = sessions.get(id);
    if (!session) return { incarnation: (removed.get(id) ?? 0) + 1, seq: 0, revision: 0 };
    const { key, incarnation, revision, fence, log } = session;
    return { key, incarnation, seq: log.length, revision, fence };
  }

  /** Without a text, of a content that is stored or lost. */
  function refer(session: Session, { seq, hash, text }: Omit<ContentRow, 'text'> & { readonly text?: string }): void {
    const before = session.references.get(seq) ?? [];
    if (before.includes(hash)) return;
    session.references.set(seq, [...before, hash]);
    const content = contents.get(hash) ?? (text === undefined ? undefined : { text, references: 0 });
    if (!content) return;
    contents.set(hash, content);
    content.references++;
  }

  /** Drops the references of an event except some, and contents that have none left. */
  function dropReferences(session: Session, seq: number, kept: readonly string[] = []): void {
    const before = session.references.get(seq) ?? [];
    session.references.set(
      seq,
      before.filter((hash) => kept.includes(hash)),
    );
    for (const hash of before) {
      const content = kept.includes(hash) ? undefined : contents.get(hash);
      if (content && --content.references === 0) contents.delete(hash);
    }
  }

  function add(session: Session, events: readonly EncodedEvent[], appendId: string): void {
    const { log } = session;
    for (const [i, event] of events.entries()) {
      log.push({ ...event, seq: log.length + 1, appendId: i === 0 ? appendId : undefined });
    }
  }

  function lastAppend({ log }: Session): string | undefined {
    return log.findLast(({ appendId }) => appendId !== undefined)?.appendId;
  }

  function continues(row: SessionRow<number>, append: AppendRows<number>): boolean {
    const { key, incarnation, expectedSeq, revision, fence, id } = append;
    const session = row.key === undefined ? undefined : byKey.get(row.key);
    return (
      row.seq === expectedSeq &&
      (expectedSeq === 0 || (row.key === key && row.revision === revision)) &&
      (incarnation === undefined || incarnation === row.incarnation) &&
      (fence === undefined || fence === row.fence) &&
      (session === undefined || lastAppend(session) !== id)
    );
  }

  function remove(session: Session): void {
    for (const seq of session.references.keys()) dropReferences(session, seq);
    sessions.delete(session.id);
    byKey.delete(session.key);
  }

  const leases: LeaseRows = {
    read: async (id) => sessions.get(id)?.lease,
    async grant(id, lease, over) {
      const current = sessions.get(id)?.lease;
      if (current?.fence !== over?.fence || current?.renewals !== over?.renewals) return undefined;
      const fence = ++lastFence;
      const session = sessions.get(id) ?? create(id);
      session.fence = fence;
      session.lease = { ...lease, fence, renewals: 0 };
      return fence;
    },
    async renew(id, fence, { expiresAt, deadline }) {
      const session = sessions.get(id);
      if (session?.lease?.fence !== fence) return false;
      session.lease = { ...session.lease, expiresAt, deadline, renewals: session.lease.renewals + 1 };
      return true;
    },
    async release(id, fence, seq) {
      const session = sessions.get(id);
      if (session?.lease?.fence !== fence || (seq ?? session.log.length) !== session.log.length) return false;
      session.lease = undefined;
      return true;
    },
  };

  return {
    where: 'the memory store',
    leases,

    find: async (id) => rowOf(id),

    async append(id, append) {
      if (!continues(rowOf(id), append)) return undefined;
      const session = sessions.get(id) ?? create(id);
      add(session, append.events, append.id);
      for (const content of append.contents) refer(session, content);
      for (const { call, text } of append.putCalls) session.calls.set(call, text);
      for (const call of append.dropCalls) session.calls.delete(call);
      session.drafts.end(append.endsDrafts);
      session.summary = append.summary ?? session.summary;
      return session.key;
    },

    events: async (key, { after, until, limit }) =>
      byKey.get(key)?.log.slice(after, Math.min(after + limit, until)) ?? [],

    async lastAppend(key) {
      const session = byKey.get(key);
      return session && lastAppend(session);
    },

    summary: async (key) => byKey.get(key)?.summary,

    async replace(key, { seq, event, contents: kept, revision, summarizedSeq, summarize }) {
      const session = byKey.get(key);
      if (session?.revision !== revision) return false;
      session.summary = summarize(session.log.slice(summarizedSeq));
      session.log[seq - 1] = { ...event, seq, appendId: session.log[seq - 1]?.appendId };
      dropReferences(session, seq, kept);
      session.snapshot = undefined;
      session.revision++;
      return true;
    },

    async fork(origin, { target, revision, at, events, summary }) {
      const from = byKey.get(origin);
      const before = sessions.get(target);
      if (from?.revision !== revision || before?.log.length) return false;
      if (before) remove(before); // it has a lease, perhaps, and no events
      const fork = create(target);
      fork.log = from.log.slice(0, at).map((event, i) => ({ ...event, appendId: i === 0 ? 'fork' : undefined }));
      add(fork, events, 'fork:end');
      for (let seq = 1; seq <= at; seq++) {
        for (const hash of from.references.get(seq) ?? []) refer(fork, { seq, hash });
      }
      fork.summary = summary;
      return true;
    },

    async remove(id, key) {
      const session = byKey.get(key);
      if (!session) return undefined;
      remove(session);
      removed.set(id, session.incarnation);
      return session.log.length;
    },

    async list({ after, limit, filter: { work } }) {
      const rows: ListedRow<number>[] = [];
      for (const { id, key, log, revision, summary, lease } of sessions.values()) {
        const last = log.at(-1);
        // Most sessions have no work, and a worker lists often.
        if (!last || (work && summary?.work === undefined && summary?.wakeAt === undefined)) continue;
        const row = { id, key, seq: last.seq, revision, updatedAt: last.at, summary, lease };
        if (after === undefined || compareSessions(after, row) < 0) rows.push(row);
      }
      return rows.sort(compareSessions).slice(0, limit);
    },

    async writeSnapshot(key, snapshot, revision) {
      const session = byKey.get(key);
      if (session?.revision === revision && snapshot.seq >= (session.snapshot?.seq ?? 0)) session.snapshot = snapshot;
    },

    readSnapshot: async (key) => byKey.get(key)?.snapshot,

    async writeDrafts(key, fence, chunks, limited) {
      const session = byKey.get(key);
      if (session?.fence !== fence) return false;
      session.drafts.add(chunks, limited);
      return true;
    },

    readDrafts: async (key, options) => byKey.get(key)?.drafts.read(options) ?? [],

    async readContent(key, hash) {
      const references = [...(byKey.get(key)?.references.values() ?? [])];
      return references.some((hashes) => hashes.includes(hash)) ? (contents.get(hash)?.text ?? null) : undefined;
    },

    readCallContent: async (key, call) => byKey.get(key)?.calls.get(call),

    async check(): Promise<IntegrityReport> {
      const logs = [...sessions.values()].filter(({ log }) => log.length > 0);
      const problems = logs.flatMap(({ id, references }) =>
        [...references.values()]
          .flat()
          .filter((hash) => !contents.has(hash))
          .map((hash) => `session ${id} refers to content ${hash}, which is missing`),
      );
      const events = logs.reduce((sum, { log }) => sum + log.length, 0);
      return { ok: problems.length === 0, problems, sessions: logs.length, events };
    },

    async close() {},
  };
}
