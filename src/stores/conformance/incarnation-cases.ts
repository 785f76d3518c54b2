import assert from 'node:assert/strict';
import type { SessionEvent } from '../../core/log/events.ts';
import type { Store } from '../../ports/store.ts';
import { type Case, chunk, leaseOn, note, readAll, readNotes, refused } from './harness.ts';

const CONTENT = { event: 0, hash: 'sha256:x', text: 'content' };

/** Every method that accepts an incarnation, called for an incarnation with one event; `fence` is the newest lease's. */
function naming(store: Store, incarnation: number, fence: number): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    append: () => store.append('s', [note('late')], { id: 'late', expectedSeq: 1, incarnation }),
    'append as the first': () => store.append('s', [note('late')], { id: 'first', expectedSeq: 0, incarnation }),
    'repeated append': () => store.append('s', [note('life')], { id: 'a', expectedSeq: 0, incarnation }),
    read: () => readAll(store, 's', { incarnation }),
    'write snapshot': () => store.writeSnapshot('s', { seq: 1, data: '{"late":true}' }, { incarnation }),
    'read snapshot': () => store.readSnapshot('s', { incarnation }),
    'append draft': () => store.appendDraft('s', [chunk(fence, 99)], { incarnation, fence }),
    'read draft': () => store.readDraft('s', { incarnation }),
    'read content': () => store.readContent('s', CONTENT.hash, { incarnation }),
    'read content of a call': () => store.readCallContent('s', 'c', { incarnation }),
    delete: () => store.deleteSession('s', { incarnation }),
    fork: () => store.forkSession('s', 'fork', { at: 1, events: [note('late')], incarnation }),
    replace: () => store.replaceEvent('s', { ...note('late'), seq: 1 } as SessionEvent, { incarnation }),
  };
}

/** Creates an incarnation of `s` with everything that a session can have. */
async function live(store: Store): Promise<number> {
  const { fence } = await leaseOn(store, 's');
  await store.append('s', [note('life')], {
    id: 'a',
    expectedSeq: 0,
    contents: [CONTENT],
    callContents: { put: [{ call: 'c', text: 'exact' }] },
  });
  await store.writeSnapshot('s', { seq: 1, data: '{}' });
  await store.appendDraft('s', [chunk(fence, 1)], { fence });
  return fence;
}

/** Everything that can be read of `s`. */
async function stateOf(store: Store): Promise<unknown> {
  return {
    head: await store.head('s'),
    events: await readAll(store, 's'),
    snapshot: await store.readSnapshot('s'),
    drafts: await store.readDraft('s'),
    content: await store.readContent('s', CONTENT.hash),
    callContent: await store.readCallContent('s', 'c'),
    fork: await store.head('fork'),
    lease: await store.readLease('s'),
    sessions: await store.listSessions(),
  };
}

