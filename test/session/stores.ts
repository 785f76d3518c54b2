/** Stores for the session's tests: the real ones, and wrappers that count reads or fail like a disk or a network. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import type { AppendOptions, Store } from '../../src/ports/store.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';

/** The stores that the important tests run on. */
export const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['sqlite', temporarySqlite],
];

async function temporarySqlite(): Promise<Store> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-session-'));
  const store = await sqliteStore(join(directory, 'test.db'));
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return store;
}

/** A store with some methods replaced. */
export function withChanges(store: Store, change: Partial<Store>): Store {
  return { ...store, ...change };
}

/** Counts events that are read, and appends. */
export function countingStore(store: Store): {
  readonly store: Store;
  readonly counts: { events: number; appends: number };
} {
  const counts = { events: 0, appends: 0 };
  return {
    counts,
    store: withChanges(store, {
      append(...args) {
        counts.appends++;
        return store.append(...args);
      },
      async *read(...args) {
        for await (const event of store.read(...args)) {
          counts.events++;
          yield event;
        }
      },
    }),
  };
}

/** The outcome of an append: it succeeds; it fails before it is written; it is written and its acknowledgement is lost. */
export type Fault = 'none' | 'before' | 'after';

/** A store whose appends fail as `next` returns, one after the other. */
export function failingStore(store: Store, next: (options: AppendOptions) => Fault): Store {
  const broken = (): HoldfastError => new HoldfastError('STORE_FAILED', 'the connection broke; try again');
  return withChanges(store, {
    async append(sessionId, events, options) {
      const fault = next(options);
      if (fault === 'before') throw broken();
      const answer = await store.append(sessionId, events, options);
      if (fault === 'after') throw broken();
      return answer;
    },
  });
}

/** A store whose methods take some turns of the event loop before and after, so that handles overtake each other. */
export function slowStore(store: Store, turns: () => number): Store {
  const pause = async (): Promise<void> => {
    for (let left = turns(); left > 0; left--) await setImmediate();
  };
  return withChanges(store, {
    async append(...args) {
      await pause();
      const answer = await store.append(...args);
      await pause();
      return answer;
    },
    async *read(...args) {
      await pause();
      for await (const event of store.read(...args)) {
        await pause();
        yield event;
      }
      await pause();
    },
    async head(...args) {
      await pause();
      return store.head(...args);
    },
  });
}
