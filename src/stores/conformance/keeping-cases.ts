import assert from 'node:assert/strict';
import type { DraftChunk } from '../../ports/store.ts';
import { type Case, note, readNotes, refused } from './harness.ts';

function chunk(turn: number, attempt: number, n: number, delta = `${turn}.${attempt}.${n}`): DraftChunk {
  return { evaluationId: 'e', turn, attempt, n, blockId: 'b', delta };
}

/** What lies around a log: snapshots, drafts and contents. */
export const keepingCases: readonly Case[] = [
  {
    name: 'the newest snapshot is kept; an older one changes nothing',
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
    name: 'a snapshot beyond its log is refused: it would bring back what was deleted (I10)',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      await refused(store.writeSnapshot('s', { seq: 3, data: '{}' }), 'INVALID_ARGUMENT');
      await refused(store.writeSnapshot('nobody', { seq: 1, data: '{}' }), 'INVALID_ARGUMENT');
      await refused(store.writeSnapshot('s', { seq: -1, data: '{}' }), 'INVALID_ARGUMENT');
      await store.writeSnapshot('s', { seq: 0, data: '{}' });
      assert.equal(await store.readSnapshot('s'), undefined, 'an empty log needs no snapshot');
      assert.equal(await store.readSnapshot('nobody'), undefined);
    },
  },
  {
    name: 'draft chunks are read by turn, attempt and number, each of them once (D53)',
    async check({ store }) {
      await store.appendDraft('s', [chunk(2, 1, 1), chunk(1, 2, 1)]);
      await store.appendDraft('s', [chunk(1, 1, 10), chunk(1, 1, 9), chunk(1, 1, 2)]);
      await store.appendDraft('s', [chunk(1, 1, 2, 'a second delivery')]);
      await store.appendDraft('s', []);
      await store.appendDraft('s', [{ ...chunk(1, 1, 1), evaluationId: 'other' }]);
      assert.deepEqual(await store.readDraft('s', 'e'), [
        chunk(1, 1, 2),
        chunk(1, 1, 9),
        chunk(1, 1, 10),
        chunk(1, 2, 1),
        chunk(2, 1, 1),
      ]);
      assert.deepEqual(await store.readDraft('t', 'e'), []);
    },
  },
  {
    name: 'a chunk says what it is a piece of, if it knows (D53)',
    async check({ store }) {
      const chunks: readonly DraftChunk[] = [
        { ...chunk(1, 1, 1), kind: 'reasoning' },
        { ...chunk(1, 1, 2), kind: 'tool-input', toolName: 'read_file' },
        chunk(1, 1, 3),
      ];
      await store.appendDraft('s', chunks);
      assert.deepEqual(await store.readDraft('s', 'e'), chunks);
    },
  },
  {
    name: 'a chunk may end in the middle of a character (D53)',
    async check({ store }) {
      await store.appendDraft('s', [chunk(1, 1, 1, 'a\ud83d'), chunk(1, 1, 2, '\ude00b\0')]);
      const chunks = await store.readDraft('s', 'e');
      assert.equal(chunks.map((each) => each.delta).join(''), 'a😀b\0');
    },
  },
  {
    name: 'deleting a draft leaves the others, and the log',
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      await store.appendDraft('s', [chunk(1, 1, 1), { ...chunk(1, 1, 1), evaluationId: 'other' }]);
      await store.deleteDraft('s', 'e');
      await store.deleteDraft('s', 'unknown');
      await store.deleteDraft('nobody', 'e');
      assert.deepEqual(await store.readDraft('s', 'e'), []);
      assert.equal((await store.readDraft('s', 'other')).length, 1);
      assert.deepEqual(await readNotes(store, 's'), [1]);
    },
  },
  {
    name: 'a draft, a content or a lease makes no session',
    async check({ store }) {
      await store.appendDraft('s', [chunk(1, 1, 1)]);
      await store.writeContent('s', 'sha256:1', 'text');
      assert.equal(await store.head('s'), 0);
      assert.deepEqual((await store.listSessions()).sessions, []);
      assert.equal(await store.deleteSession('s'), false);
      assert.deepEqual(await store.readDraft('s', 'e'), []);
      assert.equal(await store.readContent('sha256:1'), undefined);
    },
  },
  {
    name: 'a content comes back exactly; writing it again changes nothing (D58)',
    async check({ store }) {
      const large = `half a pair \ud83d and \0 ${'ä😀\n'.repeat(400_000)}`;
      await store.writeContent('s', 'sha256:large', large);
      await store.writeContent('s', 'sha256:large', 'something else');
      await store.writeContent('s', 'sha256:empty', '');
      assert.equal((await store.readContent('sha256:large')) === large, true);
      assert.equal(await store.readContent('sha256:empty'), '');
      assert.equal(await store.readContent('sha256:unknown'), undefined);
    },
  },
  {
    name: 'a content stays while any session refers to it (D58)',
    async check({ store }) {
      for (const id of ['s', 't']) {
        await store.append(id, [note(1)], { id: 'a', expectedSeq: 0 });
        await store.writeContent(id, 'sha256:shared', 'shared');
      }
      await store.writeContent('s', 'sha256:own', 'own');
      await store.deleteSession('s');
      assert.equal(await store.readContent('sha256:own'), undefined);
      assert.equal(await store.readContent('sha256:shared'), 'shared');
      await store.deleteSession('t');
      assert.equal(await store.readContent('sha256:shared'), undefined);
    },
  },
];
