import assert from 'node:assert/strict';
import type { NewEvent } from '../../core/log/events.ts';
import { methodsOfSession } from './every-method.ts';
import { type Case, note, readAll, readNotes, refused } from './harness.ts';

/** Ids that a careless store would confuse, cut, change or execute. */
const HOSTILE_IDS: readonly string[] = [
  "'; DROP TABLE events; --",
  '"',
  '%',
  '_',
  '*',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'a',
  'A',
  ' a',
  'a ',
  '0',
  '00',
  'null',
  'é',
  'e\u0301',
  '😀',
  '\u{1F600}\u{1F600}',
  '\ufeff',
  'x'.repeat(512),
];

const UNUSABLE_IDS: readonly string[] = ['', 'a\0b', '\n', '\u001b[31mred', '\ud800', 'x'.repeat(513)];

/** Values that a log must return exactly as they were appended. */
const HOSTILE_VALUES: readonly unknown[] = [
  JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":2}'),
  'half a pair: \ud83d',
  'NUL \0 and \u2028 and \ufeff',
  [null, 0, -0, 1e300, 2 ** 53, true, '', [], {}],
  'x'.repeat(100_000),
];

export const appendCases: readonly Case[] = [
  {
    name: 'the first seq is 1, and an append returns its last (I1)',
    async check({ store }) {
      assert.deepEqual(await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 }), { seq: 2 });
      assert.deepEqual(await store.append('s', [note(3)], { id: 'b', expectedSeq: 2 }), { seq: 3 });
      assert.deepEqual(await readNotes(store, 's'), [1, 2, 3]);
    },
  },
  {
    name: 'an append that may be synced later is read, counted and recognized like any other',
    async check({ store }) {
      const late = { id: 'a', expectedSeq: 0, syncLater: true } as const;
      assert.deepEqual(await store.append('s', [note(1)], late), { seq: 1 });
      assert.deepEqual(await readNotes(store, 's'), [1]);
      assert.deepEqual(await store.append('s', [note(1)], late), { seq: 1 });
      await refused(store.append('s', [note(2)], { ...late, id: 'b' }), 'SESSION_CONFLICT');
      assert.deepEqual(await store.append('s', [note(2)], { id: 'c', expectedSeq: 1 }), { seq: 2 });
      assert.deepEqual(await readNotes(store, 's'), [1, 2]);
    },
  },
  {
    name: 'an unknown session has no events, and its head has the incarnation of its first append',
    async check({ store }) {
      assert.deepEqual(await store.head('nobody'), { incarnation: 1, seq: 0, revision: 0 });
      assert.deepEqual(await readAll(store, 'nobody'), []);
    },
  },
  {
    name: 'a stale or future sequence writes nothing (I6)',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      for (const expectedSeq of [0, 1, 3, 100]) {
        await refused(
          store.append('s', [note('no')], { id: `b${expectedSeq}`, expectedSeq }),
          'SESSION_CONFLICT',
          'sequence',
        );
      }
      await refused(store.append('new', [note('no')], { id: 'c', expectedSeq: 1 }), 'SESSION_CONFLICT', 'sequence');
      assert.deepEqual(await readNotes(store, 's'), [1, 2]);
      assert.deepEqual(await readNotes(store, 'new'), []);
    },
  },
  {
    name: 'an append without events is rejected',
    async check({ store }) {
      await refused(store.append('s', [], { id: 'a', expectedSeq: 0 }), 'INVALID_ARGUMENT');
      assert.equal((await store.head('s')).seq, 0);
    },
  },
  {
    name: 'a repeated append returns what the first returned and writes nothing (D51)',
    async check({ store }) {
      const first = [note(1), note(2)];
      await store.append('s', first, { id: 'a', expectedSeq: 0 });
      // The newest append is recognised with any `expectedSeq`.
      for (const expectedSeq of [0, 1, 2]) {
        assert.deepEqual(await store.append('s', first, { id: 'a', expectedSeq }), { seq: 2 });
      }
      await store.append('s', [note(3)], { id: 'b', expectedSeq: 2 });
      await store.append('s', [note(4), note(5)], { id: 'c', expectedSeq: 3 });
      // An older append is recognised by its `expectedSeq`.
      assert.deepEqual(await store.append('s', first, { id: 'a', expectedSeq: 0 }), { seq: 2 });
      assert.deepEqual(await store.append('s', [note(3)], { id: 'b', expectedSeq: 2 }), { seq: 3 });
      assert.deepEqual(await readNotes(store, 's'), [1, 2, 3, 4, 5]);
    },
  },
  {
    name: 'an append id with other events is APPEND_ID_REUSED and writes nothing (D51)',
    async check({ store }) {
      await store.append('s', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
      await store.append('s', [note(3), note(4)], { id: 'b', expectedSeq: 2 });
      const others: readonly (readonly NewEvent[])[] = [
        [note(9), note(9)],
        [note(1)],
        [note(1), note(2), note(3)],
        [note(3)],
        [note(3), note(4), note(5)],
        [note(3), note(4, '2027-01-01T00:00:00.000Z')],
        [{ ...note(3), type: 'other/type' } as NewEvent, note(4)],
      ];
      for (const events of others) {
        await refused(store.append('s', events, { id: 'a', expectedSeq: 0 }), 'APPEND_ID_REUSED');
        await refused(store.append('s', events, { id: 'b', expectedSeq: 2 }), 'APPEND_ID_REUSED');
        await refused(store.append('s', events, { id: 'b', expectedSeq: 4 }), 'APPEND_ID_REUSED');
      }
      assert.deepEqual(await readNotes(store, 's'), [1, 2, 3, 4]);
    },
  },
  {
    name: 'append ids are independent between sessions',
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      await store.append('t', [note(2)], { id: 'a', expectedSeq: 0 });
      assert.deepEqual([await readNotes(store, 's'), await readNotes(store, 't')], [[1], [2]]);
    },
  },
  {
    name: 'an append with an event that JSON cannot represent writes none of its events (I1)',
    async check({ store }) {
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      for (const [i, bad] of [note(10n), note(cycle), note({ toJSON: () => 10n })].entries()) {
        await refused(store.append('s', [note(2), bad, note(3)], { id: `b${i}`, expectedSeq: 1 }), 'EVENT_INVALID');
      }
      for (const [i, bad] of [{ type: '', at: 'x' }, { type: 'x', at: '' }, { type: 'x' }, { at: 'x' }].entries()) {
        await refused(store.append('s', [note(2), bad as NewEvent], { id: `c${i}`, expectedSeq: 1 }), 'EVENT_INVALID');
      }
      assert.deepEqual(await readNotes(store, 's'), [1]);
      assert.deepEqual(await store.append('s', [note(2)], { id: 'b0', expectedSeq: 1 }), { seq: 2 });
    },
  },
  {
    name: 'an append with a malformed message writes all its events or none (I1)',
    async check({ store }) {
      const at = '2026-01-01T00:00:00.000Z';
      const opening = [
        { type: 'evaluation/started', at, evaluationId: 'e', conversationId: 'main' },
        { type: 'evaluation/suspended', at, evaluationId: 'e', reason: 'CANCELLED', message: '', pending: [] },
      ] as unknown as readonly NewEvent[];
      await store.append('s', opening, { id: 'a', expectedSeq: 0 });
      const wrong = { type: 'message/recorded', at } as unknown as NewEvent;
      const outcome = await store
        .append('s', [note(1), wrong, note(2)], { id: 'b', expectedSeq: 2 })
        .catch((error: unknown) => error);
      const expected = outcome instanceof Error ? 2 : 5;
      assert.equal((await readAll(store, 's')).length, expected);
      assert.equal((await store.head('s')).seq, expected);
      assert.deepEqual(await store.append('s', [note(3)], { id: 'c', expectedSeq: expected }), { seq: expected + 1 });
      assert.ok((await store.check()).ok);
    },
  },
  {
    name: 'read returns events exactly as JSON represents them, with any content (I10)',
    async check({ store }) {
      const events = HOSTILE_VALUES.map((value) => note(value));
      await store.append('s', events, { id: 'a', expectedSeq: 0 });
      const stored = await readAll(store, 's');
      for (const [i, event] of stored.entries()) {
        assert.equal(JSON.stringify((event as { text?: unknown }).text), JSON.stringify(HOSTILE_VALUES[i]));
      }
      assert.equal(Object.hasOwn({}, 'polluted') || 'polluted' in {}, false, 'nothing leaks into prototypes');
      const [first] = stored as unknown as readonly { readonly text: object }[];
      assert.ok(first && Object.hasOwn(first.text, '__proto__'), '__proto__ is a key like any other');
    },
  },
  {
    name: 'changing an event after its append does not change the log',
    async check({ store }) {
      const mutable = { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text: ['before'], seq: 99 };
      const appending = store.append('s', [mutable], { id: 'a', expectedSeq: 0 });
      mutable.text.push('after');
      await appending;
      const [read] = await readAll(store, 's');
      assert.deepEqual(read, { seq: 1, at: mutable.at, type: 'note/added', text: ['before'] });
      (read as unknown as { text: string[] }).text.push('after');
      assert.deepEqual(await readNotes(store, 's'), [['before']]);
    },
  },
  {
    name: 'session ids are opaque: each has its own log (I10)',
    async check({ store }) {
      for (const id of HOSTILE_IDS) await store.append(id, [note(id)], { id: 'a', expectedSeq: 0 });
      for (const id of HOSTILE_IDS) assert.deepEqual(await readNotes(store, id), [id]);
      const { sessions } = await store.listSessions({ limit: 100 });
      assert.deepEqual(sessions.map((session) => session.id).sort(), [...HOSTILE_IDS].sort());
    },
  },
  {
    name: 'every method rejects an id that a database would change or a terminal would interpret (I10)',
    async check({ store }) {
      for (const id of UNUSABLE_IDS) {
        for (const call of methodsOfSession(store, id)) await refused(call(), 'INVALID_ARGUMENT');
      }
      await refused(store.append('s', [note(1)], { id: '', expectedSeq: 0 }), 'INVALID_ARGUMENT');
      for (const expectedSeq of [-1, 0.5, Number.NaN]) {
        await refused(store.append('s', [note(1)], { id: 'a', expectedSeq }), 'INVALID_ARGUMENT');
      }
      assert.deepEqual((await store.listSessions()).sessions, []);
    },
  },
  {
    name: 'a long log is read completely, from any position and up to any limit',
    async check({ store }) {
      const all = Array.from({ length: 1500 }, (_, i) => i + 1);
      await store.append(
        's',
        all.slice(0, 700).map((n) => note(n)),
        { id: 'a', expectedSeq: 0 },
      );
      for (let seq = 700; seq < 800; seq++)
        await store.append('s', [note(seq + 1)], { id: `b${seq}`, expectedSeq: seq });
      await store.append(
        's',
        all.slice(800).map((n) => note(n)),
        { id: 'c', expectedSeq: 800 },
      );
      assert.deepEqual(await readNotes(store, 's'), all);
      for (const [after, limit] of [
        [0, 0],
        [0, 1],
        [699, 3],
        [1499, 10],
        [1500, 10],
        [9999, 10],
        [250, 700],
      ] as const) {
        const seqs = (await readAll(store, 's', { after, limit })).map((event) => event.seq);
        assert.deepEqual(seqs, all.slice(after, after + limit), `after ${after}, limit ${limit}`);
      }
      const tail = await readAll(store, 's', { after: 1490 });
      assert.deepEqual(
        tail.map((event) => event.seq),
        all.slice(1490),
      );
    },
  },
  {
    name: 'a reader sees the log as it was when the read started',
    async check({ store }) {
      await store.append(
        's',
        Array.from({ length: 600 }, (_, i) => note(i)),
        { id: 'a', expectedSeq: 0 },
      );
      let read = 0;
      for await (const event of store.read('s')) {
        if (event.seq === 1) await store.append('s', [note('later'), note('later')], { id: 'b', expectedSeq: 600 });
        assert.equal(event.seq, ++read);
      }
      assert.equal(read, 600);
    },
  },
  {
    name: 'a reader never sees half an append, not even one of another handle (I1)',
    async check({ store, reopen }) {
      const reader = (await reopen?.()) ?? store;
      let writing = true;
      const write = async () => {
        for (let n = 0; n < 30; n++) {
          const events = Array.from({ length: 5 }, (_, part) => note([n, part]));
          await store.append('s', events, { id: `a${n}`, expectedSeq: n * 5 });
        }
        writing = false;
      };
      const read = async () => {
        while (writing) {
          const events = await readAll(reader, 's');
          assert.equal(events.length % 5, 0, `saw ${events.length} events of appends of 5`);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      await Promise.all([write(), read()]);
      assert.equal((await readAll(reader, 's')).length, 150);
    },
  },
  {
    name: 'a reader may stop early',
    async check({ store }) {
      await store.append('s', [note(1), note(2), note(3)], { id: 'a', expectedSeq: 0 });
      for await (const event of store.read('s')) if (event.seq === 2) break;
      assert.deepEqual(await readNotes(store, 's'), [1, 2, 3]);
    },
  },
  {
    name: 'concurrent appends to different sessions do not mix (D51)',
    async check({ store }) {
      const sessions = Array.from({ length: 40 }, (_, k) => `s${k}`);
      await Promise.all(
        sessions.map(async (id) => {
          for (let n = 0; n < 20; n++) await store.append(id, [note(`${id}/${n}`)], { id: `a${n}`, expectedSeq: n });
        }),
      );
      for (const id of sessions) {
        assert.deepEqual(
          await readNotes(store, id),
          Array.from({ length: 20 }, (_, n) => `${id}/${n}`),
        );
      }
    },
  },
  {
    name: "in one commit, one session's refusal does not fail another's append (D51)",
    async check({ store }) {
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      const outcomes = await Promise.allSettled([
        store.append('t', [note('t')], { id: 'a', expectedSeq: 0 }),
        store.append('s', [note('stale')], { id: 'b', expectedSeq: 0 }),
        store.append('u', [note('u')], { id: 'a', expectedSeq: 0, fence: 7 }),
        store.append('s', [note('other')], { id: 'a', expectedSeq: 0 }),
        store.append('s', [note(2)], { id: 'c', expectedSeq: 1 }),
        store.append('s', [note('too late')], { id: 'd', expectedSeq: 1 }),
      ]);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.status),
        ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled', 'rejected'],
      );
      assert.deepEqual([await readNotes(store, 's'), await readNotes(store, 't')], [[1, 2], ['t']]);
      assert.equal((await store.head('u')).seq, 0);
    },
  },
];
