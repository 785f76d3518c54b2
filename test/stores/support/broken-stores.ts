/**
 * Stores that break exactly one rule each, made from a correct one. The suite must detect each of them: a rule that no case checks is
 * a rule that the next store will break.
 */
import type { DraftChunk, EventReading } from '../../../src/ports/store.ts';
import { sessionNotFound } from '../../../src/stores/refusals.ts';
import { BROKEN_ERRORS_AND_ENDS } from './broken-errors.ts';
import { BROKEN_FORKS_AND_LEASES } from './broken-forks.ts';
import { BROKEN_LISTINGS } from './broken-listings.ts';
import {
  type BrokenStore,
  contentsOf,
  ignores,
  LIFE,
  listingBefore,
  replacing,
  watchSeq,
} from './broken-store-parts.ts';

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
  ...BROKEN_FORKS_AND_LEASES,
  ...BROKEN_ERRORS_AND_ENDS,
  ...BROKEN_LISTINGS,
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
