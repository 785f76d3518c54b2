import assert from 'node:assert/strict';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { Store } from '../../ports/store.ts';
import { everyMethod } from './every-method.ts';
import {
  assertHits,
  type Case,
  chunk,
  holder,
  leaseOn,
  message,
  note,
  readAll,
  readNotes,
  refused,
} from './harness.ts';

/** Resolves at the next call of a session's watcher. */
function nextNews(store: Store, sessionId: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.watch(sessionId, () => {
      stop();
      resolve();
    });
  });
}

/** Resolves when the watcher of work is called for this session, or without an id. */
function nextWork(store: Store, sessionId: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.watchWork?.((id) => {
      if (id !== undefined && id !== sessionId) return;
      stop?.();
      resolve();
    });
  });
}

/** An input: the most common event that makes work. */
function input(inputId: string): NewEvent {
  const content = [{ type: 'text' as const, text: 'x' }];
  return { type: 'input/queued', at: '2026-01-01T00:00:00.000Z', inputId, mode: 'next', content };
}

export const lifecycleCases: readonly Case[] = [
  {
    name: 'a watcher is called for its own session, after the commit, until it stops',
    async check({ store }) {
      const notified: number[] = [];
      const stop = store.watch('s', () => notified.push(1));
      let news = nextNews(store, 's');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      await news;
      assert.equal((await store.head('s')).seq, 1);
      assert.ok(notified.length > 0);
      stop();
      stop();
      const before = notified.length;
      news = nextNews(store, 's');
      await store.append('s', [note(2)], { id: 'b', expectedSeq: 1 });
      await news;
      assert.equal(notified.length, before);
    },
  },
  {
    name: 'a function can watch twice, and each stop ends one of them',
    async check({ store }) {
      let calls = 0;
      const listener = () => {
        calls++;
      };
      const stopFirst = store.watch('s', listener);
      store.watch('s', listener);
      stopFirst();
      const news = nextNews(store, 's');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      await news;
      assert.ok(calls >= 1);
    },
  },
  {
    name: 'a watcher is called for drafts, replaced events, forks and deletions of its session (D74)',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      const getNews = async (sessionId: string, work: () => Promise<unknown>) => {
        const news = nextNews(store, sessionId);
        await work();
        await news;
      };
      await getNews('s', () => store.append('s', [note(1)], { id: 'a', expectedSeq: 0 }));
      await getNews('s', () => store.appendDraft('s', [chunk(fence, 1)], { fence }));
      await getNews('s', () => store.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent));
      await getNews('fork', () => store.forkSession('s', 'fork', { at: 1, events: [note(2)] }));
      await getNews('s', () => store.deleteSession('s'));
    },
  },
  {
    name: "a watcher is called for another handle's appends, drafts, replaced events and deletions",
    needs: ['reopen'],
    async check({ store, reopen }) {
      const other = await reopen?.();
      if (!other) return;
      const { fence } = await leaseOn(store, 's');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      const writes: readonly (() => Promise<unknown>)[] = [
        () => other.append('s', [note(2)], { id: 'b', expectedSeq: 1 }),
        () => other.appendDraft('s', [chunk(fence, 1)], { fence }),
        () => other.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent),
        () => other.deleteSession('s'),
      ];
      for (const write of writes) {
        const news = nextNews(store, 's');
        await write();
        await news;
      }
      assert.equal((await store.head('s')).incarnation, 2);
    },
  },
  {
    name: 'a watcher of work is called after an append that makes work, until it stops (D61)',
    needs: ['watchWork'],
    async check({ store }) {
      let calls = 0;
      const stop = store.watchWork?.(() => calls++);
      let news = nextWork(store, 's');
      await store.append('s', [input('i1')], { id: 'a', expectedSeq: 0 });
      await news;
      assert.ok(calls > 0);
      assert.deepEqual(
        (await store.listSessions({ work: true })).sessions.map(({ id }) => id),
        ['s'],
      );
      stop?.();
      const before = calls;
      news = nextWork(store, 't');
      await store.append('t', [note(1), input('i2')], { id: 'a', expectedSeq: 0 });
      await news;
      assert.equal(calls, before);
    },
  },
  {
    name: "a watcher of work is called after another handle's append (D61)",
    needs: ['watchWork', 'reopen'],
    async check({ store, reopen }) {
      const other = await reopen?.();
      const news = nextWork(store, 's');
      await other?.append('s', [input('i1')], { id: 'a', expectedSeq: 0 });
      await news;
    },
  },
  {
    name: 'another handle reads acknowledged events at once, and follows the same rules (I1, I6)',
    needs: ['reopen'],
    async check({ store, reopen, clock }) {
      const other = await reopen?.();
      if (!other) return;
      const { lease } = await store.acquireLease('s', { holder: holder('one'), ttlMs: 1000 });
      await store.append('s', [note(1), message('needle')], { id: 'a', expectedSeq: 0, fence: lease.fence });
      assert.equal((await other.head('s')).seq, 2);
      assert.deepEqual(await other.append('s', [note(1), message('needle')], { id: 'a', expectedSeq: 0 }), { seq: 2 });
      await refused(other.append('s', [note(9)], { id: 'b', expectedSeq: 0 }), 'SESSION_CONFLICT', 'sequence');
      assert.deepEqual(await other.readLease('s'), lease);
      assert.equal((await other.acquireLease('s', { holder: holder('two'), ttlMs: 1000 })).acquired, false);
      await assertHits(other, 'needle', 1);
      clock.advance(1000);
      const taken = await other.acquireLease('s', { holder: holder('two'), ttlMs: 1000 });
      assert.ok(taken.acquired && taken.lease.fence > lease.fence);
      await refused(
        store.append('s', [note(9)], { id: 'c', expectedSeq: 2, fence: lease.fence }),
        'SESSION_CONFLICT',
        'fence',
      );
      await assertHits(store, 'needle', 1);
    },
  },
  {
    name: 'the summary of a session includes the events of two handles',
    needs: ['reopen'],
    async check({ store, reopen }) {
      const other = await reopen?.();
      if (!other) return;
      const described = (fields: object) =>
        ({ type: 'session/described', at: '2026-01-01T00:00:00.000Z', ...fields }) as NewEvent;
      await store.append('s', [described({ metadata: { a: 1 } })], { id: 'a', expectedSeq: 0 });
      await other.append('s', [described({ title: 'T', metadata: { b: 2 } })], { id: 'b', expectedSeq: 1 });
      await store.append('s', [described({ tags: ['x'] })], { id: 'c', expectedSeq: 2 });
      for (const handle of [store, other]) {
        const { sessions } = await handle.listSessions();
        assert.deepEqual([sessions[0]?.title, sessions[0]?.tags, sessions[0]?.metadata], ['T', ['x'], { a: 1, b: 2 }]);
      }
    },
  },
  {
    name: 'a closed and reopened store has everything that was written (I1)',
    needs: ['reopen'],
    async check({ store, reopen }) {
      if (!reopen) return;
      const lease = await leaseOn(store, 's');
      const events = [message('needle'), note(2)];
      const append = {
        id: 'a',
        expectedSeq: 0,
        contents: [{ event: 1, hash: 'sha256:x', text: 'content' }],
        callContents: { put: [{ call: 'c', text: 'exact' }] },
      };
      await store.append('s', events, append);
      await store.append('gone', [note(1)], { id: 'a', expectedSeq: 0 });
      await store.deleteSession('gone');
      await store.forkSession('s', 'fork', { at: 2, events: [note(3)] });
      await store.writeSnapshot('s', { seq: 1, data: '{"kept":true}' });
      await store.appendDraft('s', [chunk(lease.fence, 1)], { fence: lease.fence });
      const stateOf = async (handle: Store) => ({
        log: await readAll(handle, 's'),
        fork: await readAll(handle, 'fork'),
        sessions: await handle.listSessions(),
        drafts: await handle.readDraft('s'),
        heads: [await handle.head('s'), await handle.head('gone'), await handle.head('fork')],
        snapshot: await handle.readSnapshot('s'),
        content: [await handle.readContent('s', 'sha256:x'), await handle.readContent('fork', 'sha256:x')],
        callContent: await handle.readCallContent('s', 'c'),
        lease: await handle.readLease('s'),
      });
      const before = await stateOf(store);
      assert.deepEqual(before.content, ['content', 'content']);
      assert.equal(before.heads[1]?.incarnation, 2);
      await store.close();
      const again = await reopen();
      assert.deepEqual(await stateOf(again), before);
      await assertHits(again, 'needle', 2);
      assert.deepEqual(await again.append('s', events, append), { seq: 2 });
      assert.ok((await leaseOn(again, 'other')).fence > lease.fence, 'a fence increases across processes');
    },
  },
  {
    name: 'close waits for running operations, and can be called again',
    async check({ store, reopen }) {
      await store.append('origin', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      let running = 0;
      const track = async <T>(operation: Promise<T>): Promise<T | undefined> => {
        running++;
        try {
          return await operation;
        } finally {
          running--;
        }
      };
      const appends = Array.from({ length: 20 }, (_, i) =>
        track(store.append(`s${i}`, [note(i)], { id: 'a', expectedSeq: 0 })),
      );
      const others = [
        store.forkSession('origin', 'fork', { at: 2, events: [note(3)] }),
        store.replaceEvent('origin', { ...note('erased'), seq: 1 } as SessionEvent),
        store.acquireLease('s', { holder: holder('one'), ttlMs: 1000 }),
        store.writeSnapshot('origin', { seq: 1, data: '{}' }),
        store.deleteSession('unknown'),
        store.listSessions(),
      ].map((operation) =>
        track<unknown>(operation).catch((error) => refused(Promise.reject(error), 'SESSION_CLOSED')),
      );
      await Promise.all([store.close(), store.close()]);
      // A result may need some microtasks to get from the store to this line, but no turn of the event loop.
      for (let i = 0; i < 10; i++) await Promise.resolve();
      assert.equal(running, 0, 'the operations that were running when close resolved');
      assert.deepEqual(await Promise.all(appends), Array(20).fill({ seq: 1 }));
      await Promise.all(others);
      await store.close();
      if (!reopen) return;
      const again = await reopen();
      for (let i = 0; i < 20; i++) assert.deepEqual(await readNotes(again, `s${i}`), [i]);
    },
  },
  {
    name: 'after close every method is SESSION_CLOSED',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      const reading = store.read('s')[Symbol.asyncIterator]();
      await store.close();
      await refused(reading.next(), 'SESSION_CLOSED');
      for (const call of everyMethod(store)) await refused(call(), 'SESSION_CLOSED');
    },
  },
];
