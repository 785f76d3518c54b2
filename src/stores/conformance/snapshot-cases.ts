import assert from 'node:assert/strict';
import type { SessionEvent } from '../../core/log/events.ts';
import { type Case, leaseOn, note, refused } from './harness.ts';

/** Snapshots: only the newest is stored, and none with erased or deleted content. */
export const snapshotCases: readonly Case[] = [
  {
    name: 'the newest snapshot is stored; an older one changes nothing',
    async check({ store }) {
      await store.append('s', [note(1), note(2), note(3)], { id: 'a', expectedSeq: 0 });
      assert.equal(await store.readSnapshot('s'), undefined);
      await store.writeSnapshot('s', { seq: 2, data: '{"at":2}' });
      await store.writeSnapshot('s', { seq: 1, data: '{"at":1}' });
      assert.deepEqual(await store.readSnapshot('s'), { seq: 2, data: '{"at":2}' });
      await store.writeSnapshot('s', { seq: 2, data: '{"at":"2 again"}' });
      assert.deepEqual(await store.readSnapshot('s'), { seq: 2, data: '{"at":"2 again"}' });
      const large = JSON.stringify({ text: 'ä😀'.repeat(500_000) });
      await store.writeSnapshot('s', { seq: 3, data: large });
      assert.deepEqual(await store.readSnapshot('s'), { seq: 3, data: large });
      assert.equal(await store.readSnapshot('other'), undefined);
    },
  },
  {
    name: 'a snapshot beyond its log is rejected: it would restore deleted content (I10)',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      await refused(store.writeSnapshot('s', { seq: 3, data: '{}' }), 'INVALID_ARGUMENT');
      await refused(store.writeSnapshot('nobody', { seq: 1, data: '{}' }), 'INVALID_ARGUMENT');
      await refused(store.writeSnapshot('s', { seq: -1, data: '{}' }), 'INVALID_ARGUMENT');
      await refused(store.writeSnapshot('s', { seq: 1, data: '"\ud800"' }), 'INVALID_ARGUMENT');
      await store.writeSnapshot('s', { seq: 0, data: '{}' });
      assert.equal(await store.readSnapshot('s'), undefined, 'an empty log needs no snapshot');
      assert.equal(await store.readSnapshot('nobody'), undefined);
    },
  },
  {
    name: 'a snapshot of an older revision is not stored: it may hold erased text (D58)',
    async check({ store }) {
      await store.append('s', [note('secret'), note(2)], { id: 'a', expectedSeq: 0 });
      const { revision } = await store.head('s');
      await store.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent);
      await store.writeSnapshot('s', { seq: 2, data: '{"secret":true}' }, { revision });
      assert.equal(await store.readSnapshot('s'), undefined);
      const now = await store.head('s');
      assert.notEqual(now.revision, revision);
      await store.writeSnapshot('s', { seq: 2, data: '{"secret":false}' }, { revision: now.revision });
      assert.deepEqual(await store.readSnapshot('s'), { seq: 2, data: '{"secret":false}' });
      await store.writeSnapshot('s', { seq: 2, data: '{"secret":true}' }, { revision: now.revision + 1 });
      assert.deepEqual(await store.readSnapshot('s'), { seq: 2, data: '{"secret":false}' });
    },
  },
  {
    name: 'a snapshot under a stale fence is SESSION_CONFLICT and changes nothing (I6)',
    async check({ store }) {
      const first = await leaseOn(store, 's');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence: first.fence });
      await store.writeSnapshot('s', { seq: 1, data: '{"by":"one"}' }, { fence: first.fence });
      await store.releaseLease('s', first.fence);
      const second = await leaseOn(store, 's', 'two');
      for (const fence of [first.fence, second.fence + 1]) {
        const late = store.writeSnapshot('s', { seq: 1, data: '{"by":"zombie"}' }, { fence });
        await refused(late, 'SESSION_CONFLICT', 'fence');
      }
      await refused(store.writeSnapshot('t', { seq: 0, data: '{}' }, { fence: 1 }), 'SESSION_CONFLICT', 'fence');
      assert.deepEqual(await store.readSnapshot('s'), { seq: 1, data: '{"by":"one"}' });
      await store.writeSnapshot('s', { seq: 1, data: '{"by":"two"}' }, { fence: second.fence });
      assert.deepEqual(await store.readSnapshot('s'), { seq: 1, data: '{"by":"two"}' });
    },
  },
];
