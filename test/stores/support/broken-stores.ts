/**
 * Stores that break exactly one rule each, made from a correct one. The suite must detect each of them: a rule that no case checks is
 * a rule that the next store will break.
 */
import { isHoldfastError } from '../../../src/core/errors.ts';
import type { NewEvent } from '../../../src/core/events.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { AppendOptions, DraftChunk, EventReading, SessionInfo, Store } from '../../../src/ports/store.ts';
import { contentMissing, fenceConflict, sessionNotFound } from '../../../src/stores/refusals.ts';
import { readAll } from './temporary.ts';

export interface BrokenStore {
  /** The broken rule. */
  readonly breaks: string;
  /** A part of the name of a case that detects it. */
  readonly noticedBy: string;
  wrap(store: Store, clock: Clock): Store;
}

/** The store with some methods replaced. */
function replacing(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name, receiver) =>
      name in methods ? methods[name as keyof Store] : Reflect.get(target, name, receiver),
  });
}

type OptionName =
  | 'incarnation'
  | 'fence'
  | 'revision'
  | 'seq'
  | 'endsDrafts'
  | 'contents'
  | 'after'
  | 'limit'
  | 'draftId'
  | 'work';

/** A store whose method ignores one of its options, which are its last argument. */
function ignores(method: keyof Store, option: OptionName, noticedBy: string): BrokenStore {
  return {
    breaks: `${method} ignores ${option}`,
    noticedBy,
    wrap: (store) =>
      replacing(store, {
        [method]: (...args: unknown[]) => {
          const { [option]: _, ...rest } = (args.at(-1) ?? {}) as Record<string, unknown>;
          const call = store[method] as (...all: unknown[]) => unknown;
          return Reflect.apply(call, store, [...args.slice(0, -1), rest]);
        },
      }),
  };
}

const LIFE = 'a call that names a deleted incarnation';

function inTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The contents that each session wrote, with their texts. */
function contentsOf(store: Store): {
  readonly texts: Map<string, string>;
  readonly hashes: Map<string, Set<string>>;
  note(id: string, options: AppendOptions): void;
  readonly store: Store;
} {
  const texts = new Map<string, string>();
  const hashes = new Map<string, Set<string>>();
  return {
    store,
    texts,
    hashes,
    note(id, { contents = [] }) {
      for (const { hash, text } of contents) {
        texts.set(hash, text);
        hashes.set(id, (hashes.get(id) ?? new Set()).add(hash));
      }
    },
  };
}

/** A fork made with public methods only. */
async function copyByHand(
  store: Store,
  origin: string,
  target: string,
  at: number,
  closing: readonly NewEvent[],
  wait: boolean,
): Promise<{ readonly seq: number }> {
  let seq = 0;
  for await (const { seq: _, ...event } of store.read(origin, { limit: at })) {
    ({ seq } = await store.append(target, [event as NewEvent], { id: `copy ${seq}`, expectedSeq: seq }));
    if (wait) await inTurn();
  }
  return store.append(target, closing, { id: 'end', expectedSeq: seq });
}

