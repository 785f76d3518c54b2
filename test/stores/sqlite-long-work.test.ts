/** Deleting and forking long sessions: in short transactions, and completed or undone after a kill at any of them (I1). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SessionEvent } from '../../src/core/log/events.ts';
import type { ContentWrite } from '../../src/ports/store.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { SLICE_CHARACTERS, SLICE_EVENTS, SliceBudget } from '../../src/stores/sqlite/long-work/slice-budget.ts';
import { systemClock } from '../../src/stores/system-clock.ts';
import { chunk, leaseOn, note, openStore, readAll, said, temporaryDatabase } from './support/temporary.ts';
import { traceCommits } from './support/traced-commits.ts';

const LENGTH = 4500;
const worker = join(import.meta.dirname, 'support', 'long-worker.ts');

/** A database with a session `long`, and a session `kept` that shares a content with it. */
async function longDatabase(length = LENGTH): Promise<string> {
  const path = temporaryDatabase();
  const store = await openStore(path, { backgroundIndexing: false });
  const shared: ContentWrite = { event: 0, hash: 'sha256:shared', text: 'shared' };
  const contents = [shared, { event: length - 1, hash: 'sha256:own', text: 'own' }];
  await store.append('kept', [said('kept word')], { id: 'a', expectedSeq: 0, contents: [shared] });
  await store.append(
    'long',
    Array.from({ length }, (_, i) => said(`long word ${i}`)),
    { id: 'a', expectedSeq: 0, contents, callContents: { put: [{ call: 'c', text: 'exact' }] } },
  );
  const { fence } = await leaseOn(store, 'long');
  await store.appendDraft('long', [chunk(fence, 1)], { fence });
  await store.search('word');
  await store.close();
  return path;
}

/** A copy of a database that no store has open. */
function copyOf(path: string): string {
  const copy = temporaryDatabase();
  copyFileSync(path, copy);
  return copy;
}

/** Counts the rows and characters that each transaction writes or deletes, in tables that grow with a session. */
function countTransactions(path: string): readonly { readonly events: number; readonly characters: number }[] {
  const plain = new Database(path, { timeoutMs: 5000 });
  plain.exec('CREATE TABLE touched (events INTEGER, characters INTEGER)');
  for (const [table, column, isEvent] of [
    ['events', 'data', 1],
    ['contents', 'text', 0],
    ['drafts', 'data', 0],
    ['call_contents', 'text', 0],
  ] as const) {
    for (const [verb, row] of [
      ['INSERT', 'new'],
      ['DELETE', 'old'],
    ] as const) {
      plain.exec(`CREATE TRIGGER count_${verb}_${table} AFTER ${verb} ON ${table} BEGIN
        INSERT INTO touched VALUES (${isEvent}, length(${row}.${column})); END`);
    }
  }
  plain.close();
  const transactions: { events: number; characters: number }[] = [];
  onTestFinished(
    traceCommits({
      before(database) {
        const [row] = database
          .prepareRows<[], readonly [number, number]>(
            'SELECT coalesce(sum(events), 0), coalesce(sum(characters), 0) FROM touched',
          )
          .all();
        const [events = 0, characters = 0] = row ?? [];
        if (characters > 0) database.exec('DELETE FROM touched');
        transactions.push({ events, characters });
      },
    }),
  );
  return transactions;
}

