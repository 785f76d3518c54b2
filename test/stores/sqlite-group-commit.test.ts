import { expect, onTestFinished, test, vi } from 'vitest';
import { HoldfastError } from '../../src/core/errors.ts';
import { RefusedAfterWriting, WriteQueue } from '../../src/stores/sqlite/connection/write-queue.ts';
import type { Database } from '../../src/stores/sqlite/driver.ts';
import { temporaryDatabase } from './support/temporary.ts';
import { TracedDatabase } from './support/traced-database.ts';

/** A database with one table, and a record of the statements. */
function tracedDatabase(path = temporaryDatabase()): { readonly database: Database; readonly statements: string[] } {
  const database = new TracedDatabase(path, { timeoutMs: 5 });
  onTestFinished(() => {
    database.close();
  });
  database.pragma('journal_mode = WAL');
  database.exec('CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY)');
  return { database, statements: database.statements };
}

const count = (statements: readonly string[], sql: string): number =>
  statements.filter((statement) => statement === sql).length;

function stored(database: Database): unknown[] {
  return database.prepareValue<[], number>('SELECT n FROM numbers ORDER BY n').all();
}

test('writes of one turn share one transaction, and a single write has its own', async () => {
  const { database, statements } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  await Promise.all(Array.from({ length: 100 }, (_, n) => queue.submit(() => insert.run(n))));
  expect(count(statements, 'COMMIT')).toBe(1);
  await queue.submit(() => insert.run(100));
  expect(count(statements, 'COMMIT')).toBe(2);
  expect(stored(database)).toEqual(Array.from({ length: 101 }, (_, n) => n));
});

test('writers that resume together stay together', async () => {
  const { database, statements } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  await Promise.all(
    Array.from({ length: 10 }, async (_, writer) => {
      for (let n = 0; n < 5; n++) {
        await queue.submit(() => insert.run(writer * 5 + n));
        // Some of them wait a little longer than others.
        for (let turn = 0; turn < writer; turn++) await Promise.resolve();
      }
    }),
  );
  expect(count(statements, 'COMMIT')).toBe(5);
});

test('a session that writes alone does not wait for the end of the turn; beside another it does', async () => {
  const { database, statements } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  await queue.submit(() => insert.run(0), { writer: 'a' });
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  await queue.submit(() => insert.run(1), { writer: 'a' });
  expect(turned).toBe(false);
  await Promise.all(['b', 'c', 'b'].map((writer, i) => queue.submit(() => insert.run(2 + i), { writer })));
  await Promise.all(['a', 'b'].map((writer, i) => queue.submit(() => insert.run(5 + i), { writer })));
  expect(count(statements, 'COMMIT')).toBe(4);
});

test('timers and input are served while a session writes alone, however fast its writes follow each other', async () => {
  const { database } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const read = database.prepare('SELECT count(*) FROM numbers');
  let fired = false;
  setTimeout(() => {
    fired = true;
  }, 1);
  while (!fired) await queue.submit(() => read.get(), { writer: 'a' }); // would never end
});

test('a rejection fails only its own work, before or after writing (D51)', async () => {
  const { database } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  const refusal = new HoldfastError('INVALID_ARGUMENT', 'no');
  const outcomes = await Promise.allSettled([
    queue.submit(() => insert.run(1).changes),
    queue.submit(() => {
      throw refusal;
    }),
    queue.submit(() => {
      insert.run(2);
      throw new RefusedAfterWriting(refusal);
    }),
    queue.submit(() => insert.run(1)),
    queue.submit(() => insert.run(3).changes),
  ]);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.code))).toEqual([
    1,
    'INVALID_ARGUMENT',
    'INVALID_ARGUMENT',
    'STORE_FAILED',
    1,
  ]);
  expect(stored(database)).toEqual([1, 3]);
  expect(await queue.submit(() => insert.run(4).changes)).toBe(1);
});

test('no write resolves before it is committed', async () => {
  const path = temporaryDatabase();
  const { database } = tracedDatabase(path);
  const other = tracedDatabase(path).database;
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  const seen: unknown[] = [];
  await Promise.all([1, 2, 3].map((n) => queue.submit(() => insert.run(n)).then(() => seen.push(stored(other)))));
  expect(seen).toEqual(Array(3).fill([1, 2, 3]));
});

