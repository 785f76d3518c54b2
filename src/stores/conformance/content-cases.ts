import assert from 'node:assert/strict';
import type { SessionEvent } from '../../core/log/events.ts';
import type { ContentWrite, Store } from '../../ports/store.ts';
import { type Case, leaseOn, note, readNotes, refused } from './harness.ts';

const SHARED: ContentWrite = { event: 0, hash: 'sha256:shared', text: 'shared' };

function erased(seq: number): SessionEvent {
  return { ...note('erased'), seq } as SessionEvent;
}

/** Appends one event that refers to contents. */
async function begin(store: Store, sessionId: string, ...contents: readonly ContentWrite[]): Promise<void> {
  await store.append(sessionId, [note(sessionId)], { id: 'a', expectedSeq: 0, contents });
}

/** External contents: of events, by hash (D58), and of calls (D77). */
export const contentCases: readonly Case[] = [
  {
    name: 'a content is read exactly as it was stored, and storing it again changes nothing (D58)',
    async check({ store }) {
      const large = `half a pair \ud83d and \0 ${'ä😀\n'.repeat(400_000)}`;
      await begin(
        store,
        's',
        { event: 0, hash: 'sha256:large', text: large },
        { event: 0, hash: 'sha256:empty', text: '' },
      );
      await store.append('s', [note(2)], {
        id: 'b',
        expectedSeq: 1,
        contents: [{ event: 0, hash: 'sha256:large', text: 'something else' }],
      });
      assert.equal((await store.readContent('s', 'sha256:large')) === large, true);
      assert.equal(await store.readContent('s', 'sha256:empty'), '');
      assert.equal(await store.readContent('s', 'sha256:unknown'), undefined);
      assert.equal(await store.readContent('nobody', 'sha256:large'), undefined);
    },
  },
  {
    name: 'a rejected append stores none of its contents, events or contents of calls (I1)',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      await begin(store, 's');
      const beside = { contents: [SHARED], callContents: { put: [{ call: 'c', text: 'exact' }] } };
      const refusals: readonly (readonly [
        Parameters<Store['append']>[2],
        unknown,
        'SESSION_CONFLICT' | 'EVENT_INVALID',
      ])[] = [
        [{ id: 'b', expectedSeq: 0, ...beside }, 1, 'SESSION_CONFLICT'],
        [{ id: 'b', expectedSeq: 1, fence: fence + 1, ...beside }, 1, 'SESSION_CONFLICT'],
        [{ id: 'b', expectedSeq: 1, ...beside }, 10n, 'EVENT_INVALID'],
      ];
      for (const [options, text, code] of refusals) {
        await refused(store.append('s', [note(text)], options), code);
        assert.equal(await store.readContent('s', SHARED.hash), undefined);
        assert.equal(await store.readCallContent('s', 'c'), undefined);
      }
      // No other text remains stored under this hash.
      await store.append('s', [note(2)], { id: 'b', expectedSeq: 1, contents: [{ ...SHARED, text: 'the first' }] });
      assert.equal(await store.readContent('s', SHARED.hash), 'the first');
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 1, events: 2 });
    },
  },
  {
    name: 'a content that belongs to no event of its append is rejected (I10)',
    async check({ store }) {
      for (const event of [1, -1, 0.5, Number.NaN]) {
        await refused(begin(store, 's', { ...SHARED, event }), 'INVALID_ARGUMENT');
      }
      await refused(begin(store, 's', { ...SHARED, hash: '' }), 'INVALID_ARGUMENT');
      await refused(
        store.append('s', [note(1)], {
          id: 'a',
          expectedSeq: 0,
          callContents: { put: [{ call: '', text: 'x' }] },
        }),
        'INVALID_ARGUMENT',
      );
      assert.equal((await store.head('s')).seq, 0);
    },
  },
  {
    name: 'a content is read only through a session that refers to it (D58)',
    async check({ store }) {
      await begin(store, 's', SHARED);
      // The event contains the hash as text, as a tool's result may, and owns no reference.
      await store.append('t', [note(SHARED.hash)], { id: 'a', expectedSeq: 0 });
      assert.equal(await store.readContent('s', SHARED.hash), 'shared');
      assert.equal(await store.readContent('t', SHARED.hash), undefined);
      assert.equal(await store.readContent('nobody', SHARED.hash), undefined);
      assert.ok((await store.check()).ok, 'text that looks like a hash is only text');
    },
  },
  {
    name: 'a content is stored while an event of any session refers to it, and removed with its last reference (D58)',
    async check({ store }) {
      const own: ContentWrite = { event: 0, hash: 'sha256:own', text: 'own' };
      await begin(store, 's', SHARED, own);
      await begin(store, 't', SHARED);
      await store.append('t', [note(2), note(3)], { id: 'b', expectedSeq: 1, contents: [{ ...SHARED, event: 1 }] });
      await store.deleteSession('s');
      assert.equal(await store.readContent('t', SHARED.hash), 'shared');
      await store.replaceEvent('t', erased(1));
      assert.equal(await store.readContent('t', SHARED.hash), 'shared', 'event 3 still refers to it');
      await store.replaceEvent('t', erased(3));
      assert.equal(await store.readContent('t', SHARED.hash), undefined);
      // The store has neither any more: another text is stored under the same hash.
      await begin(store, 'u', { ...SHARED, text: 'other' }, { ...own, text: 'other' });
      assert.equal(await store.readContent('u', SHARED.hash), 'other');
      assert.equal(await store.readContent('u', own.hash), 'other');
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'a replaced event keeps only the references that the caller names (D58)',
    async check({ store }) {
      const [kept, dropped] = ['sha256:kept', 'sha256:dropped'];
      await begin(store, 's', { event: 0, hash: kept, text: 'kept' }, { event: 0, hash: dropped, text: 'dropped' });
      await begin(store, 't', { event: 0, hash: 'sha256:other', text: 'other' });
      await store.replaceEvent('s', erased(1), { contents: [kept, 'sha256:other', 'sha256:unknown'] });
      assert.equal(await store.readContent('s', kept), 'kept');
      assert.equal(await store.readContent('s', dropped), undefined);
      assert.equal(await store.readContent('s', 'sha256:other'), undefined, 'replacing adds no reference');
      await store.replaceEvent('s', erased(1));
      assert.equal(await store.readContent('s', kept), undefined);
      assert.equal(await store.readContent('t', 'sha256:other'), 'other');
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'a repeated append does not store an erased content again (D51, D58)',
    async check({ store }) {
      await begin(store, 's', SHARED);
      await store.append('s', [note(2)], {
        id: 'b',
        expectedSeq: 1,
        callContents: { put: [{ call: 'c', text: '1' }] },
      });
      await store.append('s', [note(3)], { id: 'c', expectedSeq: 2, callContents: { drop: ['c'] } });
      const again = { id: 'b', expectedSeq: 1, contents: [SHARED], callContents: { put: [{ call: 'c', text: '2' }] } };
      assert.deepEqual(await store.append('s', [note(2)], again), { seq: 2 });
      assert.equal(await store.readCallContent('s', 'c'), undefined);
      await store.replaceEvent('s', erased(1));
      assert.equal(await store.readContent('s', SHARED.hash), undefined);
    },
  },
  {
    name: 'erasing one reference while other appends store the same content loses nothing (D58)',
    async check({ store, reopen }) {
      const other = (await reopen?.()) ?? store;
      for (let round = 0; round < 12; round++) {
        const [eraser, recorder] = [`e${round}`, `r${round}`];
        await begin(store, eraser, SHARED);
        await Promise.all([store.replaceEvent(eraser, erased(1)), begin(other, recorder, SHARED)]);
        assert.equal(await store.readContent(recorder, SHARED.hash), 'shared');
        assert.equal(await store.readContent(eraser, SHARED.hash), undefined);
        await Promise.all([store.deleteSession(recorder), begin(other, eraser + recorder, SHARED)]);
        assert.equal(await store.readContent(eraser + recorder, SHARED.hash), 'shared');
        await store.deleteSession(eraser + recorder);
      }
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'appends store, replace and drop the contents of calls, for their own session only (D77)',
    async check({ store }) {
      const text = `half a pair \ud83d and \0 ${'ä😀'.repeat(100_000)}`;
      const append = (id: string, expectedSeq: number, callContents: object) =>
        store.append('s', [note(id)], { id, expectedSeq, callContents });
      await append('a', 0, {
        put: [
          { call: 'one', text },
          { call: 'two', text: 'second' },
        ],
      });
      assert.equal((await store.readCallContent('s', 'one')) === text, true);
      assert.equal(await store.readCallContent('s', 'two'), 'second');
      assert.equal(await store.readCallContent('s', 'three'), undefined);
      assert.equal(await store.readCallContent('t', 'one'), undefined);
      assert.equal(await store.readContent('s', 'one'), undefined, 'a call has no hash');
      await append('b', 1, { put: [{ call: 'two', text: 'changed' }], drop: ['one', 'unknown'] });
      assert.equal(await store.readCallContent('s', 'one'), undefined);
      assert.equal(await store.readCallContent('s', 'two'), 'changed');
      assert.deepEqual(await readNotes(store, 's'), ['a', 'b']);
      await store.deleteSession('s');
      await store.append('s', [note('anew')], { id: 'a', expectedSeq: 0 });
      assert.equal(await store.readCallContent('s', 'two'), undefined);
    },
  },
  {
    name: 'an append that stores and drops the content of one call leaves none: it stores first (D77)',
    async check({ store }) {
      const callContents = { put: [{ call: 'c', text: 'exact' }], drop: ['c'] };
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, callContents });
      assert.equal(await store.readCallContent('s', 'c'), undefined);
      const put = [
        { call: 'c', text: 'first' },
        { call: 'c', text: 'second' },
      ];
      await store.append('s', [note(2)], { id: 'b', expectedSeq: 1, callContents: { put } });
      assert.equal(await store.readCallContent('s', 'c'), 'second');
      await store.append('s', [note(3)], { id: 'c', expectedSeq: 2, callContents });
      assert.equal(await store.readCallContent('s', 'c'), undefined);
    },
  },
  {
    name: 'a content that the store lost is CONTENT_NOT_FOUND, and the integrity check names it (D58)',
    needs: ['loseContent'],
    async check({ store, loseContent }) {
      await begin(store, 's', SHARED);
      await begin(store, 't');
      assert.ok((await store.check()).ok);
      await loseContent?.(SHARED.hash);
      await refused(store.readContent('s', SHARED.hash), 'CONTENT_NOT_FOUND');
      assert.equal(
        await store.readContent('t', SHARED.hash),
        undefined,
        'a session without a reference is not affected',
      );
      const { ok, problems, sessions, events } = await store.check();
      assert.deepEqual({ ok, sessions, events }, { ok: false, sessions: 2, events: 2 });
      assert.ok(
        problems.some((problem) => problem.includes(SHARED.hash)),
        `the check names the lost content: ${problems.join('; ')}`,
      );
    },
  },
];
