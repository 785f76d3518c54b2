import assert from 'node:assert/strict';
import { MAX_PROGRESS_LENGTH } from '../../core/log/progress.ts';
import type { DraftChunk, Store } from '../../ports/store.ts';
import { type Case, chunk, leaseOn, note, readNotes, refused } from './harness.ts';

/** The positions of a session's chunks, as `fence.n`. */
async function positions(store: Store, options?: Parameters<Store['readDraft']>[1]): Promise<readonly string[]> {
  return (await store.readDraft('s', options)).map(({ fence, n }) => `${fence}.${n}`);
}

/** Drafts: pieces of responses and of progress that are not in an event yet (D53, D62, D74). */
export const draftCases: readonly Case[] = [
  {
    name: 'draft chunks are read by fence and number, each once, as they were written (D53, D74)',
    async check({ store }) {
      const first = await leaseOn(store, 's');
      const { fence } = first;
      const chunks: readonly DraftChunk[] = [
        chunk(fence, 1, { kind: 'reasoning', conversationId: 'child', offset: 0, after: 12 }),
        chunk(fence, 2, { kind: 'tool-input', toolName: 'read_file', turn: 2, attempt: 3 }),
        chunk(fence, 3, { draftId: 'call', kind: 'progress' }),
        chunk(fence, 10),
      ];
      const [one, two, three, ten] = chunks as [DraftChunk, DraftChunk, DraftChunk, DraftChunk];
      await store.appendDraft('s', [ten, two], { fence });
      await store.appendDraft('s', [three, one], { fence });
      await store.appendDraft('s', [{ ...two, delta: 'a second delivery' }], { fence });
      await store.appendDraft('s', [], { fence });
      assert.deepEqual(await store.readDraft('s'), chunks);
      await store.releaseLease('s', fence);
      const second = await leaseOn(store, 's', 'two');
      const next = chunk(second.fence, 1);
      await store.appendDraft('s', [next], { fence: second.fence });
      assert.deepEqual(await store.readDraft('s'), [...chunks, next], 'older fences are read before newer ones');
      assert.deepEqual(await store.readDraft('t'), []);
    },
  },
  {
    name: 'drafts are read after a position, for one draft and up to a limit (D74)',
    async check({ store }) {
      const { fence: one } = await leaseOn(store, 's');
      const own = [1, 2, 3, 4].map((n) => chunk(one, n, { draftId: n % 2 === 0 ? 'even' : 'odd' }));
      await store.appendDraft('s', own, { fence: one });
      await store.releaseLease('s', one);
      const { fence: two } = await leaseOn(store, 's', 'two');
      await store.appendDraft('s', [chunk(two, 1, { draftId: 'odd' }), chunk(two, 2, { draftId: 'even' })], {
        fence: two,
      });
      const all = [`${one}.1`, `${one}.2`, `${one}.3`, `${one}.4`, `${two}.1`, `${two}.2`];
      assert.deepEqual(await positions(store), all);
      assert.deepEqual(await positions(store, { after: { fence: one, n: 2 } }), all.slice(2));
      assert.deepEqual(await positions(store, { after: { fence: one, n: 99 } }), all.slice(4));
      assert.deepEqual(await positions(store, { after: { fence: 0, n: 99 } }), all);
      assert.deepEqual(await positions(store, { after: { fence: two, n: 2 } }), []);
      assert.deepEqual(await positions(store, { limit: 3 }), all.slice(0, 3));
      assert.deepEqual(await positions(store, { limit: 0 }), []);
      assert.deepEqual(await positions(store, { draftId: 'even' }), [all[1], all[3], all[5]]);
      assert.deepEqual(await positions(store, { draftId: 'even', after: { fence: one, n: 2 }, limit: 1 }), [all[3]]);
      for (const limit of [-1, 0.5, Number.NaN]) await refused(store.readDraft('s', { limit }), 'INVALID_ARGUMENT');
      for (const after of [
        { fence: -1, n: 0 },
        { fence: 0, n: Number.NaN },
      ]) {
        await refused(store.readDraft('s', { after }), 'INVALID_ARGUMENT');
      }
    },
  },
  {
    name: 'a chunk may end in the middle of a character (D53)',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      await store.appendDraft('s', [chunk(fence, 1, { delta: 'a\ud83d' }), chunk(fence, 2, { delta: '\ude00b\0' })], {
        fence,
      });
      const chunks = await store.readDraft('s');
      assert.equal(chunks.map((each) => each.delta).join(''), 'a😀b\0');
    },
  },
  {
    name: 'a draft under a fence that is not the newest is SESSION_CONFLICT and changes nothing (I6)',
    async check({ store }) {
      await refused(store.appendDraft('s', [chunk(1, 1)], { fence: 1 }), 'SESSION_CONFLICT', 'fence');
      const first = await leaseOn(store, 's');
      await store.appendDraft('s', [chunk(first.fence, 1)], { fence: first.fence });
      await store.releaseLease('s', first.fence);
      const second = await leaseOn(store, 's', 'two');
      for (const fence of [first.fence, second.fence + 1]) {
        await refused(store.appendDraft('s', [chunk(fence, 9)], { fence }), 'SESSION_CONFLICT', 'fence');
      }
      assert.deepEqual(await positions(store), [`${first.fence}.1`]);
    },
  },
  {
    name: 'a chunk without a number, or with another fence than the write, is rejected (I10)',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      for (const wrong of [
        chunk(fence, 0),
        chunk(fence, 1.5),
        chunk(fence + 1, 1),
        chunk(fence - 1, 1),
        chunk(fence, 1, { draftId: '' }),
      ]) {
        await refused(store.appendDraft('s', [chunk(fence, 7), wrong], { fence }), 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await store.readDraft('s'), []);
    },
  },
  {
    name: 'an append ends the drafts that it names in the same transaction, and no others (D53)',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      const [ended, other] = [chunk(fence, 1), chunk(fence, 2, { draftId: 'other' })];
      await store.appendDraft('s', [ended, other, chunk(fence, 3)], { fence });
      const end = { id: 'b', endsDrafts: ['e', 'unknown'] };
      await refused(store.append('s', [note('no')], { ...end, expectedSeq: 0 }), 'SESSION_CONFLICT', 'sequence');
      await refused(store.append('s', [note('no')], { ...end, expectedSeq: 1, fence: fence + 1 }), 'SESSION_CONFLICT');
      await refused(store.append('s', [note(10n)], { ...end, expectedSeq: 1 }), 'EVENT_INVALID');
      assert.equal((await store.readDraft('s')).length, 3, 'a rejected append ends no draft');
      await store.append('s', [note(2)], { ...end, expectedSeq: 1 });
      assert.deepEqual(await store.readDraft('s'), [other]);
      // A repeated append writes nothing: the draft of a later attempt stays.
      await store.appendDraft('s', [chunk(fence, 4)], { fence });
      assert.deepEqual(await store.append('s', [note(2)], { ...end, expectedSeq: 1 }), { seq: 2 });
      assert.deepEqual(await positions(store), [`${fence}.2`, `${fence}.4`]);
      assert.deepEqual(await readNotes(store, 's'), [1, 2]);
    },
  },
  {
    name: "the newest 64 kB of a call's progress are stored, and all of a response (D62)",
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      const delta = 'x'.repeat(MAX_PROGRESS_LENGTH / 4);
      const progress = (n: number, draftId: string): DraftChunk =>
        chunk(fence, n, { draftId, kind: 'progress', delta });
      for (let n = 1; n <= 12; n++) {
        await store.appendDraft('s', [progress(2 * n, 'call'), chunk(fence, 2 * n + 1, { draftId: 'e', delta })], {
          fence,
        });
      }
      await store.appendDraft('s', [progress(100, 'other')], { fence });
      const kept = async (draftId: string) => (await store.readDraft('s', { draftId })).map(({ n }) => n);
      assert.deepEqual(await kept('call'), [18, 20, 22, 24]);
      assert.deepEqual(await kept('other'), [100]);
      assert.equal((await kept('e')).length, 12);
      // The newest chunk is always stored, even if it exceeds the limit.
      const long = { ...progress(101, 'call'), delta: 'y'.repeat(2 * MAX_PROGRESS_LENGTH) };
      await store.appendDraft('s', [long], { fence });
      assert.deepEqual(await store.readDraft('s', { draftId: 'call' }), [long]);
    },
  },
  {
    name: 'a draft or a lease does not create a session',
    async check({ store }) {
      const { fence } = await leaseOn(store, 's');
      await store.appendDraft('s', [chunk(fence, 1)], { fence });
      assert.equal((await store.head('s')).seq, 0);
      assert.deepEqual((await store.listSessions()).sessions, []);
      assert.equal(await store.deleteSession('s'), false);
      assert.deepEqual(await store.readDraft('s'), []);
      assert.equal(await store.readLease('s'), undefined);
    },
  },
];