export const brokenStores: readonly BrokenStore[] = [
  ignores('append', 'incarnation', LIFE),
  ignores('read', 'incarnation', LIFE),
  ignores('writeSnapshot', 'incarnation', LIFE),
  ignores('readSnapshot', 'incarnation', LIFE),
  ignores('appendDraft', 'incarnation', LIFE),
  ignores('readDraft', 'incarnation', LIFE),
  ignores('readContent', 'incarnation', LIFE),
  ignores('readCallContent', 'incarnation', LIFE),
  ignores('deleteSession', 'incarnation', LIFE),
  ignores('forkSession', 'incarnation', LIFE),
  ignores('replaceEvent', 'incarnation', LIFE),
  ignores('append', 'fence', 'a stale fence writes nothing'),
  ignores('writeSnapshot', 'fence', 'a snapshot under a stale fence'),
  ignores('writeSnapshot', 'revision', 'a snapshot of an older revision'),
  ignores('releaseLease', 'seq', 'a release that names a seq'),
  ignores('append', 'endsDrafts', 'an append ends the drafts that it names'),
  ignores('append', 'contents', 'a content is read exactly as it was stored'),
  ignores('replaceEvent', 'contents', 'a replaced event keeps only the references'),
  ignores('readDraft', 'after', 'drafts are read after a position'),
  ignores('readDraft', 'limit', 'drafts are read after a position'),
  ignores('readDraft', 'draftId', 'drafts are read after a position'),
  ignores('listSessions', 'work', 'sessions with work are listed'),
  {
    breaks: 'appendDraft ignores fence',
    noticedBy: 'a draft under a fence that is not the newest',
    wrap: (store) =>
      replacing(store, {
        async appendDraft(id, chunks, options) {
          const fence = (await store.readLease(id))?.fence ?? options.fence;
          await store.appendDraft(
            id,
            chunks.map((chunk) => ({ ...chunk, fence })),
            { ...options, fence },
          );
        },
      }),
  },
  {
    breaks: 'append ignores expectedSeq',
    noticedBy: 'a stale or future sequence writes nothing',
    wrap: (store) =>
      replacing(store, {
        append: async (id, events, options) =>
          store.append(id, events, { ...options, expectedSeq: (await store.head(id)).seq }),
      }),
  },
  {
    breaks: 'a repeated append is written again',
    noticedBy: 'a repeated append returns what the first returned',
    wrap: (store) => {
      let n = 0;
      return replacing(store, {
        append: async (id, events, options) =>
          store.append(id, events, { ...options, id: `${n++}`, expectedSeq: (await store.head(id)).seq }),
      });
    },
  },
  {
    breaks: 'a new incarnation has the number of the old one',
    noticedBy: 'each incarnation of a session has a number',
    wrap: (store) => replacing(store, { head: async (id) => ({ ...(await store.head(id)), incarnation: 1 }) }),
  },
  {
    breaks: 'replacing an event does not raise the revision',
    noticedBy: 'a replaced event keeps its seq',
    wrap: (store) => replacing(store, { head: async (id) => ({ ...(await store.head(id)), revision: 0 }) }),
  },
  {
    breaks: 'the snapshot survives a replaced event',
    noticedBy: 'a replaced event keeps its seq',
    wrap: (store) =>
      replacing(store, {
        async replaceEvent(id, event, options) {
          const snapshot = await store.readSnapshot(id);
          await store.replaceEvent(id, event, options);
          if (snapshot) await store.writeSnapshot(id, snapshot);
        },
      }),
  },
  {
    breaks: 'drafts survive the deletion of their session',
    noticedBy: 'deleting a session removes all of it',
    wrap(store) {
      const ghosts = new Map<string, readonly DraftChunk[]>();
      return replacing(store, {
        async deleteSession(id, options) {
          const drafts = await store.readDraft(id);
          if (drafts.length > 0) ghosts.set(id, drafts);
          return store.deleteSession(id, options);
        },
        readDraft: async (id, options) => [...(ghosts.get(id) ?? []), ...(await store.readDraft(id, options))],
      });
    },
  },
  {
    breaks: 'contents are written before their append, which may be rejected',
    noticedBy: 'a rejected append stores none of its contents',
    wrap(store) {
      const known = contentsOf(store);
      return replacing(store, {
        append: (id, events, options) => {
          known.note(id, options);
          return store.append(id, events, options);
        },
        readContent: async (id, hash, options) =>
          (await store.readContent(id, hash, options)) ??
          (known.hashes.get(id)?.has(hash) ? known.texts.get(hash) : undefined),
      });
    },
  },
  {
    breaks: 'contents of calls are written before their append, which may be rejected',
    noticedBy: 'a rejected append stores none of its contents',
    wrap(store) {
      const calls = new Map<string, string>();
      return replacing(store, {
        append: (id, events, options) => {
          for (const { call, text } of options.callContents?.put ?? []) calls.set(`${id} ${call}`, text);
          return store.append(id, events, options);
        },
        readCallContent: async (id, call, options) =>
          (await store.readCallContent(id, call, options)) ?? calls.get(`${id} ${call}`),
      });
    },
  },
  {
    breaks: 'drafts end before their append, which may be rejected',
    noticedBy: 'an append ends the drafts that it names',
    wrap(store) {
      const ended = new Set<string>();
      return replacing(store, {
        append: (id, events, options) => {
          for (const draftId of options.endsDrafts ?? []) ended.add(draftId);
          return store.append(id, events, options);
        },
        readDraft: async (id, options) =>
          (await store.readDraft(id, options)).filter((chunk) => !ended.has(chunk.draftId)),
      });
    },
  },
  {
    breaks: 'erasing a content drops it for every session',
    noticedBy: 'a content is stored while an event of any session refers to it',
    wrap(store) {
      const known = contentsOf(store);
      const dropped = new Set<string>();
      const drop = (id: string) => {
        for (const hash of known.hashes.get(id) ?? []) dropped.add(hash);
      };
      return replacing(store, {
        append: (id, events, options) => {
          known.note(id, options);
          return store.append(id, events, options);
        },
        replaceEvent: (id, event, options) => {
          drop(id);
          return store.replaceEvent(id, event, options);
        },
        deleteSession: (id, options) => {
          drop(id);
          return store.deleteSession(id, options);
        },
        readContent: async (id, hash, options) =>
          dropped.has(hash) ? undefined : store.readContent(id, hash, options),
      });
    },
  },
  {
    breaks: 'a content outlives its last reference',
    noticedBy: 'a content is stored while an event of any session refers to it',
    wrap(store) {
      const texts = new Map<string, string>();
      return replacing(store, {
        append: (id, events, options) => {
          const contents = options.contents?.map((content) => ({
            ...content,
            text: texts.get(content.hash) ?? content.text,
          }));
          for (const { hash, text } of contents ?? []) texts.set(hash, text);
          return store.append(id, events, { ...options, ...(contents && { contents }) });
        },
      });
    },
  },
  {
    breaks: 'a content is read through any session',
    noticedBy: 'a content is read only through a session that refers to it',
    wrap(store) {
      const known = contentsOf(store);
      return replacing(store, {
        append: (id, events, options) => {
          known.note(id, options);
          return store.append(id, events, options);
        },
        readContent: async (id, hash, options) => (await store.readContent(id, hash, options)) ?? known.texts.get(hash),
      });
    },
  },
  {
    breaks: 'a lease is replaced although it was renewed',
    noticedBy: "a dead holder's lease is replaced",
    wrap: (store) =>
      replacing(store, {
        async acquireLease(id, options) {
          const renewals = (await store.readLease(id))?.renewals ?? 0;
          const { replacing: replaced } = options;
          return store.acquireLease(id, { ...options, ...(replaced && { replacing: { ...replaced, renewals } }) });
        },
      }),
  },
  {
    breaks: 'a lease is replaced with any fence',
    noticedBy: "a dead holder's lease is replaced",
    wrap: (store) =>
      replacing(store, {
        async acquireLease(id, options) {
          const lease = await store.readLease(id);
          return store.acquireLease(id, { ...options, ...(options.replacing && lease && { replacing: lease }) });
        },
      }),
  },
  {
    breaks: 'progress is stored without a limit',
    noticedBy: "the newest 64 kB of a call's progress are stored",
    wrap: (store) =>
      replacing(store, {
        appendDraft: (id, chunks, options) =>
          store.appendDraft(
            id,
            chunks.map((chunk) =>
              chunk.kind === 'progress' ? { ...chunk, kind: 'text', toolName: 'progress' } : chunk,
            ),
            options,
          ),
        readDraft: async (id, options) =>
          (await store.readDraft(id, options)).map(({ toolName, ...chunk }) =>
            toolName === 'progress'
              ? { ...chunk, kind: 'progress' }
              : { ...chunk, ...(toolName !== undefined && { toolName }) },
          ),
      }),
  },
  {
    breaks: 'a chunk that was delivered twice is stored twice',
    noticedBy: 'draft chunks are read by fence and number',
    wrap: (store) =>
      replacing(store, {
        async readDraft(id, options) {
          const chunks = await store.readDraft(id, options);
          return chunks.flatMap((chunk) => [chunk, chunk]);
        },
      }),
  },
  {
    breaks: 'watchers are not called for drafts',
    noticedBy: 'a watcher is called for drafts',
    wrap: (store) => replacing(store, { watch: watchSeq(store) }),
  },
  {
    breaks: 'watchers are never called',
    noticedBy: 'a watcher is called for its own session',
    wrap: (store) => replacing(store, { watch: () => () => {} }),
  },
  {
    breaks: 'a listed session does not show its lease',
    noticedBy: 'a listed session shows its newest lease',
    wrap: (store) =>
      replacing(store, {
        async listSessions(options) {
          const page = await store.listSessions(options);
          return { ...page, sessions: page.sessions.map(({ lease: _, ...session }) => session) };
        },
      }),
  },
  {
    breaks: 'a read that names its incarnation ends early without an error when the session is deleted',
    noticedBy: 'a read that names its incarnation yields all of it',
    wrap: (store) =>
      replacing(store, {
        read(id, options): EventReading {
          return {
            async *[Symbol.asyncIterator]() {
              for await (const event of store.read(id, options)) {
                if ((await store.head(id)).seq === 0) return;
                yield event;
              }
            },
          };
        },
      }),
  },
  {
    breaks: 'half a fork can be seen',
    noticedBy: 'a fork is complete or does not exist',
    wrap: (store) =>
      replacing(store, {
        forkSession: (id, target, { at, events }) => copyByHand(store, id, target, at, events, true),
      }),
  },
  {
    breaks: 'a fork has no contents',
    noticedBy: 'a fork has the first events of its origin, their contents',
    wrap: (store) =>
      replacing(store, {
        forkSession: (id, target, { at, events }) => copyByHand(store, id, target, at, events, false),
      }),
  },
  {
    breaks: 'a fork shares the contents of its origin, and loses them with it',
    noticedBy: 'a fork keeps its contents when its origin is deleted',
    wrap(store) {
      const origins = new Map<string, string>();
      return replacing(store, {
        forkSession: (id, target, { at, events }) => {
          origins.set(target, id);
          return copyByHand(store, id, target, at, events, false);
        },
        async readContent(id, hash, options) {
          const origin = origins.get(id);
          return (await store.readContent(id, hash, options)) ?? (origin && store.readContent(origin, hash));
        },
      });
    },
  },
  {
    breaks: 'a fork overwrites its target',
    noticedBy: 'a target that exists is SESSION_CONFLICT',
    wrap: (store) =>
      replacing(store, {
        async forkSession(id, target, options) {
          if (target !== id) await store.deleteSession(target);
          return store.forkSession(id, target, options);
        },
      }),
  },
  {
    breaks: 'a fork has the drafts and call contents of its origin',
    noticedBy: 'a fork has neither drafts, lease, snapshot nor contents of calls',
    wrap(store) {
      const origins = new Map<string, string>();
      return replacing(store, {
        forkSession: (id, target, options) => {
          origins.set(target, id);
          return store.forkSession(id, target, options);
        },
        readCallContent: (id, call) => store.readCallContent(origins.get(id) ?? id, call),
      });
    },
  },
  {
    breaks: 'a fork is incomplete when its origin is deleted meanwhile',
    noticedBy: 'a fork whose origin is deleted meanwhile',
    wrap: (store) =>
      replacing(store, {
        async forkSession(id, target, { at, events }) {
          const copied: NewEvent[] = [];
          for (let after = 0; after < at; after += 100) {
            const page = await readAll(store, id, { after, limit: Math.min(100, at - after) });
            copied.push(...page.map(({ seq: _, ...event }) => event as NewEvent));
            await inTurn();
          }
          return store.append(target, [...copied, ...events], { id: 'fork', expectedSeq: 0 });
        },
      }),
  },
  {
    breaks: 'a fork keeps text that was erased from its origin during the copy',
    noticedBy: 'a fork whose origin is erased or appended to meanwhile',
    wrap: (store) =>
      replacing(store, {
        async forkSession(id, target, { at, events }) {
          const copied = (await readAll(store, id, { limit: at })).map(({ seq: _, ...event }) => event as NewEvent);
          // Until all other pending work is done.
          for (let turn = 0; turn < 20; turn++) await inTurn();
          return store.append(target, [...copied, ...events], { id: 'fork', expectedSeq: 0 });
        },
      }),
  },
  {
    breaks: 'a rejected fork changes its target',
    noticedBy: 'a fork at a position that its origin does not have',
    wrap: (store) =>
      replacing(store, {
        async forkSession(id, target, options) {
          try {
            return await store.forkSession(id, target, options);
          } catch (error) {
            if (isHoldfastError(error, 'EVENT_INVALID')) await store.deleteSession(target);
            throw error;
          }
        },
      }),
  },
  {
    breaks: 'releasing a lease ends its fence',
    noticedBy: 'a released fence stays valid',
    wrap: (store) =>
      replacing(store, {
        async append(id, events, options) {
          const lease = await store.readLease(id);
          if (options.fence !== undefined && !lease) throw fenceConflict(id, undefined, options.fence);
          return store.append(id, events, options);
        },
      }),
  },
  {
    breaks: 'the remaining time of a kept lease does not follow the clock',
    noticedBy: 'the remaining time of a kept lease',
    wrap: (store) =>
      replacing(store, {
        keepLease: (id, fence, options) => ({
          ...store.keepLease(id, fence, options),
          remainingMs: () => options.ttlMs,
        }),
      }),
  },
  {
    breaks: 'the remaining time of a kept lease does not grow with a renewal',
    noticedBy: 'the remaining time of a kept lease',
    wrap: (store) =>
      replacing(store, {
        keepLease(id, fence, options) {
          const keeper = store.keepLease(id, fence, options);
          let least = Number.POSITIVE_INFINITY;
          const remainingMs = () => {
            least = Math.min(least, keeper.remainingMs());
            return least;
          };
          return { ...keeper, remainingMs };
        },
      }),
  },
  {
    breaks: 'keepers outlive their store',
    noticedBy: 'every keeper of a closed store',
    wrap(store, clock) {
      let cancel = () => {};
      return replacing(store, {
        keepLease(id, fence, options) {
          const keeper = store.keepLease(id, fence, options);
          cancel = clock.after(options.ttlMs, () => {});
          const stop = () => {
            cancel();
            keeper.stop();
          };
          return { ...keeper, stop };
        },
      });
    },
  },
  {
    breaks: 'a fork has the revision of its origin',
    noticedBy: 'a fork starts at revision 0',
    wrap(store) {
      const revisions = new Map<string, number>();
      return replacing(store, {
        async forkSession(id, target, options) {
          revisions.set(target, (await store.head(id)).revision);
          return store.forkSession(id, target, options);
        },
        async head(id) {
          const head = await store.head(id);
          return { ...head, revision: head.revision + (revisions.get(id) ?? 0) };
        },
      });
    },
  },
  {
    breaks: 'a fork has the append ids of its origin',
    noticedBy: 'a fork starts at revision 0 and has none of the append ids',
    wrap(store) {
      const appends = new Map<string, { readonly seq: number }>();
      const origins = new Map<string, string>();
      return replacing(store, {
        async append(id, events, options) {
          const name = (session: string) => `${session} ${options.id} ${options.expectedSeq}`;
          const copied = appends.get(name(origins.get(id) ?? ''));
          if (copied) return copied;
          const appended = await store.append(id, events, options);
          appends.set(name(id), appended);
          return appended;
        },
        forkSession(id, target, options) {
          origins.set(target, id);
          return store.forkSession(id, target, options);
        },
      });
    },
  },
  {
    breaks: 'a fork into a target that only has a lease starts a new incarnation',
    noticedBy: 'one that only has a lease keeps its incarnation',
    wrap: (store) =>
      replacing(store, {
        async forkSession(id, target, options) {
          if ((await store.head(target)).seq === 0) await store.deleteSession(target);
          return store.forkSession(id, target, options);
        },
      }),
  },
  {
    breaks: 'contents of calls are dropped before others are stored',
    noticedBy: 'stores and drops the content of one call',
    wrap: (store) =>
      replacing(store, {
        append(id, events, options) {
          const { put = [], drop = [] } = options.callContents ?? {};
          const isPut = (call: string) => put.some((each) => each.call === call);
          return store.append(id, events, {
            ...options,
            callContents: { put, drop: drop.filter((call) => !isPut(call)) },
          });
        },
      }),
  },
  {
    breaks: 'replaceEvent looks the session up before it checks its arguments',
    noticedBy: 'a seq below 1 is rejected before the session is looked up',
    wrap: (store) =>
      replacing(store, {
        async replaceEvent(id, event, options) {
          if ((await store.head(id)).seq === 0) throw sessionNotFound(id);
          return store.replaceEvent(id, event, options);
        },
      }),
  },
  {
    breaks: 'the integrity check does not look for lost contents',
    noticedBy: 'a content that the store lost',
    wrap: (store) => replacing(store, { check: async () => ({ ...(await store.check()), ok: true, problems: [] }) }),
  },
  {
    breaks: 'a lost content is read as unknown content',
    noticedBy: 'a content that the store lost',
    wrap: (store) =>
      replacing(store, {
        readContent: (id, hash, options) => store.readContent(id, hash, options).catch(() => undefined),
      }),
  },
  {
    breaks: 'search returns the oldest hits first',
    noticedBy: 'hits are ordered newest first',
    wrap: (store) =>
      replacing(store, {
        async search(query, { limit = 20, ...options } = {}) {
          const hits = (await store.search?.(query, { ...options, limit: 1000 })) ?? [];
          return hits.toReversed().slice(0, limit);
        },
      }),
  },
  {
    breaks: 'updatedAt does not change when the last event is replaced by one of another time',
    noticedBy: 'after an event was replaced, listings show',
    wrap: (store) => replacing(store, { listSessions: listingBefore(store, ({ updatedAt }) => ({ updatedAt })) }),
  },
  {
    breaks: 'an erased title stays in listings',
    noticedBy: 'after an event was replaced, listings show',
    wrap: (store) =>
      replacing(store, {
        listSessions: listingBefore(store, ({ title }) => (title === undefined ? {} : { title })),
      }),
  },
];