test('long work runs in its own transaction, after the waiting writes', async () => {
  const { database, statements } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const order: string[] = [];
  await Promise.all([
    queue.submitAlone(() => order.push('alone 1')),
    queue.submit(() => order.push('first')),
    queue.submitAlone(() => order.push('alone 2')),
    queue.submit(() => order.push('second')),
  ]);
  expect(order).toEqual(['first', 'second', 'alone 1', 'alone 2']);
  expect(count(statements, 'COMMIT')).toBe(3);
});

test('later writes join a write that waits for a lock', async () => {
  const path = temporaryDatabase();
  const { database, statements } = tracedDatabase(path);
  const other = tracedDatabase(path).database;
  const queue = new WriteQueue(database, 'test', 20_000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  other.exec('BEGIN IMMEDIATE');
  const first = queue.submit(() => insert.run(1));
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  const second = queue.submit(() => insert.run(2));
  other.exec('COMMIT');
  await Promise.all([first, second]);
  expect(stored(database)).toEqual([1, 2]);
  expect(count(statements, 'COMMIT')).toBe(1);
});

test('a queue is idle when all work is done', async () => {
  const { database } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  let answered = 0;
  for (let n = 0; n < 1500; n++) void queue.submit(() => insert.run(n)).then(() => answered++);
  await queue.idle();
  expect(stored(database).length).toBe(1500);
  expect(answered).toBe(1500);
  await queue.idle();
});

test('long work makes progress beside a session that writes without a pause', async () => {
  const { database } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  let isOver = false;
  const writing = (async () => {
    for (let n = 0; !isOver; n++) await queue.submit(() => insert.run(n), { writer: 'one' });
  })();
  await queue.submitAlone(() => {});
  isOver = true;
  await writing;
});

test('long work releases the lock now and then, so that other processes get it', async () => {
  const { database } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const insert = database.prepare<[number]>('INSERT INTO numbers VALUES (?)');
  let ticks = 0;
  let mostTicks = 0;
  const timer = setInterval(() => {
    ticks++;
  }, 2);
  onTestFinished(() => clearInterval(timer));
  const slice = (n: number): void => {
    mostTicks = Math.max(mostTicks, ticks);
    insert.run(n);
    for (const end = performance.now() + 20; performance.now() < end; );
    ticks = 0;
  };
  for (let n = 0; n < 20; n++) await queue.submitAlone(() => slice(n));
  // A due timer fires once between two slices.
  expect(mostTicks).toBeGreaterThan(2);
});

test('long work gets a third of the time beside a session that writes without a pause', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { database } = tracedDatabase();
  const queue = new WriteQueue(database, 'test', 1000);
  const order: string[] = [];
  const take = (who: string, ms: number) => (): void => {
    order.push(who);
    vi.advanceTimersByTime(ms);
  };
  let isOver = false;
  const writing = (async () => {
    while (!isOver) await queue.submit(take('writer', 1), { writer: 'one' });
  })();
  for (let n = 0; n < 6; n++) await queue.submitAlone(take('slice', 5));
  isOver = true;
  await writing;
  const pauses = order
    .join(' ')
    .split('slice')
    .slice(1, 6)
    .map((writes) => writes.match(/writer/g)?.length ?? 0);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(12);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(10);
});

test('only the commit of a slice does not wait for the disk, with any writes before and after it', async () => {
  const { database } = tracedDatabase();
  database.pragma('synchronous = FULL');
  const queue = new WriteQueue(database, 'test', 1000);
  const level = (): unknown => database.pragma('synchronous');
  const fails = (): void => {
    throw new Error('broken');
  };
  const [FULL, NORMAL] = [2, 1];
  const levels = [queue.submitSlice(level), queue.submitAlone(level), queue.submit(level), queue.submitSlice(level)];
  expect(await Promise.all(levels)).toEqual([NORMAL, FULL, FULL, NORMAL]);
  expect(level()).toBe(FULL);
  await expect(queue.submitSlice(fails)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(await queue.submit(level)).toBe(FULL);
});
