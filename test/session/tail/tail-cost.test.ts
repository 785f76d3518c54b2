/** The cost of a tail, and input that it rejects (D74). */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openSession, type Store } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { collect, rejection, until } from '../log-of.ts';
import { withChanges } from '../stores.ts';
import { following, opened } from './draft-chunks.ts';

/** The intervals that are running of those set during this test; the test runner has its own. */
function ownIntervals(): ReadonlySet<unknown> {
  const running = new Set<unknown>();
  const set = globalThis.setInterval;
  const clear = globalThis.clearInterval;
  vi.stubGlobal('setInterval', (callback: () => void, ms: number) => {
    const timer = set(callback, ms);
    running.add(timer);
    return timer;
  });
  vi.stubGlobal('clearInterval', (timer: NodeJS.Timeout | undefined) => {
    running.delete(timer);
    clear(timer);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return running;
}

describe('D74: the cost of a tail', () => {
  /** Counts reads and watchers. */
  function counted(store: Store) {
    const counts = { drafts: 0, chunks: 0, events: 0, watchers: 0, watched: 0 };
    const counting = withChanges(store, {
      watch(...args) {
        counts.watchers++;
        counts.watched++;
        const stop = store.watch(...args);
        return () => {
          counts.watchers--;
          stop();
        };
      },
      async readDraft(...args) {
        counts.drafts++;
        const chunks = await store.readDraft(...args);
        counts.chunks += chunks.length;
        return chunks;
      },
      async *read(...args) {
        for await (const event of store.read(...args)) {
          counts.events++;
          yield event;
        }
      },
    });
    return { counts, store: counting };
  }

  test('a piece costs the same regardless of the length of the log and the draft', async () => {
    const { store, counts } = counted(memoryStore());
    const { session, writer } = await opened(store);
    await session.append(Array.from({ length: 1000 }, () => ({ type: 'note/added' })));
    for (let i = 0; i < 200; i++) await writer.text('x');
    const tail = following(session);
    await tail.next(1003);
    await setImmediate();
    const before = { ...counts };
    const piece = tail.next(1);
    await writer.text('y');
    expect(await piece).toEqual(['1002.1.201 y@200']);
    expect(counts.chunks - before.chunks).toBe(1);
    expect(counts.events).toBe(before.events);
    await tail.iterator.return?.();
  });

  test('a hundred readers of one store share one watcher and the reads', async () => {
    const { store, counts } = counted(memoryStore());
    const { session, writer } = await opened(store);
    const sessions = await Promise.all(Array.from({ length: 100 }, () => openSession({ store, id: 's' })));
    const tails = sessions.map((each) => following(each));
    await Promise.all(tails.map((tail) => tail.next(2)));
    expect(counts.watched).toBe(1);
    await setImmediate();
    const before = counts.drafts;
    const pieces = tails.map((tail) => tail.next(1));
    await writer.text('Hello');
    expect(new Set((await Promise.all(pieces)).flat())).toEqual(new Set(['2.1.1 Hello@0']));
    expect(counts.drafts - before).toBeLessThan(10);
    await Promise.all(tails.map((tail) => tail.iterator.return?.()));
    expect(counts.watchers).toBe(0);
    await session.close();
  });

  test.for(['return', 'signal', 'break', 'error'])(
    'a tail that ends by %s leaves no watcher and no timer',
    async (how) => {
      const timers = ownIntervals();
      const { store, counts } = counted(memoryStore());
      const { session } = await opened(store);
      const abort = new AbortController();
      const tail = following(session, { signal: abort.signal });
      await tail.next(2);
      const pending = tail.next(1);
      await until(() => timers.size === 1);
      expect(counts.watchers).toBe(1);
      if (how === 'return') await tail.iterator.return?.();
      if (how === 'signal') abort.abort();
      if (how === 'break') {
        await tail.iterator.return?.();
        for await (const _ of session.events({ live: true, drafts: true })) break;
      }
      if (how === 'error') await store.deleteSession('s');
      await pending.catch(() => {});
      expect(counts.watchers).toBe(0);
      expect(timers.size).toBe(0);
    },
  );

  test('a tail that was never read has no watcher', async () => {
    const { store, counts } = counted(memoryStore());
    const { session } = await opened(store);
    const iterator = session.events({ live: true, drafts: true })[Symbol.asyncIterator]();
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(counts.watched).toBe(0);
  });
});

describe('bad input', () => {
  test.for([
    ['a malformed cursor', { drafts: true, after: '1.2' }],
    ['a cursor and a seq', { drafts: true, after: '1', from: 1 }],
    ['a cursor without drafts', { after: '1' }],
    ['a seq below 1', { drafts: true, from: 0 }],
  ] as const)('%s is INVALID_ARGUMENT', async ([, options]) => {
    const { session } = await opened(memoryStore());
    const reading = collect<unknown>(session.events(options as { drafts: true }));
    expect(await rejection(reading)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a closed session is SESSION_CLOSED', async () => {
    const { session } = await opened(memoryStore());
    await session.close();
    expect(await rejection(collect(session.events({ drafts: true })))).toMatchObject({ code: 'SESSION_CLOSED' });
  });
});
