import assert from 'node:assert/strict';
import type { NewEvent, SessionEvent } from '../../core/events.ts';
import type { ListSessionsOptions, Store } from '../../ports/store.ts';
import { type Case, holder, note, readAll, readNotes, refused, said } from './harness.ts';

const AT = '2026-01-01T00:00:00.000Z';

function described(fields: Readonly<Record<string, unknown>>, at = AT): NewEvent {
  return { type: 'session/described', at, ...fields } as NewEvent;
}

function evaluation(what: string, fields: Readonly<Record<string, unknown>> = {}): NewEvent {
  return { type: `evaluation/${what}`, at: AT, evaluationId: 'e', ...fields } as unknown as NewEvent;
}

async function list(store: Store, options: ListSessionsOptions = {}): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listSessions({ ...options, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.sessions.map((session) => session.id));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

export const sessionCases: readonly Case[] = [
  {
    name: 'a listed session shows what its log says of it',
    async check({ store }) {
      await store.append('s', [described({ title: 'A', tags: ['x'], metadata: { a: 1, b: 2 } })], {
        id: 'a',
        expectedSeq: 0,
      });
      await store.append(
        's',
        [described({ metadata: { b: null, c: { d: [3] } } }), evaluation('started', { conversationId: 'main' })],
        {
          id: 'b',
          expectedSeq: 1,
        },
      );
      await store.append(
        's',
        [note(1, '2026-01-02T00:00:00.000Z'), evaluation('completed', { at: '2026-01-03T00:00:00.000Z' })],
        {
          id: 'c',
          expectedSeq: 3,
        },
      );
      assert.deepEqual(await store.listSessions(), {
        sessions: [
          {
            id: 's',
            seq: 5,
            title: 'A',
            tags: ['x'],
            metadata: { a: 1, c: { d: [3] } },
            createdAt: AT,
            updatedAt: '2026-01-03T00:00:00.000Z',
            status: 'completed',
            evaluationId: 'e',
          },
        ],
      });
    },
  },
  {
    name: 'sessions are listed newest first, in pages that neither skip nor repeat one',
    async check({ store }) {
      const expected: string[] = [];
      for (let i = 0; i < 23; i++) {
        // Several sessions share a time.
        const at = new Date(Date.UTC(2026, 0, 1) + Math.floor(i / 4) * 1000).toISOString();
        await store.append(`s${String(i).padStart(2, '0')}`, [note(i, at)], { id: 'a', expectedSeq: 0 });
      }
      for (let group = 5; group >= 0; group--) {
        for (let i = group * 4; i < Math.min(23, group * 4 + 4); i++) expected.push(`s${String(i).padStart(2, '0')}`);
      }
      for (const limit of [1, 2, 4, 22, 23, 24, 100]) assert.deepEqual(await list(store, { limit }), expected);
      assert.equal((await store.listSessions({ limit: 23 })).next, undefined, 'no page follows the last session');
      assert.deepEqual(
        (await store.listSessions({ limit: 2 })).sessions.map((session) => session.id),
        expected.slice(0, 2),
      );
    },
  },
  {
    name: 'a session that is written to between two pages moves to the front; no other is lost or shown twice',
    async check({ store }) {
      for (let i = 0; i < 6; i++) {
        await store.append(`s${i}`, [note(i, `2026-01-0${i + 1}T00:00:00.000Z`)], { id: 'a', expectedSeq: 0 });
      }
      const first = await store.listSessions({ limit: 2 });
      await store.append('s0', [note('again', '2026-02-01T00:00:00.000Z')], { id: 'b', expectedSeq: 1 });
      const rest = await list(store, { limit: 2, ...(first.next !== undefined && { cursor: first.next }) });
      assert.deepEqual([...first.sessions.map((session) => session.id), ...rest], ['s5', 's4', 's3', 's2', 's1']);
      assert.equal((await list(store))[0], 's0');
    },
  },
  {
    name: 'filters combine: tags, status, the beginning of an id, metadata',
    async check({ store }) {
      const sessions: Readonly<Record<string, readonly NewEvent[]>> = {
        'a/1': [described({ tags: ['x', 'y'], metadata: { user: 1, deep: { b: 2, a: 1 } } })],
        'a/2': [described({ tags: ['x'], metadata: { user: 2 } }), evaluation('started', { conversationId: 'main' })],
        'b/1': [described({ tags: ['y'], metadata: JSON.parse('{"__proto__": 1, "user": "1"}') })],
        'a%': [note(1)],
      };
      for (const [id, events] of Object.entries(sessions)) await store.append(id, events, { id: 'a', expectedSeq: 0 });
      const expectations: readonly (readonly [ListSessionsOptions, readonly string[]])[] = [
        [{}, ['a%', 'a/1', 'a/2', 'b/1']],
        [{ tags: ['x'] }, ['a/1', 'a/2']],
        [{ tags: ['x', 'y'] }, ['a/1']],
        [{ tags: ['z'] }, []],
        [{ status: 'running' }, ['a/2']],
        [{ idPrefix: 'a/' }, ['a/1', 'a/2']],
        [{ idPrefix: 'a%' }, ['a%']],
        [{ idPrefix: '' }, ['a%', 'a/1', 'a/2', 'b/1']],
        [{ metadata: { user: 1 } }, ['a/1']],
        [{ metadata: { user: '1' } }, ['b/1']],
        [{ metadata: { deep: { a: 1, b: 2 } } }, ['a/1']],
        [{ metadata: { toString: 1 } }, []],
        [{ metadata: JSON.parse('{"__proto__": 1}') }, ['b/1']],
        [{ tags: ['x'], metadata: { user: 2 }, status: 'running', idPrefix: 'a' }, ['a/2']],
      ];
      for (const [filter, expected] of expectations) {
        for (const limit of [1, 50]) assert.deepEqual(await list(store, { ...filter, limit }), expected);
      }
    },
  },
  {
    name: 'a page of no size and a cursor of no page are refused (I10)',
    async check({ store }) {
      for (const limit of [0, -1, 0.5, Number.NaN]) await refused(store.listSessions({ limit }), 'INVALID_ARGUMENT');
      for (const cursor of ['', 'x', '%', '[]', '%5B1%2C2%5D', '{"__proto__":1}']) {
        await refused(store.listSessions({ cursor }), 'INVALID_ARGUMENT');
      }
    },
  },
  {
    name: 'deleting a session removes all of it and nothing else',
    async check({ store }) {
      for (const id of ['s', 't']) {
        await store.append(id, [said(`hello from ${id}`), note(2)], { id: 'a', expectedSeq: 0 });
        await store.writeSnapshot(id, { seq: 2, data: '{}' });
        await store.appendDraft(id, [{ evaluationId: 'e', turn: 1, attempt: 1, n: 1, blockId: 'b', delta: 'd' }]);
        await store.acquireLease(id, { holder: holder('one'), ttlMs: 1000 });
        await store.writeContent(id, `sha256:${id}`, id);
      }
      await store.search('hello');
      assert.equal(await store.deleteSession('s'), true);
      assert.equal(await store.deleteSession('s'), false);
      assert.equal(await store.deleteSession('nobody'), false);
      assert.equal(await store.head('s'), 0);
      assert.deepEqual(await readAll(store, 's'), []);
      assert.equal(await store.readSnapshot('s'), undefined);
      assert.deepEqual(await store.readDraft('s', 'e'), []);
      assert.equal(await store.readLease('s'), undefined);
      assert.equal(await store.readContent('sha256:s'), undefined);
      assert.deepEqual(
        (await store.search('hello')).map((hit) => hit.sessionId),
        ['t'],
      );
      assert.deepEqual(await list(store), ['t']);
      assert.equal((await readAll(store, 't')).length, 2);
      assert.equal(await store.readContent('sha256:t'), 't');
      // The name is free again, and its new log begins at 1.
      assert.deepEqual(await store.append('s', [note('anew')], { id: 'a', expectedSeq: 0 }), { seq: 1 });
      assert.deepEqual(await readNotes(store, 's'), ['anew']);
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'sessions that come and go leave the others whole',
    async check({ store }) {
      // Long enough to cross whatever a store does every few hundred events.
      for (let round = 0; round < 6; round++) {
        const events = Array.from({ length: 150 }, (_, i) => note(`${round}/${i}`));
        await store.append(`kept${round}`, events.slice(0, 100), { id: 'a', expectedSeq: 0 });
        await store.append('gone', events, { id: 'a', expectedSeq: 0 });
        await store.append(`kept${round}`, events.slice(100), { id: 'b', expectedSeq: 100 });
        await store.append('gone', events, { id: 'b', expectedSeq: 150 });
        await store.deleteSession('gone');
      }
      for (let round = 0; round < 6; round++) {
        const expected = Array.from({ length: 150 }, (_, i) => `${round}/${i}`);
        assert.deepEqual(await readNotes(store, `kept${round}`), expected);
      }
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 6, events: 900 });
    },
  },
  {
    name: 'a replaced event keeps its place and loses its text, its hits and the snapshot (D58)',
    async check({ store }) {
      await store.append('s', [said('keep this'), said('my secret word'), note(3)], { id: 'a', expectedSeq: 0 });
      await store.append('s', [note(4)], { id: 'b', expectedSeq: 3 });
      await store.writeContent('s', 'sha256:secret', 'secret content');
      await store.writeSnapshot('s', { seq: 3, data: '{"secret":true}' });
      assert.equal((await store.search('secret')).length, 1);
      const before = await readAll(store, 's');
      const erased = { ...said('this was erased'), seq: 2 } as SessionEvent;
      await store.replaceEvent('s', erased, ['sha256:secret', 'sha256:unknown']);
      await store.replaceEvent('s', erased, ['sha256:secret']);
      assert.deepEqual(await readAll(store, 's'), before.with(1, erased));
      assert.deepEqual(await store.search('secret'), []);
      assert.deepEqual(
        (await store.search('erased')).map((hit) => hit.seq),
        [2],
      );
      assert.equal(await store.readSnapshot('s'), undefined);
      assert.equal(await store.readContent('sha256:secret'), undefined);
      assert.deepEqual(await store.append('s', [note(5)], { id: 'c', expectedSeq: 4 }), { seq: 5 });
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'an event that is not there cannot be replaced',
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      for (const seq of [0, -1, 1.5, 2, Number.NaN]) {
        await refused(store.replaceEvent('s', { ...note('no'), seq } as SessionEvent), 'INVALID_ARGUMENT');
      }
      await refused(store.replaceEvent('nobody', { ...note('no'), seq: 1 } as SessionEvent), 'SESSION_NOT_FOUND');
      assert.deepEqual(await readNotes(store, 's'), [1]);
    },
  },
  {
    name: 'the integrity check counts, and finds a content that a message shows but nobody keeps (D58)',
    async check({ store }) {
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 0, events: 0 });
      const message = said('look at this') as { readonly message: object } & NewEvent;
      const part = { type: 'file', mediaType: 'text/plain', data: 'sha256:content' };
      const shown = { ...message, message: { ...message.message, content: [part] } } as NewEvent;
      await store.append('s', [shown, note(2)], { id: 'a', expectedSeq: 0 });
      const report = await store.check();
      assert.deepEqual([report.ok, report.problems.length, report.sessions, report.events], [false, 1, 1, 2]);
      await store.writeContent('s', 'sha256:content', 'text');
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 1, events: 2 });
    },
  },
];
