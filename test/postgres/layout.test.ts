import pg from 'pg';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { postgresStore } from '../../src/postgres.ts';
import { PostgresDatabase } from '../../src/stores/postgres/connection/database.ts';
import {
  checkServer,
  LAYOUT_VERSION,
  MIGRATIONS,
  type Migration,
  migrate,
} from '../../src/stores/postgres/connection/layout.ts';
import { appendNotes, HOLDER, note, notesOf } from './support/logs.ts';
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

function databaseFor(schema: string): PostgresDatabase {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
  const database = new PostgresDatabase(pool, { schema, retryMs: 0, timeoutMs: 30_000 });
  cleanUps.push(() => database.close(true));
  return database;
}

async function tables(schema: string): Promise<readonly unknown[]> {
  const rows = await queryOnce(databaseUrl(), 'SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema]);
  return rows.map(({ tablename }) => tablename);
}

/** The last step that more than adds is the third: a Holdfast of before would write a summary without what it was folded from. */
const PRESENT = { version: LAYOUT_VERSION, usable_from: 3 };
const layoutOf = (schema: string) => queryOnce(databaseUrl(), `SELECT version, usable_from FROM "${schema}".layout`);

describe('migrating', () => {
  test('by ten processes at once happens once, and all can write', async () => {
    const schema = schemaForTest();
    const stores = await Promise.all(Array.from({ length: 10 }, () => openStore({ schema, maxConnections: 2 })));
    await Promise.all(stores.map((store, i) => appendNotes(store, `s${i}`, 1, 2)));
    for (const [i, store] of stores.entries()) {
      expect(await notesOf(stores[9 - i] as (typeof stores)[0], `s${i}`)).toEqual([1, 2]);
      expect(store.settings().schema).toBe(schema);
    }
    await Promise.all(stores.map((store) => store.close()));
    expect(await layoutOf(schema)).toEqual([PRESENT]);
  });

  test('that is killed in the middle leaves the old layout, and works the next time', async () => {
    const schema = schemaForTest();
    const store = await openStore({ schema });
    cleanUps.push(() => store.close());
    await appendNotes(store, 's', 1, 1);
    const step = (sql: string): Migration => ({ sql: () => sql, usableFrom: 1 });
    const added = `CREATE TABLE "${schema}".added (n int)`;
    const name = newSchema();
    const slow = `SET LOCAL application_name = '${name}'; ${added}; SELECT pg_sleep(600)`;
    const migrating = migrate(databaseFor(schema), {}, [...MIGRATIONS, step(slow)]).catch((error: unknown) => error);
    for (;;) {
      const killed = await queryOnce(
        databaseUrl(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'",
        [name],
      );
      if (killed.length > 0) break;
    }
    expect(await migrating).toMatchObject({ code: 'STORE_FAILED' });
    expect(await tables(schema)).not.toContain('added');
    await appendNotes(store, 's', 2, 2);
    expect(await migrate(databaseFor(schema), {}, [...MIGRATIONS, step(added)])).toEqual({
      from: LAYOUT_VERSION,
      to: LAYOUT_VERSION + 1,
    });
    expect(await tables(schema)).toContain('added');
    // The step only adds: a process of the old version continues, and another one may start (a rolling deploy).
    await appendNotes(store, 's', 3, 3);
    const old = await openStore({ schema });
    cleanUps.push(() => old.close());
    expect(await notesOf(old, 's')).toEqual([1, 2, 3]);
  });

  test('to a layout that an old process cannot use ends that process’s writes with STORE_TOO_NEW while it runs', async () => {
    const schema = schemaForTest();
    const store = await openStore({ schema });
    cleanUps.push(() => store.close());
    await appendNotes(store, 's', 1, 1);
    const { lease } = await store.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
    const breaking: Migration = {
      sql: () => `ALTER TABLE "${schema}".snapshots RENAME TO saved`,
      usableFrom: LAYOUT_VERSION + 1,
    };
    await migrate(databaseFor(schema), {}, [...MIGRATIONS, breaking]);
    const tooNew = { code: 'STORE_TOO_NEW', message: expect.stringContaining('update Holdfast') };
    await expect(appendNotes(store, 's', 2, 2)).rejects.toMatchObject(tooNew);
    await expect(store.append('new', [note(1)], { id: 'a', expectedSeq: 0 })).rejects.toMatchObject(tooNew);
    await expect(store.acquireLease('t', { holder: HOLDER, ttlMs: 1000 })).rejects.toMatchObject(tooNew);
    await expect(store.renewLease('s', lease.fence, 1000)).rejects.toMatchObject(tooNew);
    await expect(store.forkSession('s', 'f', { at: 1, events: [note(1)] })).rejects.toMatchObject(tooNew);
    await expect(store.readSnapshot('s')).rejects.toMatchObject(tooNew);
    await expect(openStore({ schema })).rejects.toMatchObject(tooNew);
    expect(await queryOnce(databaseUrl(), `SELECT count(*)::int AS count FROM "${schema}".events`)).toEqual([
      { count: 1 },
    ]);
  });

  test('makes an append that waits for it fail with STORE_TOO_NEW if the new layout is not for its process', async () => {
    const schema = schemaForTest();
    const store = await openStore({ schema });
    cleanUps.push(() => store.close());
    // Seven times: servers keep the plan of a prepared statement from its sixth run on.
    for (let n = 1; n <= 7; n++) await appendNotes(store, 's', n, n);
    const name = newSchema();
    const breaking: Migration = {
      sql: () => `SET LOCAL application_name = '${name}'; SELECT pg_advisory_xact_lock(hashtext('${name}'))`,
      usableFrom: LAYOUT_VERSION + 1,
    };
    const gate = new pg.Client({ connectionString: databaseUrl() });
    await gate.connect();
    cleanUps.push(() => gate.end());
    await gate.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const migrating = migrate(databaseFor(schema), {}, [...MIGRATIONS, breaking]);
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND`;
    while ((await queryOnce(databaseUrl(), `${waiting} application_name = $1`, [name])).length === 0);
    const appending = appendNotes(store, 's', 8, 8).catch((error: unknown) => error);
    while ((await queryOnce(databaseUrl(), `${waiting} query LIKE $1`, [`%${schema}%INSERT%`])).length === 0);
    await gate.query('SELECT pg_advisory_unlock(hashtext($1))', [name]);
    await migrating;
    expect(await appending).toMatchObject({ code: 'STORE_TOO_NEW' });
    expect(await queryOnce(databaseUrl(), `SELECT max(seq) AS seq FROM "${schema}".events`)).toEqual([{ seq: 7 }]);
  });

  test('from every older layout ends at the present one, in which no process of layout 1 or 2 can write', async () => {
    const steps = MIGRATIONS.map((_, i) => i);
    for (const had of steps) {
      const schema = schemaForTest();
      await migrate(databaseFor(schema), {}, MIGRATIONS.slice(0, had));
      const store = await openStore({ schema });
      await appendNotes(store, 's', 1, 2);
      expect(await notesOf(store, 's')).toEqual([1, 2]);
      await store.close();
      expect(await layoutOf(schema)).toEqual([PRESENT]);
      const text = `SELECT to_regproc('"${schema}".usable_by_2') AS before, to_regproc('"${schema}".usable_by_3')::text AS now`;
      expect(await queryOnce(databaseUrl(), text)).toEqual([
        { before: null, now: expect.stringContaining('usable_by_3') },
      ]);
    }
  });

  test('is left to `holdfast migrate` with migrate: false', async () => {
    const schema = schemaForTest();
    await expect(openStore({ schema, migrate: false })).rejects.toMatchObject({
      code: 'STORE_UNSUPPORTED',
      message: expect.stringContaining(`holdfast migrate <url> --schema ${schema}`),
    });
    expect(await main(['migrate', databaseUrl(), '--schema', schema, '--partitions', '3'])).toBe(0);
    expect(await tables(schema)).toContain('events_2');
    expect(await main(['migrate', databaseUrl(), '--schema', schema])).toBe(0);
    const store = await openStore({ schema, migrate: false });
    await appendNotes(store, 's', 1, 2);
    await store.close();
    vi.stubEnv('DATABASE_URL', undefined); // it may name the server of the tests
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await main(['migrate'])).toBe(1);
  });
});

test('a server older than PostgreSQL 14 or a standby is refused with a sentence that says what to do', async () => {
  const answering = (row: object) => ({
    query: async <Row>() => [row] as unknown as readonly Row[],
    run: async () => 0,
  });
  const good = { version: '180004', encoding: 'UTF8', commit: 'on', standby: false };
  await checkServer(answering(good));
  await expect(checkServer(answering({ ...good, version: '130010' }))).rejects.toMatchObject({
    code: 'STORE_UNSUPPORTED',
    message: 'the server is PostgreSQL 13; update it to 14 or newer',
  });
  await expect(checkServer(answering({ ...good, standby: true }))).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
});

test('a pool that the caller passed stays open, and the event loop renews its leases', async () => {
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
  cleanUps.push(() => pool.end());
  const store = await postgresStore(pool, { schema: schemaForTest() });
  expect(store.settings()).toMatchObject({ renewsIn: 'event loop', watchesBy: 'notices', isTransactionPooled: false });
  await appendNotes(store, 's', 1, 2);
  await store.close();
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
});