describe('a transaction of long work touches at most 2,000 events and 1 MB', () => {
  /** The clock stands still: only the amount of work ends a transaction. */
  function stopTime(): void {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
  }

  test('while many small events are forked, deleted and their drafts and contents of calls removed', async () => {
    stopTime();
    const path = await longDatabase();
    const transactions = countTransactions(path);
    const store = await openStore(path, { backgroundIndexing: false });
    const { fence } = await leaseOn(store, 'other');
    await store.append('other', [note(1)], {
      id: 'a',
      expectedSeq: 0,
      callContents: { put: Array.from({ length: 40 }, (_, i) => ({ call: `c${i}`, text: 'x'.repeat(100_000) })) },
    });
    for (let n = 1; n <= 3000; n += 500) {
      const chunks = Array.from({ length: 500 }, (_, i) => chunk(fence, n + i));
      await store.appendDraft('other', chunks, { fence });
    }
    const before = transactions.length;
    await store.forkSession('long', 'fork', { at: LENGTH, events: [note('end')] });
    await store.deleteSession('long');
    await store.deleteSession('other');
    const own = transactions.slice(before);
    expect(Math.max(...own.map(({ events }) => events))).toBe(SLICE_EVENTS);
    expect(Math.max(...own.map(({ characters }) => characters))).toBeLessThanOrEqual(SLICE_CHARACTERS);
    expect(own.reduce((sum, { events }) => sum + events, 0)).toBe(2 * LENGTH + 2);
    expect(await store.check()).toMatchObject({ ok: true, sessions: 2, events: LENGTH + 2 });
  });

  test('while large events with large contents are forked and deleted, except that one event may be larger', async () => {
    stopTime();
    const path = temporaryDatabase();
    await (await openStore(path)).close();
    const transactions = countTransactions(path);
    const store = await openStore(path, { backgroundIndexing: false });
    const text = (i: number) => 'x'.repeat(i === 5 ? 2 * SLICE_CHARACTERS : 300_000);
    for (let i = 0; i < 12; i++) {
      const contents = [{ event: 0, hash: `sha256:${i}`, text: 'y'.repeat(400_000) }];
      await store.append('s', [note(text(i))], { id: `a${i}`, expectedSeq: i, contents });
    }
    const before = transactions.length;
    await store.forkSession('s', 'fork', { at: 12, events: [note('end')] });
    await store.deleteSession('s');
    await store.deleteSession('fork');
    const large = transactions.slice(before).filter(({ characters }) => characters > SLICE_CHARACTERS);
    expect(large.map(({ events }) => events)).toEqual([1, 1, 1]);
    expect(await store.check()).toMatchObject({ ok: true, sessions: 0, events: 0 });
    expect(new Set(rows(path, 'contents'))).toEqual(new Set());
  });

  test('or less, if it took 5 ms', () => {
    stopTime();
    const budget = new SliceBudget();
    expect(budget.take(1)).toBe(true);
    vi.advanceTimersByTime(6);
    expect(budget.take(1)).toBe(false);
    expect(new SliceBudget().take(3 * SLICE_CHARACTERS)).toBe(true);
  });
});

test('an append does not wait for the end of a deletion or a fork, and is not undone by it', async () => {
  const path = await longDatabase();
  const store = await openStore(path, { backgroundIndexing: false });
  const order: string[] = [];
  const stored: number[] = [];
  const appended = (): void => {
    order.push('append');
    stored.push(rows(path, 'events').length);
  };
  const work = [
    store.forkSession('long', 'fork', { at: LENGTH, events: [note('end')] }).then(() => order.push('fork')),
    store.append('other', [note(1)], { id: 'a', expectedSeq: 0 }).then(appended),
  ];
  await Promise.all(work);
  expect(order).toEqual(['append', 'fork']);
  await Promise.all([
    store.deleteSession('long').then(() => order.push('delete')),
    store.append('other', [note(2)], { id: 'b', expectedSeq: 1 }).then(appended),
  ]);
  expect(order.slice(2)).toEqual(['append', 'delete']);
  // When the first append returned, the fork was not copied; when the second did, the session was not removed.
  expect(stored[0]).toBeLessThan(2 * LENGTH);
  expect(stored[1]).toBeGreaterThan(LENGTH + 4);
  expect(await store.check()).toMatchObject({ ok: true, sessions: 3, events: LENGTH + 4 });
});

/** One column of a table, as another connection sees it. */
function rows(path: string, table: string): readonly unknown[] {
  const database = new Database(path, { readOnly: true, timeoutMs: 5000 });
  try {
    return database.prepareValue<[], string>(`SELECT * FROM ${table}`).all();
  } finally {
    database.close();
  }
}

