/** Appends that may be synced later: committed at once, synced by the next commit or at the end of the turn (docs/storage.md). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WriteQueue } from '../../src/stores/sqlite/connection/write-queue.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import type { SqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { note, openStore, temporaryDatabase } from './support/temporary.ts';
import { TracedDatabase } from './support/traced-database.ts';

const LATE = { syncLater: true } as const;

/** How many commits the store made only to sync others. */
function ownSyncs(path: string): number {
  const database = new Database(path, { readOnly: true, timeoutMs: 1000 });
  try {
    return database.prepareValue<[], number>("SELECT value FROM counters WHERE name = 'syncs'").get() ?? 0;
  } finally {
    database.close();
  }
}

test('a late append that no commit follows is synced by the store itself, once', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, ...LATE });
  await store.append('s', [note(2)], { id: 'b', expectedSeq: 1, ...LATE });
  while (ownSyncs(path) === 0) await nextTurn();
  await store.close();
  expect(ownSyncs(path)).toBe(1);
});

test('a late append that another commit follows in the same turn needs no sync of its own', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
  await store.append('s', [note(2)], { id: 'b', expectedSeq: 1, ...LATE });
  await store.append('s', [note(3)], { id: 'c', expectedSeq: 2 });
  await store.close();
  expect(ownSyncs(path)).toBe(0);
});

test('a store that is closed right after a late append syncs it first', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, ...LATE });
  await store.close();
  expect(ownSyncs(path)).toBe(1);
});

test('a store that is closed while a late append is queued commits and syncs it', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  const appending = store.append('s', [note(1)], { id: 'a', expectedSeq: 0, ...LATE });
  await store.close();
  expect(await appending).toEqual({ seq: 1 });
  expect(ownSyncs(path)).toBe(1);
});

type Action = (store: SqliteStore) => Promise<unknown>;
const WRITES_NOTHING: readonly (readonly [string, Action])[] = [
  ['the same append again, without syncLater', (store) => store.append('s', [note(2)], { id: 'b', expectedSeq: 1 })],
  ['a rejected append', (store) => store.append('s', [note(9)], { id: 'c', expectedSeq: 0 }).catch(() => {})],
  ['a lease that is not renewed', (store) => store.renewLease('s', 99, 1000)],
];

test.for(WRITES_NOTHING)(
  'a commit that writes nothing does not count as the sync of a late append: %s',
  async ([, act]) => {
    const path = temporaryDatabase();
    const store = await openStore(path);
    await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
    await store.append('s', [note(2)], { id: 'b', expectedSeq: 1, ...LATE });
    await act(store);
    while (ownSyncs(path) === 0) await nextTurn();
    await store.close();
    expect(ownSyncs(path)).toBe(1);
  },
);

test('an append that repeats a late one is acknowledged when it is synced', async () => {
  const path = temporaryDatabase();
  const store = await openStore(path);
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, ...LATE });
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
  expect(ownSyncs(path)).toBe(1);
});

test('another connection reads a late append as soon as it is acknowledged', async () => {
  const path = temporaryDatabase();
  const [store, other] = [await openStore(path), await openStore(path)];
  await store.append('s', [note(1)], { id: 'a', expectedSeq: 0, ...LATE });
  expect((await other.head('s')).seq).toBe(1);
});

function recordingQueue(): {
  readonly queue: WriteQueue;
  readonly ran: string[];
  readonly database: TracedDatabase;
} {
  const database = new TracedDatabase(temporaryDatabase(), { timeoutMs: 5 });
  onTestFinished(() => {
    database.close();
  });
  database.pragma('journal_mode = WAL');
  database.exec('CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT');
  database.statements.length = 0;
  return { queue: new WriteQueue(database, 'test', 1000), ran: database.statements, database };
}

test('only the late commit is made without a sync: the connection is FULL before and after it', async () => {
  const { queue, ran, database } = recordingQueue();
  await queue.submit(() => {}, { sync: 'soon' });
  expect(ran).toEqual(['PRAGMA synchronous = NORMAL', 'BEGIN IMMEDIATE', 'COMMIT', 'PRAGMA synchronous = FULL']);
  expect(database.pragma('synchronous')).toBe(2);
  await queue.idle();
  expect(ran.slice(4)).toEqual(['BEGIN IMMEDIATE', expect.stringMatching(/^INSERT INTO counters/), 'COMMIT']);
});

test('a commit that is shared with work that waits for the disk is synced', async () => {
  const { queue, ran } = recordingQueue();
  await Promise.all([queue.submit(() => {}, { sync: 'soon' }), queue.submit(() => {})]);
  await queue.idle();
  expect(ran).toEqual(['BEGIN IMMEDIATE', 'COMMIT']);
});

test('a late commit that fails owes no sync', async () => {
  const { queue, ran } = recordingQueue();
  const failing = queue.submit(
    () => {
      throw new Error('the work fails');
    },
    { sync: 'soon' },
  );
  await expect(failing).rejects.toThrow('the work fails');
  await queue.idle();
  expect(ran.filter((sql) => sql.startsWith('INSERT'))).toEqual([]);
});
