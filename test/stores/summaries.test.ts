/** D82: there is one fold of the summary, in the store. What it stores, when, and what it refuses to use. */
import { expect, test } from 'vitest';
import type { NewEvent, SessionEvent } from '../../src/core/log/events.ts';
import { memoryBackend } from '../../src/stores/memory.ts';
import type { AppendRows, StoreBackend, StoredSummary } from '../../src/stores/shell/backend.ts';
import { defineStore } from '../../src/stores/shell/define-store.ts';
import { note } from './support/temporary.ts';

const AT = '2026-01-01T00:00:00.000Z';
const described = (fields: object): NewEvent => ({ type: 'session/described', at: AT, ...fields }) as NewEvent;
const queued = { type: 'input/queued', at: AT, inputId: 'i', mode: 'next', content: [] } as unknown as NewEvent;
const response = {
  type: 'message/recorded',
  at: AT,
  message: { role: 'assistant', turn: 1 },
  usage: { inputTokens: 1, outputTokens: 1 },
} as unknown as NewEvent;

/** A backend whose stored summaries are changed when they are read. */
function reading(
  backend: StoreBackend<number>,
  change: (summary: StoredSummary) => StoredSummary,
): StoreBackend<number> {
  return {
    ...backend,
    async summary(key) {
      const summary = await backend.summary(key);
      return summary && change(summary);
    },
    async list(query) {
      const rows = await backend.list({ ...query, filter: {} });
      return rows.map((row) => ({ ...row, summary: row.summary && change(row.summary) }));
    },
  };
}

test('a summary is stored when something changes that listings filter by, and not for counts, unless it is far behind', async () => {
  const backend = memoryBackend();
  const stored: boolean[] = [];
  const append = (id: string, rows: AppendRows<number>) => {
    stored.push(rows.summary !== undefined);
    return backend.append(id, rows);
  };
  const store = defineStore({ ...backend, append });
  const events = [note(1), note(2), response, described({ title: 'T' }), note(3), queued, response, response];
  for (const [seq, event] of events.entries()) await store.append('s', [event], { id: `a${seq}`, expectedSeq: seq });
  expect(stored).toEqual([true, false, false, true, false, true, false, false]);
  expect((await store.listSessions()).sessions).toMatchObject([{ title: 'T', turns: 3, queued: 1, seq: 8 }]);
  const many = Array.from({ length: 70 }, (_, i) => note(i));
  await store.append('s', many, { id: 'many', expectedSeq: 8 });
  expect(stored.at(-1)).toBe(true);
});

test('an erasure between two appends does not bring an old title back, whichever store appends (D58)', async () => {
  const backend = memoryBackend();
  const [store, other] = [defineStore(backend), defineStore(backend)];
  await store.append('s', [described({ title: 'SECRET' }), described({ tags: ['a'] })], { id: 'a', expectedSeq: 0 });
  await other.replaceEvent('s', { ...described({ metadata: { erased: true } }), seq: 1 } as SessionEvent);
  expect((await store.listSessions()).sessions[0]).not.toHaveProperty('title');
  // The store that appends remembers the log of before the erasure.
  const third = defineStore(backend);
  await third.append('s', [described({ tags: ['b'] })], { id: 'b', expectedSeq: 2 });
  await other.replaceEvent('s', { ...described({ tags: ['erased'] }), seq: 2 } as SessionEvent);
  await third.append('s', [described({ tags: ['c'] })], { id: 'c', expectedSeq: 3 });
  for (const each of [store, other, third, defineStore(backend)]) {
    const { sessions } = await each.listSessions();
    expect(sessions).toMatchObject([{ tags: ['c'], metadata: { erased: true }, seq: 4 }]);
    expect(sessions[0]).not.toHaveProperty('title');
  }
  const { key = 0 } = await backend.find('s');
  expect(await backend.summary(key)).toMatchObject({
    seq: 4,
    revision: 2,
    data: expect.not.stringContaining('SECRET'),
  });
});

test('an append whose store missed an erasure does not store what was erased', async () => {
  const backend = memoryBackend();
  const [store, other] = [defineStore(backend), defineStore(backend)];
  await store.append('s', [described({ title: 'SECRET' })], { id: 'a', expectedSeq: 0 });
  await other.replaceEvent('s', { ...described({}), seq: 1 } as SessionEvent);
  await store.append('s', [described({ tags: ['b'] })], { id: 'b', expectedSeq: 1 });
  const { key = 0 } = await backend.find('s');
  expect(await backend.summary(key)).toMatchObject({
    seq: 2,
    revision: 1,
    data: expect.not.stringContaining('SECRET'),
  });
});

test.for<[what: string, change: (summary: StoredSummary) => StoredSummary]>([
  ['another revision', (summary) => ({ ...summary, revision: summary.revision + 1, data: '{"tags":["wrong"]}' })],
  ['another version', (summary) => ({ ...summary, version: 0, data: '{"tags":["wrong"]}' })],
  ['a later event than the last', (summary) => ({ ...summary, seq: 99, data: '{"tags":["wrong"]}' })],
  ['no JSON', (summary) => ({ ...summary, data: '{oops' })],
])('a stored summary of %s is folded again from the log', async ([, change]) => {
  const backend = memoryBackend();
  await defineStore(backend).append('s', [described({ tags: ['right'] }), response], { id: 'a', expectedSeq: 0 });
  const store = defineStore(reading(backend, change));
  expect((await store.listSessions({ tags: ['right'] })).sessions).toMatchObject([{ tags: ['right'], turns: 1 }]);
  await defineStore(reading(backend, change)).append('s', [described({ title: 'T' })], { id: 'b', expectedSeq: 2 });
  expect((await defineStore(backend).listSessions()).sessions).toMatchObject([
    { title: 'T', tags: ['right'], turns: 1 },
  ]);
});

test('a session whose summary is behind its log counts as possible work', async () => {
  const backend = memoryBackend();
  const store = defineStore(backend);
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
  const { key = 0 } = await backend.find('s');
  const before = (await backend.summary(key)) as StoredSummary;
  await store.append('s', [queued], { id: 'b', expectedSeq: 1 });
  const behind = defineStore(reading(backend, () => before));
  expect((await behind.listSessions({ work: true })).sessions).toMatchObject([{ id: 's', work: 'input', seq: 2 }]);
});
