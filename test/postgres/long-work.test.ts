import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SessionEvent } from '../../src/core/log/events.ts';
import type { PostgresStore } from '../../src/postgres.ts';
import { SLICE_BYTES, SLICE_EVENTS } from '../../src/stores/postgres/rows/session-removal.ts';
import { note, upTo } from './support/logs.ts';
import { databaseUrl, dropSchema, newSchema, openStore } from './support/schemas.ts';
import { queryOnce } from './support/server.ts';

const EVENTS = 12_000;
const LARGE = 300_000;

let schema: string;
let store: PostgresStore;
beforeEach(async () => {
  schema = newSchema();
  store = await openStore({ schema, backgroundIndexing: false });
  // Counts what each statement changes in the log.
  await queryOnce(
    databaseUrl(),
    `CREATE TABLE "${schema}".changes (events bigint, bytes bigint);
     CREATE FUNCTION "${schema}".count_changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO "${schema}".changes SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM changed; RETURN NULL; END $$;
     CREATE TRIGGER deleted AFTER DELETE ON "${schema}".events REFERENCING OLD TABLE AS changed
       FOR EACH STATEMENT EXECUTE FUNCTION "${schema}".count_changes();
     CREATE TRIGGER inserted AFTER INSERT ON "${schema}".events REFERENCING NEW TABLE AS changed
       FOR EACH STATEMENT EXECUTE FUNCTION "${schema}".count_changes()`,
  );
});
afterEach(async () => {
  await store.close();
  await dropSchema(schema);
});

async function fill(sessionId: string): Promise<void> {
  for (let seq = 0; seq < EVENTS; seq += 1000) {
    const events = upTo(1000).map((n) => note(seq + n));
    await store.append(sessionId, events, { id: `a${seq}`, expectedSeq: seq });
  }
  for (const n of upTo(5)) {
    await store.append(sessionId, [note('x'.repeat(LARGE))], { id: `large${n}`, expectedSeq: EVENTS + n - 1 });
  }
  await queryOnce(databaseUrl(), `TRUNCATE "${schema}".changes`);
}

/** The largest change, and how many there were. */
async function changes(): Promise<Record<string, unknown>> {
  const text = `SELECT count(*)::int AS count, max(events)::int AS events, max(bytes)::int AS bytes FROM "${schema}".changes WHERE events > 0`;
  return (await queryOnce(databaseUrl(), text))[0] ?? {};
}

const left = async (): Promise<unknown> =>
  (await queryOnce(databaseUrl(), `SELECT count(*)::int AS count FROM "${schema}".events`))[0]?.count;

test('forking and deleting a long session change at most a slice in each transaction', async () => {
  await fill('s');
  expect(await store.forkSession('s', 'fork', { at: EVENTS + 5, events: [note('end')] })).toEqual({ seq: EVENTS + 6 });
  const forked = await changes();
  expect(forked.count).toBeGreaterThan(6);
  expect(forked.events).toBeLessThanOrEqual(SLICE_EVENTS);
  expect(forked.bytes).toBeLessThanOrEqual(SLICE_BYTES);
  await queryOnce(databaseUrl(), `TRUNCATE "${schema}".changes`);
  expect(await store.deleteSession('s')).toBe(true);
  const deleted = await changes();
  expect(deleted.count).toBeGreaterThan(6);
  expect(deleted.events).toBeLessThanOrEqual(SLICE_EVENTS);
  expect(deleted.bytes).toBeLessThanOrEqual(SLICE_BYTES);
  expect(await store.check()).toEqual({ ok: true, problems: [], sessions: 1, events: EVENTS + 6 });
});

test('deleting a session reads each row a few times, with old statistics and while an older transaction runs', async () => {
  // Statistics of a time when the log was as long, and this session had no rows.
  const other = await openStore({ schema, backgroundIndexing: false });
  const tables = ['events', 'search'];
  for (const table of tables)
    await queryOnce(databaseUrl(), `ALTER TABLE "${schema}".${table} SET (autovacuum_enabled = false)`);
  await fill('other');
  await store.search('x');
  for (const table of tables) await queryOnce(databaseUrl(), `ANALYZE "${schema}".${table}`);
  await fill('s');
  const read = async (): Promise<{ readonly deleted: number; readonly entries: number }> => {
    const text = `SELECT n_tup_del::float8 AS deleted, (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid)::float8
      AS entries FROM pg_stat_user_tables t WHERE schemaname = $1 AND relname = 'events'`;
    return (await queryOnce(databaseUrl(), text, [schema]))[0] as never;
  };
  await store.close(); // the server counts what a connection did at the latest when it ends
  const before = await read();
  const older = new pg.Client(databaseUrl()); // what it may see stays in the table and its index
  await older.connect();
  await older.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await older.query('SELECT 1');
  expect(await other.deleteSession('s')).toBe(true);
  await older.end();
  await other.close();
  let after = await read();
  while (after.deleted < EVENTS) after = await read();
  expect(after.entries - before.entries).toBeLessThan(4 * EVENTS);
});

test('appends to the session continue while an erasure folds its long log again', async () => {
  await fill('s');
  const described = { type: 'session/described', at: '2026-01-01T00:00:00.000Z', title: 'T', seq: 1 } as SessionEvent;
  const erasing = store.replaceEvent('s', described);
  await store.append('s', [note('meanwhile')], { id: 'b', expectedSeq: EVENTS + 5 });
  await erasing;
  expect(await store.head('s')).toMatchObject({ seq: EVENTS + 6, revision: 1 });
  expect((await store.listSessions()).sessions[0]).toMatchObject({ id: 's', title: 'T', seq: EVENTS + 6 });
});

test('a deletion and a fork whose process died are completed and undone by another process', async () => {
  await fill('s');
  await fill('origin');
  // What a process leaves that is killed after the first transaction of a deletion, and in the middle of a fork.
  await queryOnce(
    databaseUrl(),
    `WITH gone AS (DELETE FROM "${schema}".sessions WHERE id = 's' RETURNING key)
     INSERT INTO "${schema}".doomed SELECT key, 'token' FROM gone`,
  );
  await queryOnce(
    databaseUrl(),
    `WITH fork AS (INSERT INTO "${schema}".sessions (id, incarnation, building_until) VALUES (E'\\x01fork:dead', 1, 1) RETURNING key)
     INSERT INTO "${schema}".events SELECT fork.key, e.seq, e.append_id, e.at, e.type, e.data
     FROM fork, "${schema}".events e JOIN "${schema}".sessions s ON s.key = e.key WHERE s.id = 'origin' AND e.seq <= 5000`,
  );
  expect((await store.listSessions()).sessions.map(({ id }) => id)).toEqual(['origin']);
  const other = await openStore({ schema, backgroundIndexing: false });
  while ((await left()) !== EVENTS + 5);
  await other.close();
  expect(await store.check()).toEqual({ ok: true, problems: [], sessions: 1, events: EVENTS + 5 });
});
