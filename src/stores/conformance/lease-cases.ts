import assert from 'node:assert/strict';
import type { AcquireLeaseOptions, Lease, Store } from '../../ports/store.ts';
import { type Case, chunk, holder, note, readNotes, refused } from './harness.ts';

const TTL = 1000;

/** Acquires a lease and expects that it is free. */
async function acquire(store: Store, who: string, options: Partial<AcquireLeaseOptions> = {}): Promise<Lease> {
  const outcome = await store.acquireLease('s', { holder: holder(who), ttlMs: TTL, ...options });
  assert.ok(outcome.acquired, `${who} should get the lease`);
  return outcome.lease;
}

/** Expects a time that the store may have rounded. */
function assertAbout(ms: number, expected: number): void {
  assert.ok(Math.abs(ms - expected) <= 1, `${ms} ms remain, not ${expected}`);
}

export const leaseCases: readonly Case[] = [
  {
    name: 'a live lease prevents another, and acquireLease returns it with its holder (D51)',
    async check({ store, clock }) {
      const lease = await acquire(store, 'one');
      assert.deepEqual(lease, {
        fence: lease.fence,
        holder: holder('one'),
        expiresAt: clock.now() + TTL,
        renewals: 0,
      });
      for (const who of ['two', 'one']) {
        const outcome = await store.acquireLease('s', { holder: holder(who), ttlMs: TTL });
        assert.deepEqual(outcome, { acquired: false, lease });
      }
      assert.deepEqual(await store.readLease('s'), lease);
      assert.equal((await store.acquireLease('other', { holder: holder('two'), ttlMs: TTL })).acquired, true);
    },
  },
  {
    name: 'an expired lease can be taken over, but not one moment earlier (D51)',
    async check({ store, clock }) {
      const first = await acquire(store, 'one');
      clock.advance(TTL - 1);
      assert.equal((await store.acquireLease('s', { holder: holder('two'), ttlMs: TTL })).acquired, false);
      clock.advance(1);
      assert.deepEqual(await store.readLease('s'), first, 'an expired lease can still be read');
      assert.ok((await acquire(store, 'two')).fence > first.fence);
    },
  },
  {
    name: "a dead holder's lease is replaced only by naming its fence and renewals (D76)",
    async check({ store }) {
      const first = await acquire(store, 'one');
      const replace = (replacing: Pick<Lease, 'fence' | 'renewals'>) =>
        store.acquireLease('s', { holder: holder('two'), ttlMs: TTL, replacing });
      assert.equal((await replace({ fence: first.fence + 1, renewals: 0 })).acquired, false);
      assert.equal((await replace({ fence: first.fence, renewals: 1 })).acquired, false);
      assert.equal(await store.renewLease('s', first.fence, TTL), true);
      assert.equal((await replace(first)).acquired, false, 'a holder that renewed meanwhile is not dead');
      const renewed = await store.readLease('s');
      assert.equal(renewed?.renewals, 1);
      const { lease: second, acquired } = await replace({ fence: first.fence, renewals: 1 });
      assert.ok(acquired && second.fence > first.fence);
      assert.equal(second.renewals, 0);
      assert.deepEqual(await replace({ fence: first.fence, renewals: 1 }), { acquired: false, lease: second });
    },
  },
  {
    name: 'a lease is renewed only by its own fence, also after it expired',
    async check({ store, clock }) {
      const first = await acquire(store, 'one');
      clock.advance(TTL + 1);
      assert.equal(await store.renewLease('s', first.fence, TTL), true);
      assert.equal((await store.readLease('s'))?.expiresAt, clock.now() + TTL);
      assert.equal(await store.renewLease('s', first.fence + 1, TTL), false);
      assert.equal(await store.renewLease('nobody', first.fence, TTL), false);
      clock.advance(TTL);
      const second = await acquire(store, 'two');
      assert.equal(await store.renewLease('s', first.fence, TTL), false);
      assert.deepEqual(await store.readLease('s'), second);
    },
  },
  {
    name: 'a lease is released only by its own fence, and then does not exist',
    async check({ store }) {
      const first = await acquire(store, 'one');
      assert.equal(await store.releaseLease('s', first.fence + 1), true);
      assert.equal(await store.releaseLease('nobody', 1), true);
      assert.deepEqual(await store.readLease('s'), first);
      assert.equal(await store.releaseLease('s', first.fence), true);
      assert.equal(await store.readLease('s'), undefined);
      assert.equal(await store.renewLease('s', first.fence, TTL), false);
      assert.ok((await acquire(store, 'two')).fence > first.fence);
    },
  },
  {
    name: 'a released fence stays valid for appends, drafts and snapshots until another lease is granted (D51)',
    async check({ store }) {
      const { fence } = await acquire(store, 'one');
      await store.releaseLease('s', fence);
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence });
      await store.appendDraft('s', [chunk(fence, 1)], { fence });
      await store.writeSnapshot('s', { seq: 1, data: '{}' }, { fence });
      assert.deepEqual(await readNotes(store, 's'), [1]);
      assert.equal((await store.readDraft('s')).length, 1);
      await acquire(store, 'two');
      await refused(store.append('s', [note(2)], { id: 'b', expectedSeq: 1, fence }), 'SESSION_CONFLICT', 'fence');
      await refused(store.appendDraft('s', [chunk(fence, 2)], { fence }), 'SESSION_CONFLICT', 'fence');
      await refused(store.writeSnapshot('s', { seq: 1, data: '{}' }, { fence }), 'SESSION_CONFLICT', 'fence');
    },
  },
  {
    name: 'a release that names a seq keeps the lease when anything was appended after it (D61)',
    async check({ store }) {
      const lease = await acquire(store, 'one');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence: lease.fence });
      await store.append('s', [note('from outside')], { id: 'b', expectedSeq: 1 });
      assert.equal(await store.releaseLease('s', lease.fence, { seq: 1 }), false);
      assert.deepEqual(await store.readLease('s'), lease, 'the lease stays');
      assert.equal(await store.releaseLease('s', lease.fence + 1, { seq: 1 }), true, 'a stale fence keeps no lease');
      assert.equal(await store.releaseLease('s', lease.fence, { seq: 2 }), true);
      assert.equal(await store.readLease('s'), undefined);
      const empty = await store.acquireLease('t', { holder: holder('one'), ttlMs: TTL });
      assert.equal(await store.releaseLease('t', empty.lease.fence, { seq: 0 }), true);
    },
  },
  {
    name: 'a listed session shows its newest lease, expired or not, unless it was released',
    async check({ store, clock }) {
      const listed = async () => (await store.listSessions()).sessions.map((session) => session.lease);
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      assert.deepEqual(await listed(), [undefined]);
      const lease = await acquire(store, 'one');
      assert.deepEqual(await listed(), [lease]);
      assert.equal(await store.renewLease('s', lease.fence, TTL), true);
      assert.deepEqual(await listed(), [{ ...lease, renewals: 1 }]);
      clock.advance(2 * TTL);
      assert.deepEqual(await listed(), [{ ...lease, renewals: 1 }]);
      await store.releaseLease('s', lease.fence);
      assert.deepEqual(await listed(), [undefined]);
    },
  },
  {
    name: 'a keeper renews on demand, and reports a lost lease once (D76)',
    async check({ store }) {
      const lease = await acquire(store, 'one');
      let lost = 0;
      const keeper = store.keepLease('s', lease.fence, { ttlMs: TTL, onLost: () => lost++ });
      try {
        assert.ok(keeper.remainingMs() > 0);
        assert.equal(await keeper.renew(), true);
        assert.equal((await store.readLease('s'))?.renewals, 1);
        await store.releaseLease('s', lease.fence);
        await acquire(store, 'two');
        assert.equal(await keeper.renew(), false);
        assert.equal(lost, 1);
      } finally {
        keeper.stop();
      }
    },
  },
  {
    name: 'the remaining time of a kept lease decreases with the clock, increases with a renewal and is negative once it is lost (D76)',
    async check({ store, clock }) {
      const lease = await acquire(store, 'one');
      const keeper = store.keepLease('s', lease.fence, { ttlMs: TTL, onLost: () => {} });
      try {
        assertAbout(keeper.remainingMs(), TTL);
        clock.advance(TTL / 4);
        assertAbout(keeper.remainingMs(), (3 * TTL) / 4);
        assert.equal(await keeper.renew(), true);
        assertAbout(keeper.remainingMs(), TTL);
        await acquire(store, 'two', { replacing: { fence: lease.fence, renewals: 1 } });
        assert.equal(await keeper.renew(), false);
        assert.ok(keeper.remainingMs() < 0, 'a lost lease has no time left');
      } finally {
        keeper.stop();
      }
    },
  },
  {
    name: 'a keeper that was stopped, and every keeper of a closed store, has no timer and renews nothing (D76)',
    async check({ store, clock }) {
      let lost = 0;
      const keep = (fence: number) => store.keepLease('s', fence, { ttlMs: TTL, onLost: () => lost++ });
      const lease = await acquire(store, 'one');
      const before = clock.pending;
      keep(lease.fence).stop();
      assert.equal(clock.pending, before, 'a stopped keeper has no timer');
      const keeper = keep(lease.fence);
      await store.close();
      assert.equal(clock.pending, 0, 'a closed store has no timer');
      clock.advance(2 * TTL);
      await refused(keeper.renew(), 'SESSION_CLOSED');
      assert.equal(clock.pending, 0, 'a keeper of a closed store schedules nothing');
      assert.equal(lost, 0, 'a keeper of a closed store reports nothing');
      keeper.stop();
    },
  },
  {
    name: 'a fence only increases, across release, expiry, replacement and deletion (I6)',
    async check({ store, clock }) {
      const fences: number[] = [];
      for (let round = 0; round < 3; round++) {
        const lease = await acquire(store, 'one');
        fences.push(lease.fence);
        await store.releaseLease('s', lease.fence);
        fences.push((await acquire(store, 'two')).fence);
        clock.advance(TTL);
        const third = await acquire(store, 'three');
        fences.push(third.fence, (await acquire(store, 'four', { replacing: third })).fence);
        await store.append('s', [note(round)], { id: `a${round}`, expectedSeq: 0 });
        await store.deleteSession('s');
      }
      assert.deepEqual(
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
      );
    },
  },
  {
    name: 'a stale fence writes nothing, and is reported even when the sequence is stale too (I6)',
    async check({ store }) {
      const first = await acquire(store, 'one');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence: first.fence });
      const second = await acquire(store, 'two', { replacing: first });
      for (const expectedSeq of [0, 1, 2]) {
        await refused(
          store.append('s', [note('zombie')], { id: `z${expectedSeq}`, expectedSeq, fence: first.fence }),
          'SESSION_CONFLICT',
          'fence',
        );
      }
      await refused(
        store.append('s', [note('early')], { id: 'b', expectedSeq: 0, fence: second.fence }),
        'SESSION_CONFLICT',
        'sequence',
      );
      await store.append('s', [note(2)], { id: 'c', expectedSeq: 1, fence: second.fence });
      assert.deepEqual(await readNotes(store, 's'), [1, 2]);
    },
  },
  {
    name: 'a fence that the store never granted is rejected (I6)',
    async check({ store }) {
      for (const fence of [0, 1, 99]) {
        await refused(store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence }), 'SESSION_CONFLICT', 'fence');
      }
      const lease = await acquire(store, 'one');
      await refused(
        store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence: lease.fence + 1 }),
        'SESSION_CONFLICT',
        'fence',
      );
      assert.equal((await store.head('s')).seq, 0);
    },
  },
  {
    name: 'an append without a fence needs no lease (D51)',
    async check({ store }) {
      const lease = await acquire(store, 'one');
      await store.append('s', [note('from outside')], { id: 'a', expectedSeq: 0 });
      await store.append('s', [note('holder')], { id: 'b', expectedSeq: 1, fence: lease.fence });
      assert.deepEqual(await readNotes(store, 's'), ['from outside', 'holder']);
      assert.deepEqual(await store.readLease('s'), lease);
    },
  },
  {
    name: 'the holder of a deleted session can no longer write to it (I6)',
    async check({ store }) {
      const lease = await acquire(store, 'one');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence: lease.fence });
      assert.equal(await store.deleteSession('s'), true);
      assert.equal(await store.readLease('s'), undefined);
      const zombie = { id: 'b', expectedSeq: 0, fence: lease.fence };
      await refused(store.append('s', [note('zombie')], zombie), 'SESSION_CONFLICT', 'fence');
      await store.append('s', [note('anew')], { id: 'c', expectedSeq: 0 });
      await refused(store.append('s', [note('zombie')], { ...zombie, expectedSeq: 1 }), 'SESSION_CONFLICT', 'fence');
      assert.equal(await store.renewLease('s', lease.fence, TTL), false);
      assert.deepEqual(await readNotes(store, 's'), ['anew']);
    },
  },
  {
    name: 'a repeated append is recognised even if its fence became stale (D51)',
    async check({ store }) {
      const first = await acquire(store, 'one');
      const append = { id: 'a', expectedSeq: 0, fence: first.fence };
      await store.append('s', [note(1)], append);
      await acquire(store, 'two', { replacing: first });
      assert.deepEqual(await store.append('s', [note(1)], append), { seq: 1 });
      assert.deepEqual(await readNotes(store, 's'), [1]);
    },
  },
  {
    name: 'of many concurrent requests exactly one acquires the lease (I6)',
    async check({ store, reopen }) {
      const handles = reopen ? [store, await reopen()] : [store];
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          (handles[i % handles.length] ?? store).acquireLease('s', { holder: holder(`${i}`), ttlMs: TTL }),
        ),
      );
      const [winner, ...others] = outcomes.filter((outcome) => outcome.acquired);
      assert.equal(others.length, 0);
      for (const outcome of outcomes) assert.deepEqual(outcome.lease, winner?.lease);
    },
  },
  {
    name: 'a lease without a positive ttl is rejected',
    async check({ store }) {
      for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        await refused(store.acquireLease('s', { holder: holder('one'), ttlMs }), 'INVALID_ARGUMENT');
      }
      assert.equal(await store.readLease('s'), undefined);
    },
  },
];