/** Watches only the log. */
function watchSeq(store: Store): Store['watch'] {
  return (id, listener) => {
    let known: number | undefined;
    const look = (report: () => void) =>
      store.head(id).then(
        ({ seq }) => {
          if (seq !== known) report();
          known = seq;
        },
        // Closed meanwhile: there is no watcher.
        () => {},
      );
    void look(() => {});
    return store.watch(id, () => void look(listener));
  };
}

/** Lists sessions with some fields as they were when the session was first listed at its seq. */
function listingBefore(store: Store, pick: (session: SessionInfo) => Partial<SessionInfo>): Store['listSessions'] {
  const known = new Map<string, Partial<SessionInfo>>();
  return async (options) => {
    const page = await store.listSessions(options);
    const sessions = page.sessions.map((session) => {
      const name = `${session.id} ${session.seq}`;
      const fields = known.get(name) ?? pick(session);
      known.set(name, fields);
      return { ...session, ...fields };
    });
    return { ...page, sessions };
  };
}

const lostContents = new WeakMap<Store, Set<string>>();

/** A memory store whose contents can be lost, which damage from outside cannot do. */
export function losable(store: Store): Store {
  const lost = new Set<string>();
  const damaged = replacing(store, {
    async readContent(id, hash, options) {
      const text = await store.readContent(id, hash, options);
      if (text !== undefined && lost.has(hash)) throw contentMissing(id, hash);
      return text;
    },
    async check() {
      const report = await store.check();
      const problems = [...report.problems, ...[...lost].map((hash) => `content ${hash} is missing`)];
      return { ...report, ok: problems.length === 0, problems };
    },
  });
  lostContents.set(damaged, lost);
  return damaged;
}

/** Loses a content of a store that `losable` made. */
export function loseContent(store: Store, hash: string): void {
  lostContents.get(store)?.add(hash);
}
