import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { NewEvent, SessionEvent } from '../../src/core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../src/core/summary/session-summary.ts';
import { openDatabase } from '../../src/stores/sqlite/open-database.ts';
import type { SqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { storeOnDatabase } from '../../src/stores/sqlite/store-on-database.ts';
import { connect } from './support/connect.ts';
import { leaseOn, note, openStore, readAll, temporaryDatabase } from './support/temporary.ts';

/** What two handles do to three sessions, in any order. */
const actions = fc.array(
  fc.record({
    handle: fc.nat({ max: 1 }),
    session: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom('append', 'append', 'append', 'append', 'stale', 'repeat', 'delete', 'fork', 'replace'),
    size: fc.integer({ min: 1, max: 4 }),
  }),
  { maxLength: 40 },
);

const minute = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString();

test('two connections agree on the end of each log, whichever wrote last and wherever places reach to (I1)', async () => {
  await fc.assert(
    fc.asyncProperty(actions, fc.constantFrom(1, 2, 5, 1024), async (history, placeEvery) => {
      const path = temporaryDatabase();
      const stores = [await open(path, placeEvery), await open(path, placeEvery)];
      const logs = new Map<string, string[]>();
      const last = new Map<string, { id: string; expectedSeq: number; at: string; texts: string[] }>();
      let n = 0;
      try {
        for (const { handle, session, kind, size } of history) {
          const store = stores[handle] as SqliteStore;
          const log = logs.get(session) ?? [];
          const at = minute(++n);
          const texts = Array.from({ length: size }, (_, i) => `${n}.${i}`);
          const events = texts.map((text) => event(text, at));
          if (kind === 'append') {
            const append = { id: `id-${n}`, expectedSeq: log.length };
            expect(await store.append(session, events, append)).toEqual({ seq: log.length + size });
            logs.set(session, [...log, ...texts]);
            last.set(session, { ...append, at, texts });
          } else if (kind === 'stale' && log.length > 0) {
            const stale = store.append(session, events, { id: `id-${n}`, expectedSeq: log.length - 1 });
            await expect(stale).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
          } else if (kind === 'repeat') {
            const before = last.get(session);
            if (!before) continue;
            const again = before.texts.map((text) => event(text, before.at));
            const { id, expectedSeq } = before;
            const seq = expectedSeq + again.length;
            expect(await store.append(session, again, { id, expectedSeq })).toEqual({ seq });
            // The last append is recognised wherever its writer believes the log to end.
            expect(await store.append(session, again, { id, expectedSeq: seq })).toEqual({ seq });
          } else if (kind === 'delete') {
            expect(await store.deleteSession(session)).toBe(log.length > 0);
            logs.delete(session);
            last.delete(session);
          } else if (kind === 'fork' && log.length > 0) {
            const target = `fork-${n}`;
            await store.forkSession(session, target, { at: log.length, events });
            logs.set(target, [...log, ...texts]);
          } else if (kind === 'replace' && log.length > 0) {
            await store.replaceEvent(session, { ...note('replaced'), at, seq: log.length } as SessionEvent);
            logs.set(session, [...log.slice(0, -1), 'replaced']);
            last.delete(session);
          }
        }
        for (const store of stores) {
          const listed = await store.listSessions();
          expect(new Map(listed.sessions.map(({ id, seq }) => [id, seq]))).toEqual(
            new Map([...logs].map(([id, log]) => [id, log.length])),
          );
          const withWork = await store.listSessions({ work: true });
          expect(withWork.sessions).toEqual(listed.sessions.filter(({ work }) => work !== undefined));
          for (const [id, log] of logs) {
            const read = await readAll(store, id);
            expect(read.map((event) => (event as unknown as { text: string }).text)).toEqual(log);
            expect(await store.head(id)).toMatchObject({ seq: log.length });
            let summary: SessionSummary | undefined;
            for (const each of read) summary = summarizeSession(summary, each);
            const updatedAt = read.at(-1)?.at;
            expect(listed.sessions.find((info) => info.id === id)).toEqual({
              ...summary,
              id,
              seq: log.length,
              updatedAt,
            });
          }
          expect((await store.check()).problems).toEqual([]);
        }
      } finally {
        for (const store of stores) await store.close();
      }
    }),
    { numRuns: 60 },
  );
}, 120_000);

test('an append writes its events only: no other row of the database changes', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path, { backgroundIndexing: false });
  const { fence } = await leaseOn(store, 's');
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence });
  const others = connect(path).prepareValue<[], string>(
    `SELECT (SELECT json_group_array(json_array(key, id, seq, updated_at, indexed_seq)) FROM sessions) ||
       (SELECT json_group_array(json_array(key, data)) FROM summaries) ||
       (SELECT json_group_array(json_array(name, value)) FROM counters) || (SELECT count(*) FROM places)`,
  );
  const before = others.get();
  for (let seq = 1; seq < 20; seq++) {
    await store.append('s', [note(seq + 1)], { id: `a-${seq}`, expectedSeq: seq, fence });
  }
  expect(others.get()).toBe(before);
  expect(await store.head('s')).toMatchObject({ seq: 20 });
});

