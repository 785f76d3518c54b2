import assert from 'node:assert/strict';
import { isHoldfastError } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { Store } from '../../ports/store.ts';
import { assertHits, type Case, chunk, leaseOn, message, note, readAll, readNotes, refused } from './harness.ts';

const AT = '2026-01-01T00:00:00.000Z';
/** Long enough that a store that copies in batches needs several. */
const LONG = 5000;

function described(fields: object): NewEvent {
  return { type: 'session/described', at: AT, ...fields } as NewEvent;
}

function numbers(count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, i) => note(i + 1));
}

/** Expects that the target is complete or does not exist. */
async function assertWhole(store: Store, target: string, length: number): Promise<void> {
  const { seq } = await store.head(target);
  assert.ok(seq === 0 || seq === length, `a fork of ${length} events shows ${seq}`);
  const events = await readAll(store, target);
  assert.ok(events.length === 0 || events.length === length, `a fork of ${length} events yields ${events.length}`);
  const { sessions } = await store.listSessions({ limit: 1000 });
  const listed = sessions.filter((session) => session.id === target).map((session) => session.seq);
  assert.deepEqual(
    listed.filter((each) => each !== length),
    [],
  );
  assert.ok(
    sessions.every((session) => ['s', 'fork'].includes(session.id)),
    `a fork is listed as ${sessions.map((session) => session.id)}`,
  );
}

