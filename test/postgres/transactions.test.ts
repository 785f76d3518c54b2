/** The connections of a store: transactions that fail, and pools that the caller passes. */
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { type PostgresStore, postgresStore } from '../../src/postgres.ts';
import type { AppendJoin } from '../../src/stores/postgres/append-joins.ts';
import type { PgPool } from '../../src/stores/postgres/pg.ts';
import { CuttingProxy } from './support/cutting-proxy.ts';
import { appendNotes, note, notesOf, upTo } from './support/logs.ts';
import { databaseUrl, dropSchema, newSchema, openStore } from './support/schemas.ts';
import { queryOnce } from './support/server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function schemaForTest(): string {
  const schema = newSchema();
  cleanUps.push(() => dropSchema(schema));
  return schema;
}

/** A store, and another one that sees only what is committed. */
async function twoStores(): Promise<readonly [PostgresStore, PostgresStore]> {
  const schema = schemaForTest();
  const stores = [await openStore({ schema }), await openStore({ schema })] as const;
  for (const store of stores) cleanUps.push(() => store.close());
  return stores;
}

function poolForTest(max: number): PgPool {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max });
  cleanUps.push(() => pool.end());
  return pool as PgPool;
}

describe('a join', () => {
  const refusing = (run: AppendJoin['run']): AppendJoin => ({ wants: ({ sessionId }) => sessionId === 'joined', run });

  test.for<readonly [string, AppendJoin['run'], string]>([
    ['throws an error of its own', () => Promise.reject(new Error('not now')), 'not now'],
    [
      'ignores the error of its statement',
      async (transaction) => void (await transaction.query('SELECT * FROM no_such_table').catch(() => [])),
      'nothing was committed',
    ],
  ])('that %s rejects its append, and what is appended next is committed (I1)', async ([, run, message]) => {
    const [store, other] = await twoStores();
    await appendNotes(store, 's', 1, 1);
    store.joinAppends(refusing(run));
    const refused = appendNotes(store, 'joined', 1, 1);
    await expect(refused).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining(message) });
    await appendNotes(store, 's', 2, 6);
    expect(await notesOf(other, 's')).toEqual(upTo(6));
    expect(await notesOf(other, 'joined')).toEqual([]);
  });
});

test('a transaction whose process is silent is ended by the server, and another process appends to its session', async () => {
  const schema = schemaForTest();
  const silent = await openStore({ schema, timeoutMs: 1000 });
  cleanUps.push(() => silent.close());
  const store = await openStore({ schema });
  cleanUps.push(() => store.close());
  await appendNotes(store, 's', 1, 1);
  const started = Promise.withResolvers<void>();
  const silence = Promise.withResolvers<void>();
  silent.joinAppends({
    wants: () => true,
    async run() {
      started.resolve();
      await silence.promise;
    },
  });
  const late = silent.append('s', [note('late')], { id: 'late', expectedSeq: 1 });
  late.catch(() => {});
  await started.promise;
  await appendNotes(store, 's', 2, 2);
  silence.resolve();
  await expect(late).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
  expect(await notesOf(store, 's')).toEqual([1, 2]);
});

test('sessions whose rows are locked by another process do not delay the appends of others', async () => {
  const schema = schemaForTest();
  const store = await openStore({ schema, maxConnections: 10 });
  cleanUps.push(() => store.close());
  const locked = ['a', 'b', 'c'];
  for (const id of [...locked, 'd', 'e', 'f', 'free']) await appendNotes(store, id, 1, 1);
  const blocker = new pg.Client(databaseUrl());
  await blocker.connect();
  cleanUps.push(() => blocker.end());
  await blocker.query('BEGIN');
  await blocker.query(`SELECT 1 FROM "${schema}".sessions WHERE id IN ('a', 'b', 'c', 'd') FOR UPDATE`);
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}"%' AND pid <> pg_backend_pid()`;
  const late: Promise<void>[] = [];
  for (const id of locked) {
    late.push(appendNotes(store, id, 2, 2));
    while ((await queryOnce(databaseUrl(), waiting)).length < late.length);
  }
  // While the first two are on their way, the others wait, and are sent together.
  const first = ['e', 'f'].map((id) => appendNotes(store, id, 2, 2));
  late.push(appendNotes(store, 'd', 2, 2));
  await Promise.all([...first, appendNotes(store, 'free', 2, 20)]);
  await blocker.query('ROLLBACK');
  await Promise.all(late);
  for (const id of [...locked, 'd']) expect(await notesOf(store, id)).toEqual([1, 2]);
  expect(await notesOf(store, 'free')).toEqual(upTo(20));
});