export const incarnationCases: readonly Case[] = [
  {
    name: 'each incarnation of a session has a number, one more than the last',
    async check({ store }) {
      for (let incarnation = 1; incarnation <= 3; incarnation++) {
        assert.deepEqual(await store.head('s'), { incarnation, seq: 0, revision: 0 });
        await store.append('s', [note(incarnation)], { id: 'a', expectedSeq: 0, incarnation });
        assert.deepEqual(await store.head('s'), { incarnation, seq: 1, revision: 0 });
        await store.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent);
        await store.deleteSession('s', { incarnation });
      }
      // Deleting a session that does not exist does not count.
      await store.deleteSession('s');
      await store.deleteSession('never');
      assert.equal((await store.head('s')).incarnation, 4);
      assert.equal((await store.head('never')).incarnation, 1);
    },
  },
  {
    name: 'a call that names a deleted incarnation is SESSION_NOT_FOUND and changes nothing, while no new one exists',
    async check({ store }) {
      await live(store);
      await store.deleteSession('s');
      const before = await stateOf(store);
      for (const [what, call] of Object.entries(naming(store, 1, 1))) {
        await refused(call(), 'SESSION_NOT_FOUND').catch((error: unknown) => {
          throw new Error(`${what} must not reach a deleted session`, { cause: error });
        });
        assert.deepEqual(await stateOf(store), before, what);
      }
    },
  },
  {
    name: 'a call that names a deleted incarnation is SESSION_NOT_FOUND and changes nothing, beside a new one',
    async check({ store }) {
      await live(store);
      await store.deleteSession('s');
      const fence = await live(store);
      const before = await stateOf(store);
      for (const incarnation of [1, 3]) {
        for (const [what, call] of Object.entries(naming(store, incarnation, fence))) {
          await refused(call(), 'SESSION_NOT_FOUND').catch((error: unknown) => {
            throw new Error(`${what} must not reach another incarnation (${incarnation})`, { cause: error });
          });
          assert.deepEqual(await stateOf(store), before, what);
        }
      }
      for (const [what, call] of Object.entries(naming(store, 2, fence))) {
        // Each call changes what the next one finds; this only checks that none is rejected for its incarnation.
        const error = await call().then(
          () => undefined,
          (reason: unknown) => reason as { readonly code?: string; readonly detail?: string },
        );
        if (what === 'append as the first') assert.equal(error?.detail, 'sequence');
        else if (!['fork', 'replace'].includes(what)) assert.equal(error, undefined, `${what}: ${error}`);
      }
    },
  },
  {
    name: 'a lease starts an incarnation before its first event, and deleting the session ends it',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      const { incarnation } = await store.head('s');
      assert.equal(incarnation, 1);
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, incarnation, fence });
      assert.equal((await store.head('s')).incarnation, 1);
      await store.deleteSession('s');
      await leaseOn(store, 's');
      await refused(store.append('s', [note('late')], { id: 'b', expectedSeq: 0, incarnation }), 'SESSION_NOT_FOUND');
      await store.append('s', [note('anew')], { id: 'b', expectedSeq: 0, incarnation: 2 });
      assert.deepEqual(await readNotes(store, 's'), ['anew']);
    },
  },
  {
    name: 'a handle that wrote to a deleted session writes nothing into a session that another handle created later',
    needs: ['reopen'],
    async check({ store, reopen }) {
      const other = await reopen?.();
      if (!other) return;
      await store.append('s', [note('first life')], { id: 'a', expectedSeq: 0, incarnation: 1 });
      await other.deleteSession('s', { incarnation: 1 });
      const late = { id: 'b', expectedSeq: 1, incarnation: 1 };
      await refused(store.append('s', [note('late')], late), 'SESSION_NOT_FOUND');
      await other.append('s', [note('second life')], { id: 'a', expectedSeq: 0, incarnation: 2 });
      await refused(store.append('s', [note('late')], late), 'SESSION_NOT_FOUND');
      const secret = store.writeSnapshot('s', { seq: 1, data: '{"password":"hunter2"}' }, { incarnation: 1 });
      await refused(secret, 'SESSION_NOT_FOUND');
      assert.equal(await other.readSnapshot('s'), undefined);
      assert.deepEqual(await readNotes(store, 's'), ['second life']);
    },
  },
  {
    name: 'a read that names its incarnation yields all of it or rejects when it is deleted meanwhile, never only a part',
    async check({ store }) {
      const count = 5000;
      await store.append(
        's',
        Array.from({ length: count }, (_, i) => note(i)),
        { id: 'a', expectedSeq: 0 },
      );
      let read = 0;
      const reading = (async () => {
        for await (const event of store.read('s', { incarnation: 1 })) {
          if (event.seq === 1) await store.deleteSession('s');
          read++;
        }
      })();
      const error = await reading.then(
        () => undefined,
        (reason: unknown) => reason as { readonly code?: string },
      );
      if (error) assert.equal(error.code, 'SESSION_NOT_FOUND');
      else assert.equal(read, count);
    },
  },
];
