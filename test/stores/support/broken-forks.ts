import { isHoldfastError } from '../../../src/core/errors.ts';
import type { NewEvent } from '../../../src/core/log/events.ts';
import { fenceConflict } from '../../../src/stores/refusals.ts';
import { type BrokenStore, copyByHand, inTurn, replacing } from './broken-store-parts.ts';
import { readAll } from './temporary.ts';

/** Stores that break a rule of forks or leases. */
export const BROKEN_FORKS_AND_LEASES: readonly BrokenStore[] = [
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
];