export const forkCases: readonly Case[] = [
  {
    name: 'a fork has the first events of its origin, their contents and its own events; the origin does not change',
    async check({ store }) {
      await store.append('s', [described({ title: 'T', tags: ['x'], metadata: { a: 1 } }), message('needle')], {
        id: 'a',
        expectedSeq: 0,
        contents: [{ event: 1, hash: 'sha256:x', text: 'content' }],
      });
      await store.append('s', [message('not in the fork')], {
        id: 'b',
        expectedSeq: 2,
        contents: [{ event: 0, hash: 'sha256:late', text: 'late' }],
      });
      const before = await readAll(store, 's');
      const closing = [described({ title: 'F' }), note('end')];
      assert.deepEqual(await store.forkSession('s', 'fork', { at: 2, events: closing }), { seq: 4 });
      assert.deepEqual(await readAll(store, 'fork'), [
        ...before.slice(0, 2),
        ...closing.map((event, i) => ({ ...event, seq: i + 3 })),
      ]);
      assert.deepEqual(await readAll(store, 's'), before);
      assert.deepEqual(await store.head('fork'), { incarnation: 1, seq: 4, revision: 0 });
      assert.equal(await store.readContent('fork', 'sha256:x'), 'content');
      assert.equal(await store.readContent('fork', 'sha256:late'), undefined);
      const { sessions } = await store.listSessions({ idPrefix: 'fork' });
      assert.deepEqual(
        sessions.map(({ title, tags, metadata, seq }) => ({ title, tags, metadata, seq })),
        [{ title: 'F', tags: ['x'], metadata: { a: 1 }, seq: 4 }],
      );
      await assertHits(store, 'needle', 2);
      assert.deepEqual(await store.append('fork', [note('on')], { id: 'c', expectedSeq: 4 }), { seq: 5 });
      assert.equal((await store.head('s')).seq, 3);
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'a fork has neither drafts, lease, snapshot nor contents of calls of its origin (D77)',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      await store.append('s', [note(1)], {
        id: 'a',
        expectedSeq: 0,
        callContents: { put: [{ call: 'c', text: 'exact' }] },
      });
      await store.appendDraft('s', [chunk(fence, 1)], { fence });
      await store.writeSnapshot('s', { seq: 1, data: '{}' });
      await store.forkSession('s', 'fork', { at: 1, events: [note(2)] });
      assert.deepEqual(await store.readDraft('fork'), []);
      assert.equal(await store.readLease('fork'), undefined);
      assert.equal(await store.readSnapshot('fork'), undefined);
      assert.equal(await store.readCallContent('fork', 'c'), undefined);
      await refused(
        store.append('fork', [note('zombie')], { id: 'b', expectedSeq: 2, fence }),
        'SESSION_CONFLICT',
        'fence',
      );
    },
  },
  {
    name: 'a fork starts at revision 0 and has none of the append ids of its origin (D51)',
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      await store.append('s', [note(2)], { id: 'b', expectedSeq: 1 });
      await store.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent);
      await store.forkSession('s', 'fork', { at: 2, events: [note(3)] });
      assert.deepEqual(await store.head('fork'), { incarnation: 1, seq: 3, revision: 0 });
      await refused(store.append('fork', [note(2)], { id: 'b', expectedSeq: 1 }), 'SESSION_CONFLICT', 'sequence');
      assert.deepEqual(await store.append('fork', [note(4)], { id: 'b', expectedSeq: 3 }), { seq: 4 });
      assert.deepEqual(await readNotes(store, 'fork'), ['erased', 2, 3, 4]);
    },
  },
  {
    name: 'a fork keeps its contents when its origin is deleted or erased afterwards (D58)',
    async check({ store }) {
      const contents = [{ event: 0, hash: 'sha256:x', text: 'content' }];
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, contents });
      await store.forkSession('s', 'one', { at: 1, events: [note(2)] });
      await store.forkSession('one', 'two', { at: 2, events: [note(3)] });
      await store.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent);
      await store.deleteSession('s');
      await store.deleteSession('one');
      assert.equal(await store.readContent('two', 'sha256:x'), 'content');
      await store.replaceEvent('two', { ...note('erased'), seq: 1 } as SessionEvent);
      assert.equal(await store.readContent('two', 'sha256:x'), undefined);
      assert.deepEqual(await readNotes(store, 'two'), ['erased', 2, 3]);
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'a fork at a position that its origin does not have, of no session, or without events is rejected and leaves nothing',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      await leaseOn(store, 'leased');
      for (const at of [0, -1, 1.5, 3, Number.NaN]) {
        await refused(store.forkSession('s', 'fork', { at, events: [note(3)] }), 'INVALID_ARGUMENT');
      }
      await refused(store.forkSession('s', 'fork', { at: 1, events: [] }), 'INVALID_ARGUMENT');
      await refused(store.forkSession('s', '', { at: 1, events: [note(3)] }), 'INVALID_ARGUMENT');
      for (const origin of ['nobody', 'leased']) {
        await refused(store.forkSession(origin, 'fork', { at: 1, events: [note(3)] }), 'SESSION_NOT_FOUND');
      }
      await refused(store.forkSession('s', 'fork', { at: 1, events: [note(10n)] }), 'EVENT_INVALID');
      const { lease } = await store.acquireLease('fork', {
        holder: { id: 'h', host: 'h', pid: 1, startedAt: '' },
        ttlMs: 1000,
      });
      await refused(store.forkSession('s', 'fork', { at: 1, events: [note(3), note(10n)] }), 'EVENT_INVALID');
      assert.deepEqual(await store.readLease('fork'), lease, 'a rejected fork does not change its target');
      assert.equal((await store.head('fork')).seq, 0);
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 1, events: 2 });
    },
  },
  {
    name: 'a target that exists is SESSION_CONFLICT and does not change; one that only has a lease keeps its incarnation',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      await store.append('there', [note('there')], { id: 'a', expectedSeq: 0 });
      for (const target of ['there', 's']) {
        await refused(store.forkSession('s', target, { at: 1, events: [note(3)] }), 'SESSION_CONFLICT');
      }
      assert.deepEqual(await readNotes(store, 'there'), ['there']);
      assert.deepEqual(await readNotes(store, 's'), [1, 2]);
      const { fence } = await leaseOn(store, 'leased');
      const { incarnation } = await store.head('leased');
      await store.forkSession('s', 'leased', { at: 1, events: [note(3)] });
      assert.deepEqual(await readNotes(store, 'leased'), [1, 3]);
      assert.equal((await store.head('leased')).incarnation, incarnation, 'the fork has the incarnation of the lease');
      assert.equal(await store.readLease('leased'), undefined);
      await refused(
        store.append('leased', [note('zombie')], { id: 'b', expectedSeq: 2, fence }),
        'SESSION_CONFLICT',
        'fence',
      );
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'a fork under the id of a deleted session has a new incarnation',
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      await store.append('fork', [note('old')], { id: 'a', expectedSeq: 0, incarnation: 1 });
      await store.deleteSession('fork');
      await store.forkSession('s', 'fork', { at: 1, events: [note(2)] });
      assert.equal((await store.head('fork')).incarnation, 2);
      await refused(
        store.append('fork', [note('late')], { id: 'b', expectedSeq: 2, incarnation: 1 }),
        'SESSION_NOT_FOUND',
      );
      await store.append('fork', [note(3)], { id: 'b', expectedSeq: 2, incarnation: 2 });
      assert.deepEqual(await readNotes(store, 'fork'), [1, 2, 3]);
    },
  },
  {
    name: 'a fork is complete or does not exist: no reader sees half of it',
    async check({ store, reopen }) {
      const reader = (await reopen?.()) ?? store;
      await store.append('s', numbers(LONG), { id: 'a', expectedSeq: 0 });
      let forking = true;
      const forked = store.forkSession('s', 'fork', { at: LONG, events: [note('end')] }).finally(() => {
        forking = false;
      });
      forked.catch(() => {}); // awaited below, unless an assertion fails first
      while (forking) {
        await assertWhole(reader, 'fork', LONG + 1);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.deepEqual(await forked, { seq: LONG + 1 });
      assert.equal((await readAll(reader, 'fork')).length, LONG + 1);
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 2, events: 2 * LONG + 1 });
    },
  },
  {
    name: 'a fork whose origin is erased or appended to meanwhile is complete and has no erased text',
    async check({ store, reopen }) {
      const eraser = (await reopen?.()) ?? store;
      await store.append('s', [note('secret'), ...numbers(LONG).slice(1)], {
        id: 'a',
        expectedSeq: 0,
        contents: [{ event: 0, hash: 'sha256:secret', text: 'secret' }],
      });
      const forked = store.forkSession('s', 'fork', { at: LONG, events: [note('end')] });
      forked.catch(() => {}); // awaited below, unless an assertion fails first
      await new Promise((resolve) => setImmediate(resolve));
      await eraser.append('s', [note('meanwhile')], { id: 'b', expectedSeq: LONG });
      await eraser.replaceEvent('s', { ...note('erased'), seq: 1 } as SessionEvent);
      const early = (await store.head('fork')).seq > 0;
      assert.deepEqual(await forked, { seq: LONG + 1 });
      const notes = await readNotes(store, 'fork');
      assert.equal(notes.length, LONG + 1);
      // A fork that was complete before the erasure is another session, with its own copy.
      const isErased = notes[0] === 'erased';
      if (!early) assert.ok(isErased, 'a fork that completes after the erasure has no erased text');
      assert.equal(await store.readContent('fork', 'sha256:secret'), isErased ? undefined : 'secret');
      assert.equal(await store.readContent('s', 'sha256:secret'), undefined);
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'a fork whose origin is deleted meanwhile is complete, or SESSION_NOT_FOUND and leaves nothing',
    async check({ store, reopen }) {
      const deleter = (await reopen?.()) ?? store;
      await store.append('s', numbers(LONG), {
        id: 'a',
        expectedSeq: 0,
        contents: [{ event: 0, hash: 'sha256:x', text: 'content' }],
      });
      const forked = store
        .forkSession('s', 'fork', { at: LONG, events: [note('end')] })
        .catch((error: unknown) => error);
      await new Promise((resolve) => setImmediate(resolve));
      await deleter.deleteSession('s');
      const outcome = await forked;
      const gone = isHoldfastError(outcome, 'SESSION_NOT_FOUND');
      if (!gone) assert.deepEqual(outcome, { seq: LONG + 1 });
      assert.equal((await readAll(store, 'fork')).length, gone ? 0 : LONG + 1);
      assert.equal(await store.readContent('fork', 'sha256:x'), gone ? undefined : 'content');
      const left = { sessions: gone ? 0 : 1, events: gone ? 0 : LONG + 1 };
      assert.deepEqual(await store.check(), { ok: true, problems: [], ...left });
    },
  },
  {
    name: 'of two forks into one target exactly one succeeds',
    async check({ store, reopen }) {
      const other = (await reopen?.()) ?? store;
      await store.append('s', numbers(LONG), { id: 'a', expectedSeq: 0 });
      const outcomes = await Promise.allSettled([
        store.forkSession('s', 'fork', { at: LONG, events: [note('one')] }),
        other.forkSession('s', 'fork', { at: LONG - 1, events: [note('two')] }),
      ]);
      const refusals = outcomes.filter((outcome) => outcome.status === 'rejected');
      assert.equal(refusals.length, 1);
      assert.equal(isHoldfastError(refusals[0]?.reason, 'SESSION_CONFLICT'), true);
      const notes = await readNotes(store, 'fork');
      assert.equal(notes.length, notes.at(-1) === 'one' ? LONG + 1 : LONG);
      assert.ok((await store.check()).ok);
    },
  },
];