/** Waits until the store has removed the leftovers of a killed process in the background. */
async function untilRemoved(path: string, table: string, where: string): Promise<void> {
  while (rows(path, `(SELECT 1 FROM ${table} WHERE ${where})`).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function runWorker(path: string, work: 'delete' | 'fork', commits: number): Promise<'killed' | 'done'> {
  const child = spawn(process.execPath, [worker, path, work, String(commits)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data;
    });
  }
  const [, signal] = await once(child, 'close');
  if (signal === null) expect(output).toMatch(/done after/);
  return signal === 'SIGKILL' ? 'killed' : 'done';
}

test('a session whose deletion is killed after any of its transactions is gone, and its rows are removed (I1)', async () => {
  const original = await longDatabase();
  let kills = 0;
  for (;;) {
    const path = copyOf(original);
    const outcome = await runWorker(path, 'delete', kills + 1);
    if (outcome === 'done') break;
    kills++;
    const store = await openStore(path, { backgroundIndexing: false });
    expect(await store.head('long')).toEqual({ incarnation: 2, seq: 0, revision: 0 });
    expect(await readAll(store, 'long')).toEqual([]);
    expect(await store.readDraft('long')).toEqual([]);
    expect(await store.readCallContent('long', 'c')).toBeUndefined();
    expect(await store.search('long')).toEqual([]);
    expect((await store.listSessions()).sessions.map(({ id }) => id)).toEqual(['kept']);
    expect(await store.check()).toEqual({ ok: true, problems: [], sessions: 1, events: 1 });
    const late = store.append('long', [note('late')], { id: 'b', expectedSeq: LENGTH, incarnation: 1 });
    await expect(late).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await store.append('long', [said('anew word')], { id: 'b', expectedSeq: 0, incarnation: 2 });

    await untilRemoved(path, 'doomed', '1');
    expect(rows(path, 'events')).toHaveLength(2);
    for (const table of ['drafts', 'call_contents']) expect(rows(path, table), table).toEqual([]);
    expect(rows(path, 'contents')).toEqual(['sha256:shared']);
    expect(await store.readContent('kept', 'sha256:shared')).toBe('shared');
    expect((await store.search('word')).map(({ sessionId }) => sessionId).toSorted()).toEqual(['kept', 'long']);
    expect(await store.check()).toEqual({ ok: true, problems: [], sessions: 2, events: 2 });
    await store.close();
  }
  expect(kills).toBeGreaterThan(3);
});

test('a fork that is killed after any of its transactions is complete or does not exist, and is removed (I1)', async () => {
  let [kills, halves] = [0, 0];
  const original = await longDatabase();
  const whole = { ok: true, problems: [], sessions: 2, events: LENGTH + 1 };
  for (;;) {
    const path = copyOf(original);
    const outcome = await runWorker(path, 'fork', kills + 1);
    if (outcome === 'done') break;
    kills++;
    const store = await openStore(path, { backgroundIndexing: false });
    const { seq } = await store.head('fork');
    if (seq > 0) {
      expect(await readAll(store, 'fork')).toHaveLength(LENGTH + 1);
      expect(await store.readContent('fork', 'sha256:own')).toBe('own');
      await store.close();
      continue;
    }
    halves++;
    expect(await readAll(store, 'fork')).toEqual([]);
    expect((await store.listSessions()).sessions.map(({ id }) => id).toSorted()).toEqual(['kept', 'long']);
    expect(await store.check()).toEqual(whole);
    await store.close();
    // A slow process cannot be distinguished from a dead one at once.
    const later = await openStore(path, {
      backgroundIndexing: false,
      clock: { ...systemClock, now: () => Date.now() + 11 * 60_000 },
    });
    await untilRemoved(path, 'sessions', 'building_until IS NOT NULL');
    await untilRemoved(path, 'doomed', '1');
    expect(rows(path, 'events')).toHaveLength(LENGTH + 1);
    expect(await later.check()).toEqual(whole);
    expect(await later.forkSession('long', 'fork', { at: LENGTH, events: [note('end')] })).toEqual({ seq: LENGTH + 1 });
    await later.close();
  }
  expect(kills).toBeGreaterThan(3);
  expect(halves).toBeGreaterThan(3);
});

test('a fork of a log that lacks an event is STORE_CORRUPT and leaves nothing', async () => {
  const path = await longDatabase(300);
  const plain = new Database(path, { timeoutMs: 5000 });
  plain.exec("DELETE FROM events WHERE seq = 200 AND key = (SELECT key FROM sessions WHERE id = 'long')");
  plain.close();
  const store = await openStore(path, { backgroundIndexing: false });
  const fork = store.forkSession('long', 'fork', { at: 300, events: [note('end')] });
  await expect(fork).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  expect(rows(path, 'sessions')).toHaveLength(2);
});

test('an index that is rebuilt while a session is being deleted keeps the words of the others', async () => {
  const path = await longDatabase();
  expect(await runWorker(path, 'delete', 2)).toBe('killed');
  const plain = new Database(path, { timeoutMs: 5000 });
  plain.exec("UPDATE counters SET value = 999 WHERE name = 'search version'");
  plain.close();
  const store = await openStore(path, { backgroundIndexing: false });
  await store.replaceEvent('kept', { ...said('other word'), seq: 1 } as SessionEvent);
  await untilRemoved(path, 'doomed', '1');
  expect((await store.search('word')).map(({ sessionId }) => sessionId)).toEqual(['kept']);
  const index = new Database(path, { timeoutMs: 5000 });
  index.exec("INSERT INTO search (search, rank) VALUES ('integrity-check', 0)");
  index.close();
});
