import { afterEach, describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from '../../src/postgres.ts';
import { type Cut, CuttingProxy } from './support/cutting-proxy.ts';
import { appendNotes, HOLDER, note, notesOf, upTo } from './support/logs.ts';
import { databaseUrl, dropSchema, newSchema, openStore } from './support/schemas.ts';
import { PostgresServer, queryOnce } from './support/server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A store behind a proxy that cuts its connections. */
async function behindProxy(options: PostgresStoreOptions = {}): Promise<{ store: PostgresStore; proxy: CuttingProxy }> {
  const proxy = await CuttingProxy.start(databaseUrl());
  const schema = newSchema();
  cleanUps.push(() => dropSchema(schema));
  cleanUps.push(() => proxy.stop());
  const store = await postgresStore(proxy.urlFor(databaseUrl()), { schema, backgroundIndexing: false, ...options });
  cleanUps.push(() => store.close());
  return { store, proxy };
}

/** Two stores on one schema, as two processes have them. */
async function twoStores(): Promise<readonly [PostgresStore, PostgresStore]> {
  const schema = newSchema();
  cleanUps.push(() => dropSchema(schema));
  const stores = [await openStore({ schema }), await openStore({ schema })] as const;
  for (const store of stores) cleanUps.push(() => store.close());
  return stores;
}

const isAppend = (statement: string): boolean => /append\d|group-/.test(statement);

describe('a connection that is cut in the instant of a commit', () => {
  test.for(['before', 'after'] as const)('%s it: each append is written exactly once (I1, D51)', async (cut) => {
    const { store, proxy } = await behindProxy();
    for (let n = 1; n <= 20; n++) {
      proxy.arm(cut, isAppend);
      await appendNotes(store, 's', n, n);
    }
    expect(proxy.cuts).toBe(20);
    expect(await notesOf(store, 's')).toEqual(upTo(20));
    expect(await store.check()).toMatchObject({ ok: true, events: 20 });
  });

  test.for<Cut>(['before', 'after'])(
    '%s it: an append that follows others at once is written once (D51)',
    async (cut) => {
      const { store, proxy } = await behindProxy();
      for (let n = 1; n <= 30; n++) {
        if (n % 3 === 0) proxy.arm(cut, isAppend); // the first two use the connection that the third finds free
        await appendNotes(store, 's', n, n);
      }
      expect(proxy.cuts).toBe(10);
      expect(await notesOf(store, 's')).toEqual(upTo(30));
    },
  );

  test.for(['before', 'after'] as const)('%s it: no append of a group is lost or doubled (D51)', async (cut) => {
    const { store, proxy } = await behindProxy();
    const sessions = upTo(16).map((n) => `s${n}`);
    for (let n = 1; n <= 8; n++) {
      proxy.arm(cut, isAppend);
      await Promise.all(sessions.map((id) => appendNotes(store, id, n, n)));
    }
    for (const id of sessions) expect(await notesOf(store, id)).toEqual(upTo(8));
    expect(proxy.cuts).toBe(8);
  });

  const matching =
    (text: string): ((statement: string) => boolean) =>
    (statement) =>
      statement.includes(text);

  test.for<Cut>(['before', 'after'])('%s it: a lease is granted and given back once (D76)', async (cut) => {
    const { store, proxy } = await behindProxy();
    proxy.arm(cut, matching('create-leased'));
    const first = await store.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
    expect(first.acquired).toBe(true);
    proxy.arm(cut, matching('release-lease'));
    expect(await store.releaseLease('s', first.lease.fence)).toBe(true);
    proxy.arm(cut, matching('grant-lease'));
    const second = await store.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
    expect(second.acquired).toBe(true);
    expect(second.lease.fence).toBeGreaterThan(first.lease.fence);
    expect(proxy.cuts).toBe(3);
  });

  test('while the store finds out why a statement wrote nothing: it looks again, and its errors are typed', async () => {
    const { store, proxy } = await behindProxy({ retryMs: 1000 });
    proxy.arm('before', matching('to_regclass'));
    expect(await store.renewLease('s', 1, 1000)).toBe(false);
    expect(proxy.cuts).toBe(1);
    proxy.arm('before', matching('to_regclass'));
    const renewing = store.renewLease('s', 1, 1000);
    await proxy.stop();
    await expect(renewing).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });

  test.for<Cut>(['before', 'after'])('%s it: forking, erasing and deleting happen once', async (cut) => {
    const { store, proxy } = await behindProxy();
    await appendNotes(store, 's', 1, 3);
    proxy.arm(cut, matching('COMMIT'));
    expect(await store.forkSession('s', 'fork', { at: 2, events: [note('end')] })).toEqual({ seq: 3 });
    expect(await notesOf(store, 'fork')).toEqual([1, 2, 'end']);
    proxy.arm(cut, matching('COMMIT'));
    await store.replaceEvent('s', { ...note('erased'), seq: 2 } as SessionEvent);
    expect(await notesOf(store, 's')).toEqual([1, 'erased', 3]);
    proxy.arm(cut, matching('COMMIT'));
    expect(await store.deleteSession('s')).toBe(true);
    expect(proxy.cuts).toBe(3);
    expect(await store.check()).toMatchObject({ ok: true, sessions: 1, events: 3 });
  });
});

test('a server that is killed and started again while sessions append loses nothing that was acknowledged (I1)', async () => {
  const server = await PostgresServer.start();
  cleanUps.push(() => server.stop());
  const store = await postgresStore(server.url, { retryMs: 120_000, maxConnections: 4 });
  cleanUps.push(() => store.close());
  const sessions = upTo(8).map((n) => `s${n}`);
  let acknowledged = 0;
  let reached: () => void = () => {};
  let enough = Number.POSITIVE_INFINITY;
  const append = async (id: string) => {
    for (let n = 1; n <= 150; n++) {
      await appendNotes(store, id, n, n);
      if (++acknowledged >= enough) reached();
    }
  };
  const all = Promise.all(sessions.map(append));
  for (let restart = 1; restart <= 3; restart++) {
    const until = acknowledged + 100;
    await new Promise<void>((resolve) => {
      reached = resolve;
      enough = until;
    });
    await server.kill();
    await server.run();
    console.log(`restart ${restart} after ${acknowledged} acknowledged appends`);
  }
  await all;
  for (const id of sessions) expect(await notesOf(store, id)).toEqual(upTo(150));
  expect(await store.check()).toEqual({ ok: true, problems: [], sessions: 8, events: 1200 });
});

describe('a database', () => {
  test('that stays away is STORE_FAILED with a next step, and the store works again when it is back', async () => {
    const server = await PostgresServer.start();
    cleanUps.push(() => server.stop());
    const store = await postgresStore(server.url, { retryMs: 200, maxConnections: 3 });
    cleanUps.push(() => store.close());
    await appendNotes(store, 's', 1, 1);
    await server.kill();
    await expect(appendNotes(store, 's', 2, 2)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('check that it runs'),
    });
    await expect(store.head('s')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await server.run();
    await appendNotes(store, 's', 2, 2);
    expect(await notesOf(store, 's')).toEqual([1, 2]);
  });

  test('at an address where nothing listens, without the named database, or that is no address is refused at once', async () => {
    const nowhere = postgresStore('postgres://postgres@127.0.0.1:1/postgres');
    await expect(nowhere).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('address') });
    const url = new URL(databaseUrl());
    url.pathname = '/no_such_database';
    await expect(postgresStore(url.href)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('name of the database'),
    });
    await expect(postgresStore(databaseUrl(), { schema: 'no schema"' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(postgresStore(databaseUrl(), { listenUrl: 'localhost' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test.for(['localhost', 'http://127.0.0.1/db', 'mysql://root@127.0.0.1/db', 'postgres://postgres@[::bad/postgres'])(
    'at %s is INVALID_ARGUMENT, with the form of an address',
    async (address) => {
      const refusal = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('postgres://user:password@host') };
      await expect(postgresStore(address)).rejects.toMatchObject(refusal);
    },
  );

  test('that requires a password refuses a wrong one and none with the same sentence', async () => {
    const server = await PostgresServer.start();
    cleanUps.push(() => server.stop());
    const [{ file } = {}] = await server.query(`SELECT current_setting('hba_file') AS file`);
    await server.query(`ALTER ROLE postgres PASSWORD 'right'`);
    await server.query(`COPY (SELECT 'host all all 127.0.0.1/32 scram-sha-256') TO '${file}'`);
    await server.query('SELECT pg_reload_conf()');
    const withPassword = (password: string): string => server.url.replace('postgres@', `postgres${password}@`);
    // The server applies its configuration a moment later.
    const refusal = async (password: string): Promise<unknown> => {
      for (;;) {
        const opened = await postgresStore(withPassword(password)).catch((error: unknown) => error);
        if (opened instanceof Error) return opened;
        await (opened as PostgresStore).close();
      }
    };
    const expected = { code: 'STORE_FAILED', message: expect.stringContaining('check the user, the password') };
    expect(await refusal(':wrong')).toMatchObject(expected);
    expect(await refusal('')).toMatchObject(expected);
    await (await postgresStore(withPassword(':right'))).close();
  });

  test('that does not respond in time is STORE_BUSY, and the append is written once when it does', async () => {
    const schema = newSchema();
    cleanUps.push(() => dropSchema(schema));
    const store = await openStore({ schema, timeoutMs: 200, retryMs: 300 });
    cleanUps.push(() => store.close());
    await appendNotes(store, 's', 1, 1);
    const blocker = await postgresStore(databaseUrl(), { schema });
    cleanUps.push(() => blocker.close());
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let locked: () => void = () => {};
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve;
    });
    blocker.joinAppends({
      wants: () => true,
      async run(transaction) {
        await transaction.query(`SELECT 1 FROM "${schema}".sessions WHERE id = 's' FOR UPDATE`);
        locked();
        await held;
      },
    });
    const blocking = appendNotes(blocker, 'other', 1, 1);
    await isLocked;
    await expect(appendNotes(store, 's', 2, 2)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    release();
    await blocking;
    await appendNotes(store, 's', 2, 2);
    expect(await notesOf(store, 's')).toEqual([1, 2]);
  });

  test('whose disk is full is STORE_FULL for the append that does not fit, and not for others of its group (D51)', async () => {
    const schema = newSchema();
    cleanUps.push(() => dropSchema(schema));
    const store = await openStore({ schema });
    cleanUps.push(() => store.close());
    // The server's own error, for events that are too long: a disk that is really full would fill the machine's.
    await queryOnce(
      databaseUrl(),
      `CREATE FUNCTION "${schema}".fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF length(NEW.data) > 1000 THEN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END IF;
         RETURN NEW; END $$;
       CREATE TRIGGER fill BEFORE INSERT ON "${schema}".events FOR EACH ROW EXECUTE FUNCTION "${schema}".fill()`,
    );
    const outcomes = await Promise.allSettled(
      upTo(10).map((n) => store.append(`s${n}`, [note(n === 4 ? 'x'.repeat(2000) : n)], { id: 'a', expectedSeq: 0 })),
    );
    const failed = outcomes.flatMap((outcome, i) =>
      outcome.status === 'rejected' ? [[i + 1, outcome.reason.code]] : [],
    );
    expect(failed).toEqual([[4, 'STORE_FULL']]);
    expect((await store.listSessions()).sessions).toHaveLength(9);
  });

  test('with asynchronous commits, another encoding or an old version is STORE_UNSUPPORTED', async () => {
    const role = newSchema();
    const url = new URL(databaseUrl());
    await queryOnce(
      databaseUrl(),
      `CREATE ROLE ${role} LOGIN SUPERUSER; ALTER ROLE ${role} SET synchronous_commit = off`,
    );
    cleanUps.push(() => queryOnce(databaseUrl(), `DROP ROLE ${role}`));
    url.username = role;
    await expect(postgresStore(url.href)).rejects.toMatchObject({
      code: 'STORE_UNSUPPORTED',
      message: expect.stringContaining('synchronous_commit'),
    });
    await queryOnce(databaseUrl(), `CREATE DATABASE ${role} ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'`);
    cleanUps.push(() => queryOnce(databaseUrl(), `DROP DATABASE ${role}`));
    const ascii = new URL(databaseUrl());
    ascii.pathname = `/${role}`;
    await expect(postgresStore(ascii.href)).rejects.toMatchObject({
      code: 'STORE_UNSUPPORTED',
      message: expect.stringContaining('UTF8'),
    });
  });
});

describe('an append that follows others at once', () => {
  test('is refused as stale when another process appended in between, and the next one is written', async () => {
    const [store, other] = await twoStores();
    await appendNotes(store, 's', 1, 3);
    await other.append('s', [note('other')], { id: 'b', expectedSeq: 3 });
    const stale = store.append('s', [note(4)], { id: 'a4', expectedSeq: 3 });
    await expect(stale).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'sequence' });
    await appendNotes(store, 's', 5, 6);
    expect(await notesOf(store, 's')).toEqual([1, 2, 3, 'other', 5, 6]);
  });

  test('is refused when another process took the lease', async () => {
    const [store, other] = await twoStores();
    await appendNotes(store, 's', 1, 2);
    const first = await store.acquireLease('s', { holder: HOLDER, ttlMs: 1 });
    const fence = first.lease.fence;
    for (let n = 3; n <= 5; n++) await store.append('s', [note(n)], { id: `a${n}`, expectedSeq: n - 1, fence });
    await other.acquireLease('s', { holder: { ...HOLDER, id: 'two' }, ttlMs: 60_000, replacing: first.lease });
    const late = store.append('s', [note(6)], { id: 'a6', expectedSeq: 5, fence });
    await expect(late).rejects.toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
    expect(await notesOf(store, 's')).toEqual(upTo(5));
  });

  test('returns the first result when it repeats the last one, at its position or after it', async () => {
    const [store] = await twoStores();
    await appendNotes(store, 's', 1, 3);
    expect(await store.append('s', [note(3)], { id: 'a3', expectedSeq: 2 })).toEqual({ seq: 3 });
    await appendNotes(store, 's', 4, 4);
    expect(await store.append('s', [note(4)], { id: 'a4', expectedSeq: 4 })).toEqual({ seq: 4 });
    expect(await notesOf(store, 's')).toEqual(upTo(4));
  });

  test('keeps its place before appends of its session that were sent after it', async () => {
    const [store] = await twoStores();
    await appendNotes(store, 's', 1, 2);
    const sent = upTo(8).map((i) => store.append('s', [note(2 + i)], { id: `a${2 + i}`, expectedSeq: 1 + i }));
    await Promise.all(sent);
    expect(await notesOf(store, 's')).toEqual(upTo(10));
  });

  test('delays no close: the store waits for it', async () => {
    const [store, other] = await twoStores();
    await appendNotes(store, 's', 1, 2);
    const last = store.append('s', [note(3)], { id: 'a3', expectedSeq: 2 });
    await store.close();
    expect(await last).toEqual({ seq: 3 });
    expect(await notesOf(other, 's')).toEqual(upTo(3));
  });
});

describe('connections that end in the instant that they are open', () => {
  test('while a store opens: it rejects with a typed error or opens, and the process lives', async () => {
    const proxy = await CuttingProxy.start(databaseUrl());
    cleanUps.push(() => proxy.stop());
    const schema = newSchema();
    cleanUps.push(() => dropSchema(schema));
    for (const connections of [1, 2, 3]) {
      proxy.endOpening(connections);
      const opening = postgresStore(proxy.urlFor(databaseUrl()), { schema });
      await opening.then(
        (store) => store.close(),
        (error: unknown) => expect(error).toMatchObject({ code: 'STORE_FAILED' }),
      );
      proxy.endOpening(0);
    }
    expect(proxy.cuts).toBeGreaterThanOrEqual(3);
  });

  test('in an open store: appends and the listener use the next connection', async () => {
    const { store, proxy } = await behindProxy({ maxConnections: 2 });
    proxy.cutAll();
    proxy.endOpening(4);
    let called = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unwatch = store.watch('s', () => {
      if (++called > 1) resolve(); // the first call is made when the listener is connected
    });
    cleanUps.push(async () => unwatch());
    await appendNotes(store, 's', 1, 5);
    for (let n = 1; proxy.cuts < 4; n++) await appendNotes(store, `s${n}`, 1, 1);
    await promise;
    expect(await notesOf(store, 's')).toEqual(upTo(5));
  });
});