describe("a caller's pool", () => {
  test('of one connection is refused at once', async () => {
    await expect(postgresStore(poolForTest(1))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('max'),
    });
  });

  test('of three connections serves a store that listens, and stores that open at once', async () => {
    const pool = poolForTest(3);
    const schema = schemaForTest();
    await (await postgresStore(pool, { schema })).close();
    const opened = await Promise.all(upTo(4).map(() => postgresStore(pool, { schema })));
    for (const store of opened) cleanUps.push(() => store.close());
    const [first, second] = opened as [PostgresStore, PostgresStore];
    const { promise, resolve } = Promise.withResolvers<void>();
    cleanUps.push(async () => stop());
    const stop = second.watch('s', resolve);
    await Promise.all(upTo(10).map((n) => appendNotes(first, `s${n}`, 1, 10)));
    await appendNotes(first, 's', 1, 20);
    await promise;
    expect(await notesOf(second, 's')).toEqual(upTo(20));
  });

  test('whose connections are all in use is STORE_BUSY, and works when one is free', async () => {
    const pool = poolForTest(2);
    const store = await postgresStore(pool, { schema: schemaForTest(), timeoutMs: 300, retryMs: 0 });
    cleanUps.push(() => store.close());
    await appendNotes(store, 's', 1, 1);
    const held = [await pool.connect(), await pool.connect()];
    await expect(appendNotes(store, 's', 2, 2)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    for (const client of held) client.release();
    await appendNotes(store, 's', 2, 2);
    expect(await notesOf(store, 's')).toEqual([1, 2]);
  });
});

test('an append that follows others at once and does not end in time is cancelled, and not sent again when there is no time to retry', async () => {
  const schema = schemaForTest();
  const proxy = await CuttingProxy.start(databaseUrl());
  cleanUps.push(() => proxy.stop());
  const blocker = new pg.Client(databaseUrl());
  await blocker.connect();
  cleanUps.push(() => blocker.end());
  const store = await postgresStore(proxy.urlFor(databaseUrl()), { schema, timeoutMs: 500, retryMs: 0 });
  cleanUps.push(() => store.close());
  const key = process.pid;
  await blocker.query(
    `CREATE FUNCTION "${schema}".wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       PERFORM pg_advisory_xact_lock(${key}); RETURN NEW; END $$;
     CREATE TRIGGER wait BEFORE INSERT ON "${schema}".events FOR EACH ROW WHEN (NEW.seq = 3) EXECUTE FUNCTION "${schema}".wait()`,
  );
  await blocker.query(`SELECT pg_advisory_lock(${key})`);
  let sent = 0;
  proxy.arm('before', (statement) => {
    if (/append\d/.test(statement)) sent++;
    return false;
  });
  await appendNotes(store, 's', 1, 2);
  const before = sent;
  await expect(appendNotes(store, 's', 3, 3)).rejects.toMatchObject({ code: 'STORE_BUSY' });
  expect(sent - before).toBe(1);
  // The server does not work on it any longer.
  const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${key} AND NOT granted`;
  while ((await blocker.query(waiting)).rows.length > 0);
  await blocker.query(`SELECT pg_advisory_unlock(${key})`);
  await appendNotes(store, 's', 3, 4);
  expect(await notesOf(store, 's')).toEqual(upTo(4));
});
