import assert from 'node:assert/strict';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { ListSessionsOptions, Store } from '../../ports/store.ts';
import { assertHits, type Case, chunk, leaseOn, message, note, readAll, readNotes, refused } from './harness.ts';

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
    name: 'a listed session shows the summary of its log',
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
            turns: 0,
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
        // Several sessions have the same time.
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
    name: 'a session that is written to between two pages moves to the front; no other is skipped or repeated',
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
    name: 'filters combine: tags, status, id prefix, source, metadata',
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
        [{ source: 'own', tags: ['x'] }, ['a/1', 'a/2']],
        [{ source: 'codex' }, []],
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
    name: 'a limit of 0 and an invalid cursor are rejected (I10)',
    async check({ store }) {
      for (const limit of [0, -1, 0.5, Number.NaN]) await refused(store.listSessions({ limit }), 'INVALID_ARGUMENT');
      for (const cursor of ['', 'x', '%', '[]', '%5B1%2C2%5D', '{"__proto__":1}']) {
        await refused(store.listSessions({ cursor }), 'INVALID_ARGUMENT');
      }
    },
  },
  {
    name: 'sessions with work are listed: an open evaluation, or a decision after a suspension; no others',
    async check({ store }) {
      const started = evaluation('started', { conversationId: 'main' });
      const suspended = evaluation('suspended', { reason: 'APPROVAL_REQUIRED', message: '', pending: [] });
      const approved = {
        type: 'tool/approved',
        at: AT,
        evaluationId: 'e',
        turn: 1,
        callId: 'c',
      } as unknown as NewEvent;
      const logs: Readonly<Record<string, readonly NewEvent[]>> = {
        running: [started],
        suspended: [started, suspended],
        decided: [started, suspended, approved],
        completed: [started, evaluation('completed')],
        none: [note(1)],
      };
      for (const [id, events] of Object.entries(logs)) await store.append(id, events, { id: 'a', expectedSeq: 0 });
      for (const limit of [1, 50]) assert.deepEqual(await list(store, { work: true, limit }), ['decided', 'running']);
      assert.deepEqual(await list(store, { work: true, status: 'running' }), ['running']);
      const { sessions } = await store.listSessions({ work: true });
      assert.deepEqual(
        sessions.map((session) => session.work),
        ['decision', 'evaluation'],
      );
      await store.append('running', [suspended], { id: 'b', expectedSeq: 1 });
      assert.deepEqual(await list(store, { work: true }), ['decided']);
    },
  },
  {
    name: 'an input is work unless an evaluation blocks it; an input sent after a cancellation supersedes the cancelled evaluation (D61)',
    async check({ store }) {
      const started = evaluation('started', { conversationId: 'main' });
      const cancelled = evaluation('suspended', { reason: 'CANCELLED', message: '', pending: [] });
      const waiting = evaluation('suspended', { reason: 'PROVIDER_FAILED', message: '', pending: [] });
      const input = (inputId: string): NewEvent =>
        ({ type: 'input/queued', at: AT, inputId, mode: 'next', content: [{ type: 'text', text: 'x' }] }) as NewEvent;
      const withdrawn = { type: 'input/withdrawn', at: AT, inputId: 'm', queuedSeq: 4 } as NewEvent;
      const request = evaluation('cancel-requested');
      const logs: Readonly<Record<string, readonly NewEvent[]>> = {
        new: [input('m')],
        completed: [started, evaluation('completed'), input('m')],
        waits: [started, waiting, input('m')],
        'sent before the request': [started, input('m'), request, cancelled],
        'sent after the request': [started, request, input('m'), cancelled],
        'sent after a signal': [started, cancelled, input('m')],
        withdrawn: [started, request, cancelled, input('m'), withdrawn],
      };
      const withWork = ['completed', 'new', 'sent after a signal', 'sent after the request'];
      for (const [id, events] of Object.entries(logs)) {
        for (const [i, event] of events.entries()) await store.append(id, [event], { id: `a${i}`, expectedSeq: i });
        await store.append(`${id}, at once`, events, { id: 'a', expectedSeq: 0 });
      }
      const listed = (await list(store, { work: true })).toSorted();
      assert.deepEqual(listed, withWork.flatMap((id) => [id, `${id}, at once`]).toSorted());
    },
  },
  {
    name: 'a session whose approval can expire is listed with its wakeAt, until a person has decided and the call has a result (D67)',
    async check({ store }) {
      const expiresAt = '2026-01-01T01:00:00.000Z';
      const call = { at: AT, evaluationId: 'e', turn: 1, callId: 'c' };
      const requested = { type: 'tool/approval-requested', ...call, toolName: 't', expiresAt } as NewEvent;
      const suspended = evaluation('suspended', { reason: 'APPROVAL_REQUIRED', message: '', pending: [] });
      const waiting = [evaluation('started', { conversationId: 'main' }), requested, suspended];
      for (const id of ['a', 'b']) await store.append(id, waiting, { id: 'a', expectedSeq: 0 });
      const listed = async () => {
        const { sessions } = await store.listSessions({ work: true });
        return Object.fromEntries(sessions.map(({ id, work, wakeAt }) => [id, [work, wakeAt]]));
      };
      assert.deepEqual(await listed(), { a: [undefined, expiresAt], b: [undefined, expiresAt] });
      await store.append('a', [{ type: 'tool/denied', ...call } as NewEvent], { id: 'b', expectedSeq: 3 });
      assert.deepEqual(await listed(), { a: ['decision', undefined], b: [undefined, expiresAt] });
      await store.append('a', [evaluation('completed')], { id: 'c', expectedSeq: 4 });
      await store.append('b', [evaluation('superseded')], { id: 'b', expectedSeq: 3 });
      assert.deepEqual(await listed(), {});
    },
  },
  {
    name: 'deleting a session removes all of it and nothing else',
    async check({ store }) {
      for (const id of ['s', 't']) {
        const { fence } = await leaseOn(store, id);
        await store.append(id, [message(`hello from ${id}`), note(2)], {
          id: 'a',
          expectedSeq: 0,
          contents: [{ event: 0, hash: `sha256:${id}`, text: id }],
          callContents: { put: [{ call: 'c', text: id }] },
        });
        await store.writeSnapshot(id, { seq: 2, data: '{}' });
        await store.appendDraft(id, [chunk(fence, 1)], { fence });
      }
      await assertHits(store, 'hello', 2);
      assert.equal(await store.deleteSession('s'), true);
      assert.equal(await store.deleteSession('s'), false);
      assert.equal(await store.deleteSession('nobody'), false);
      assert.deepEqual(await store.head('s'), { incarnation: 2, seq: 0, revision: 0 });
      assert.deepEqual(await readAll(store, 's'), []);
      assert.equal(await store.readSnapshot('s'), undefined);
      assert.deepEqual(await store.readDraft('s'), []);
      assert.equal(await store.readLease('s'), undefined);
      assert.equal(await store.readContent('s', 'sha256:s'), undefined);
      assert.equal(await store.readCallContent('s', 'c'), undefined);
      await assertHits(store, 'hello', 1);
      assert.deepEqual(await list(store), ['t']);
      assert.equal((await readAll(store, 't')).length, 2);
      assert.equal(await store.readContent('t', 'sha256:t'), 't');
      assert.equal(await store.readCallContent('t', 'c'), 't');
      assert.equal((await store.readDraft('t')).length, 1);
      // The id is free again, and its new log starts at 1.
      assert.deepEqual(await store.append('s', [note('anew')], { id: 'a', expectedSeq: 0 }), { seq: 1 });
      assert.deepEqual(await readNotes(store, 's'), ['anew']);
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'creating and deleting sessions does not damage the others',
    async check({ store }) {
      // Long enough to cross the batches of a store.
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
    name: 'a replaced event keeps its seq and loses its text, its hits and the snapshot (D58)',
    async check({ store }) {
      await store.append('s', [message('keep this'), message('my secret word'), note(3)], { id: 'a', expectedSeq: 0 });
      await store.append('s', [note(4)], { id: 'b', expectedSeq: 3 });
      await store.writeSnapshot('s', { seq: 3, data: '{"secret":true}' });
      await assertHits(store, 'secret', 1);
      const before = await readAll(store, 's');
      const erased = { ...message('this was erased'), seq: 2 } as SessionEvent;
      await store.replaceEvent('s', erased);
      assert.deepEqual(await store.head('s'), { incarnation: 1, seq: 4, revision: 1 });
      await store.replaceEvent('s', erased);
      assert.equal((await store.head('s')).revision, 2);
      assert.deepEqual(await readAll(store, 's'), before.with(1, erased));
      await assertHits(store, 'secret', 0);
      if (store.search) {
        assert.deepEqual(
          (await store.search('erased')).map((hit) => hit.seq),
          [2],
        );
      }
      assert.equal(await store.readSnapshot('s'), undefined);
      assert.deepEqual(await store.append('s', [note(5)], { id: 'c', expectedSeq: 4 }), { seq: 5 });
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'after an event was replaced, listings show the summary of the changed log (D58)',
    async check({ store, reopen }) {
      const handles = [store, (await reopen?.()) ?? store];
      const listed = async () => {
        const { sessions } = await store.listSessions();
        return sessions.map(({ title, tags, metadata, createdAt, updatedAt, status }) => ({
          ...(title !== undefined && { title }),
          tags,
          metadata,
          createdAt,
          updatedAt,
          ...(status !== undefined && { status }),
        }));
      };
      const [day1, day2, day3] = ['2026-01-01', '2026-01-02', '2026-01-03'].map((day) => `${day}T00:00:00.000Z`);
      await store.append('s', [described({ title: 'secret', tags: ['x'], metadata: { secret: 1 } })], {
        id: 'a',
        expectedSeq: 0,
      });
      await store.append('s', [described({ metadata: { b: 2 } }), evaluation('started', { conversationId: 'main' })], {
        id: 'b',
        expectedSeq: 1,
      });
      await store.append('s', [message('hello', 'user', day2)], { id: 'c', expectedSeq: 3 });
      const whole = { tags: ['x'], metadata: { secret: 1, b: 2 }, createdAt: AT, updatedAt: day2, status: 'running' };
      assert.deepEqual(await listed(), [{ title: 'secret', ...whole }]);
      // A message's content is not part of a listing, but its time is.
      await store.replaceEvent('s', { ...message('erased', 'user', day3), seq: 4 } as SessionEvent);
      assert.deepEqual(await listed(), [{ title: 'secret', ...whole, updatedAt: day3 }]);
      await store.replaceEvent('s', { ...described({ tags: ['y'] }, day1), seq: 1 } as SessionEvent);
      const erased = { ...whole, tags: ['y'], metadata: { b: 2 }, updatedAt: day3 };
      assert.deepEqual(await listed(), [erased]);
      // Neither the handle that wrote last nor another one may restore the erased title.
      for (const [i, handle] of handles.entries()) {
        const event = described({ metadata: { [`n${i}`]: i } }, day3);
        await handle.append('s', [event], { id: `d${i}`, expectedSeq: 4 + i });
      }
      assert.deepEqual(await listed(), [{ ...erased, metadata: { b: 2, n0: 0, n1: 1 } }]);
      // An event of another type replaces a description, and a description replaces another event.
      await store.replaceEvent('s', { ...note('erased', day2), seq: 1 } as SessionEvent);
      await store.replaceEvent('s', { ...described({ title: 'T' }, day2), seq: 3 } as SessionEvent);
      assert.deepEqual(await listed(), [
        { title: 'T', tags: [], metadata: { b: 2, n0: 0, n1: 1 }, createdAt: day2, updatedAt: day3 },
      ]);
      await refused(
        store.replaceEvent('s', { type: 'session/restored', at: AT, seq: 1 } as unknown as SessionEvent),
        'EVENT_INVALID',
      );
      assert.equal((await store.head('s')).revision, 4, 'a rejected replacement changes nothing');
    },
  },
  {
    name: 'an event that does not exist cannot be replaced, and a seq below 1 is rejected before the session is looked up',
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      for (const seq of [0, -1, 1.5, 2, Number.NaN]) {
        await refused(store.replaceEvent('s', { ...note('no'), seq } as SessionEvent), 'INVALID_ARGUMENT');
      }
      await leaseOn(store, 'leased');
      for (const id of ['nobody', 'leased']) {
        await refused(store.replaceEvent(id, { ...note('no'), seq: 1 } as SessionEvent), 'SESSION_NOT_FOUND');
      }
      await refused(store.replaceEvent('nobody', { ...note('no'), seq: 0 } as SessionEvent), 'INVALID_ARGUMENT');
      const unused = { incarnation: 7 };
      await refused(store.replaceEvent('s', { ...note('no'), seq: 0 } as SessionEvent, unused), 'INVALID_ARGUMENT');
      assert.deepEqual(await readNotes(store, 's'), [1]);
    },
  },
  {
    name: 'the integrity check counts all readable sessions and events',
    async check({ store }) {
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 0, events: 0 });
      await leaseOn(store, 'leased');
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      await store.append('t', [note(1)], { id: 'a', expectedSeq: 0 });
      await store.forkSession('s', 'fork', { at: 2, events: [note(3)] });
      await store.deleteSession('t');
      assert.deepEqual(await store.check(), { ok: true, problems: [], sessions: 2, events: 5 });
    },
  },
];