test('a lease is not released at a seq that the log has moved on from, also when the events are recent', async () => {
  const path = temporaryDatabase();
  const [one, other] = [await openStore(path), await openStore(path)];
  const { fence } = await leaseOn(one, 's');
  await one.append('s', [note(1)], { id: 'a', expectedSeq: 0, fence });
  await other.append('s', [note(2)], { id: 'b', expectedSeq: 1 });
  expect(await one.releaseLease('s', fence, { seq: 1 })).toBe(false);
  expect(await one.releaseLease('s', fence, { seq: 2 })).toBe(true);
});

/** One of three kinds, as its text says: about the session, an input, or the user's own. */
function event(text: string, at: string): NewEvent {
  const n = Number(text.replace('.', ''));
  if (n % 3 === 0)
    return { type: 'session/described', at, title: text, tags: [`tag-${n}`], text } as unknown as NewEvent;
  if (n % 3 === 1) return { ...note(text), at };
  const content = [{ type: 'text', text }];
  return { type: 'input/queued', at, inputId: text, mode: 'next', content, text } as unknown as NewEvent;
}

test('a recent event that cannot be read stops neither listing nor the appends that give it its place', async () => {
  const path = temporaryDatabase();
  const store = await open(path, 8);
  onTestFinished(() => store.close());
  await store.append('damaged', [note(1), note(2)], { id: 'a', expectedSeq: 0 });
  connect(path).exec("UPDATE events SET data = '{oops'");
  expect((await store.listSessions()).sessions).toMatchObject([{ id: 'damaged', seq: 2 }]);
  for (let seq = 0; seq < 20; seq++) {
    await store.append('whole', [event(`${seq}.0`, minute(seq))], { id: `a-${seq}`, expectedSeq: seq });
  }
  const { sessions } = await store.listSessions();
  expect(sessions).toMatchObject([
    { id: 'whole', seq: 20, title: '18.0', work: 'input' },
    { id: 'damaged', seq: 2 },
  ]);
  expect((await store.check()).problems).toHaveLength(2);
});

test('a summary that cannot be read is folded again, and stops no append of any session', async () => {
  const path = temporaryDatabase();
  const store = await open(path, 8);
  onTestFinished(() => store.close());
  await store.append('damaged', [event('3.0', minute(1)), note(2)], { id: 'a', expectedSeq: 0 });
  await store.append('other', Array.from({ length: 8 }, note), { id: 'a', expectedSeq: 0 });
  connect(path).exec("UPDATE summaries SET data = '{oops'");
  expect((await store.check()).problems.join()).toMatch(/summary of session damaged .*summary of session other/);
  const reopened = await open(path, 8);
  onTestFinished(() => reopened.close());
  expect(await titles(reopened)).toEqual([
    ['damaged', '3.0'],
    ['other', undefined],
  ]);
  await reopened.append('damaged', [note(3)], { id: 'b', expectedSeq: 2 });
  for (let seq = 8; seq < 30; seq++) {
    await reopened.append('other', [note(seq)], { id: `b-${seq}`, expectedSeq: seq });
  }
  expect(await titles(reopened)).toEqual([
    ['damaged', '3.0'],
    ['other', undefined],
  ]);
  expect(await reopened.check()).toMatchObject({ ok: true, problems: [] });
});

test('a process that has written none of them lists many sessions with recent events', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path, { backgroundIndexing: false });
  const ids = Array.from({ length: 300 }, (_, i) => `session-${i}`);
  await Promise.all(
    ids.map((id, i) => store.append(id, [event(`${i}.0`, minute(i)), note(2)], { id: 'a', expectedSeq: 0 })),
  );
  const other = await openStore(path, { backgroundIndexing: false });
  const all = (await other.listSessions({ limit: 1000 })).sessions;
  expect(new Set(all.map(({ id }) => id))).toEqual(new Set(ids));
  const expected = ids.filter((_, i) => (i * 10) % 3 === 2);
  const { sessions } = await other.listSessions({ work: true, limit: 1000 });
  expect(new Set(sessions.map(({ id }) => id))).toEqual(new Set(expected));
  expect(all).toEqual((await store.listSessions({ limit: 1000 })).sessions);
});

async function titles(store: SqliteStore): Promise<readonly (readonly [string, string | undefined])[]> {
  const { sessions } = await store.listSessions();
  return sessions.map(({ id, title }) => [id, title] as const).sort();
}

async function open(path: string, placeEvery: number): Promise<SqliteStore> {
  return storeOnDatabase(await openDatabase(path), path, { busyTimeoutMs: 10_000 }, placeEvery);
}
