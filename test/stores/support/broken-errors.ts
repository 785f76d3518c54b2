import { HoldfastError } from '../../../src/core/errors.ts';
import type { Store } from '../../../src/ports/store.ts';
import { checkAppend, checkRead, checkTtl } from '../../../src/stores/check-arguments.ts';
import { storeClosed } from '../../../src/stores/refusals.ts';
import { type BrokenStore, inTurn, replacing } from './broken-store-parts.ts';

/** The store, with every rejection as the error of a disk. */
function withRawErrors(store: Store, method: 'append' | 'readContent', isRaw: (error: unknown) => boolean): Store {
  return replacing(store, {
    [method]: async (...args: readonly unknown[]) => {
      try {
        return await Reflect.apply(store[method] as (...all: unknown[]) => unknown, store, args);
      } catch (error) {
        throw isRaw(error) ? Object.assign(new Error('ENOENT: no such file or directory'), { code: 'ENOENT' }) : error;
      }
    },
  });
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof HoldfastError && error.code === code;
}

const REJECTS = 'a method that returns a promise rejects and never throws';

/** Stores whose errors, ends or notices of work break a rule. */
export const BROKEN_ERRORS_AND_ENDS: readonly BrokenStore[] = [
  {
    breaks: 'append throws synchronously for wrong arguments',
    noticedBy: REJECTS,
    wrap: (store) =>
      replacing(store, {
        append(id, events, options) {
          checkAppend(id, events.length, options);
          return store.append(id, events, options);
        },
      }),
  },
  {
    breaks: 'renewLease throws synchronously for wrong arguments',
    noticedBy: REJECTS,
    wrap: (store) =>
      replacing(store, {
        renewLease(id, fence, ttlMs) {
          checkTtl(ttlMs);
          return store.renewLease(id, fence, ttlMs);
        },
      }),
  },
  {
    breaks: 'read throws synchronously for wrong arguments',
    noticedBy: 'read returns at once',
    wrap: (store) =>
      replacing(store, {
        read(id, options = {}) {
          checkRead(id, options);
          return store.read(id, options);
        },
      }),
  },
  {
    breaks: 'read throws synchronously after close',
    noticedBy: 'read returns at once',
    wrap(store) {
      let closed = false;
      return replacing(store, {
        read(id, options) {
          if (closed) throw storeClosed();
          return store.read(id, options);
        },
        close() {
          closed = true;
          return store.close();
        },
      });
    },
  },
  {
    breaks: "an unreachable disk's own error reaches the caller",
    noticedBy: 'when the data cannot be reached',
    wrap: (store) => withRawErrors(store, 'append', hasCode('STORE_FAILED')),
  },
  {
    breaks: 'the error of concurrent writers, which most callers do not look at, is a raw one',
    noticedBy: 'concurrent writers lose, repeat and split no append',
    wrap: (store) => withRawErrors(store, 'append', hasCode('SESSION_CONFLICT')),
  },
  {
    breaks: 'an append is acknowledged although the data cannot be reached',
    noticedBy: 'when the data cannot be reached',
    wrap: (store) =>
      replacing(store, {
        append: (id, events, options) =>
          store.append(id, events, options).catch((error: unknown) => {
            if (hasCode('STORE_FAILED')(error)) return { seq: options.expectedSeq + events.length };
            throw error;
          }),
      }),
  },
  {
    breaks: 'close resolves while appends are running',
    noticedBy: 'close waits for running operations',
    wrap: (store) =>
      replacing(store, {
        async append(id, events, options) {
          const appended = await store.append(id, events, options);
          await inTurn();
          return appended;
        },
      }),
  },
  {
    breaks: 'close resolves while a fork is running',
    noticedBy: 'close waits for running operations',
    wrap: (store) =>
      replacing(store, {
        async forkSession(id, target, options) {
          const forked = await store.forkSession(id, target, options);
          await inTurn();
          return forked;
        },
      }),
  },
  {
    breaks: 'watchers of work are never called',
    noticedBy: 'a watcher of work is called after an append that makes work',
    wrap: (store) => replacing(store, { watchWork: () => () => {} }),
  },
  {
    breaks: 'a watcher of work cannot be stopped',
    noticedBy: 'a watcher of work is called after an append that makes work',
    wrap: (store) =>
      replacing(store, {
        watchWork(listener) {
          store.watchWork?.(listener);
          return () => {};
        },
      }),
  },
  {
    breaks: 'watchWork can be called after close',
    noticedBy: 'after close every method is SESSION_CLOSED',
    wrap: (store) => replacing(store, { watchWork: () => () => {} }),
  },
];
