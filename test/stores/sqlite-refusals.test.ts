import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { LAYOUT_VERSION } from '../../src/stores/sqlite/connection/migrate.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { openForeignDatabase } from '../../src/stores/sqlite/open-database.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { connect } from './support/connect.ts';
import { chunk, note, openStore, readAll, said, temporaryDatabase, temporaryDirectory } from './support/temporary.ts';

const PLACE_ALL = `INSERT INTO places SELECT (key << 32) | seq, position FROM events;
  UPDATE counters SET value = 3 WHERE name = 'placed'`;

/** A database with one session of three events, closed. */
async function filledDatabase(): Promise<string> {
  const path = temporaryDatabase();
  const store = await sqliteStore(path);
  await store.append('s', [said('one'), said('two'), note(3)], { id: 'a', expectedSeq: 0 });
  await store.close();
  return path;
}

test('a session that another process deletes and creates again is not confused with the one that was written to before', async () => {
  const path = temporaryDatabase();
  const [one, other] = [await openStore(path), await openStore(path)];
  await one.append('s', [note('of the first')], { id: 'a', expectedSeq: 0 });
  await other.deleteSession('s');
  await other.append('s', [note('of the second')], { id: 'b', expectedSeq: 0 });
  expect(await one.append('s', [note('another')], { id: 'c', expectedSeq: 1 })).toEqual({ seq: 2 });
  expect((await readAll(one, 's')).map((event) => (event as unknown as { text: string }).text)).toEqual([
    'of the second',
    'another',
  ]);
  expect(await one.check()).toMatchObject({ ok: true, events: 2 });
});

describe('a locked database (I10)', () => {
  test('rejects writes with STORE_BUSY after the timeout, serves reads, and loses nothing', async () => {
    const path = await filledDatabase();
    const store = await openStore(path, { busyTimeoutMs: 30 });
    const other = connect(path);
    other.exec('BEGIN IMMEDIATE');
    const appends = await Promise.allSettled([
      store.append('s', [note('no')], { id: 'b', expectedSeq: 3 }),
      store.append('t', [note('no')], { id: 'b', expectedSeq: 0 }),
    ]);
    for (const { status, reason } of appends as readonly PromiseRejectedResult[]) {
      expect(status).toBe('rejected');
      expect(reason).toMatchObject({ code: 'STORE_BUSY', message: expect.stringContaining('busyTimeoutMs') });
    }
    expect((await readAll(store, 's')).length).toBe(3);
    other.exec('COMMIT');
    expect(await store.append('s', [note(4)], { id: 'b', expectedSeq: 3 })).toEqual({ seq: 4 });
    expect((await store.head('t')).seq).toBe(0);
  });

  test('does not block the process while a write waits', async () => {
    const path = await filledDatabase();
    const store = await openStore(path);
    const other = connect(path);
    other.exec('BEGIN IMMEDIATE');
    let settled = false;
    const appending = store.append('s', [note(4)], { id: 'b', expectedSeq: 3 }).finally(() => {
      settled = true;
    });
    // This loop could not run if the wait blocked the thread.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(false);
    other.exec('COMMIT');
    expect(await appending).toEqual({ seq: 4 });
  });

  test('is waited for on opening, even by the first statement', async () => {
    const path = await filledDatabase();
    const other = connect(path);
    // Other connections cannot even read, as while the write-ahead log of a dead process is being recovered.
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    await expect(sqliteStore(path, { busyTimeoutMs: 0 })).rejects.toMatchObject({ code: 'STORE_BUSY' });
    const opening = openStore(path);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    other.close();
    expect((await readAll(await opening, 's')).length).toBe(3);
  });

  test('can be searched: unindexed events are read from the log', async () => {
    const path = await filledDatabase();
    const store = await openStore(path, { busyTimeoutMs: 10 });
    connect(path).exec('BEGIN IMMEDIATE');
    expect((await store.search('two')).map((hit) => hit.seq)).toEqual([2]);
  });

  test('held by another process that is killed is free again', async () => {
    const path = await filledDatabase();
    const script = `
      const database = new (require('node:sqlite').DatabaseSync)(process.argv[1]);
      database.exec("BEGIN IMMEDIATE; UPDATE sessions SET seq = 99");
      console.log('locked');
      setInterval(() => {}, 1000);`;
    const child: ChildProcess = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', script, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    const store = await openStore(path, { busyTimeoutMs: 20_000 });
    const appending = store.append('s', [note(4)], { id: 'b', expectedSeq: 3 });
    child.kill('SIGKILL');
    expect(await appending).toEqual({ seq: 4 });
  });

  test('keeps an erased text in the log of its reader, and the eraser gets an error for it (D58)', async () => {
    const path = await filledDatabase();
    const store = await openStore(path, { busyTimeoutMs: 30 });
    const reader = connect(path);
    const open = reader.prepare('SELECT * FROM events').iterate();
    open.next();
    const erased = { ...note('erased'), seq: 1 } as SessionEvent;
    await expect(store.replaceEvent('s', erased)).rejects.toMatchObject({
      code: 'STORE_BUSY',
      message: expect.stringContaining('is replaced'),
    });
    expect((await readAll(store, 's'))[0]).toEqual(erased);
    open.return?.();
    await store.replaceEvent('s', erased);
  });
});

describe('a read-only database (I10)', () => {
  test('opened with readOnly serves every read, rejects every write and is not changed by a byte', async () => {
    const path = await filledDatabase();
    const before = readFileSync(path);
    const store = await openStore(path, { readOnly: true });
    expect((await readAll(store, 's')).length).toBe(3);
    expect((await store.listSessions()).sessions.length).toBe(1);
    // Nothing was indexed before the store was closed, and nothing can be indexed now.
    expect((await store.search('two')).map((hit) => hit.excerpt)).toEqual(['⟦two⟧']);
    expect((await store.check()).ok).toBe(true);
    const writes = [
      () => store.append('s', [note(4)], { id: 'b', expectedSeq: 3 }),
      () => store.acquireLease('s', { holder: { id: 'h', host: 'h', pid: 1, startedAt: '0' }, ttlMs: 1 }),
      () => store.deleteSession('s'),
      () => store.writeSnapshot('s', { seq: 1, data: '{}' }),
      () => store.appendDraft('s', [chunk(1, 1)], { fence: 1 }),
      () => store.forkSession('s', 'fork', { at: 1, events: [note(2)] }),
      () => store.replaceEvent('s', { ...note('no'), seq: 1 } as SessionEvent),
    ];
    for (const write of writes) {
      await expect(write()).rejects.toMatchObject({
        code: 'STORE_READ_ONLY',
        message: expect.stringContaining('readOnly'),
      });
    }
    await store.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('a reader sees later commits of a writer', async () => {
    const path = await filledDatabase();
    const writer = await openStore(path);
    const reader = await openStore(path, { readOnly: true });
    await writer.append('s', [said('four')], { id: 'b', expectedSeq: 3 });
    expect((await reader.head('s')).seq).toBe(4);
    expect((await reader.search('four')).map((hit) => hit.seq)).toEqual([4]);
    await writer.search('four');
    expect((await reader.search('four')).map((hit) => hit.seq)).toEqual([4]);
  });

  test('a file without write permission is STORE_READ_ONLY, with and without readOnly', async () => {
    const path = await filledDatabase();
    chmodSync(dirname(path), 0o777);
    chmodSync(path, 0o444);
    // Root may write to any file, so the process changes its user for a moment.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    onTestFinished(() => {
      if (isRoot) process.seteuid?.(0);
    });
    const store = await openStore(path);
    await expect(store.append('s', [note(4)], { id: 'b', expectedSeq: 3 })).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
      message: expect.stringContaining('permissions'),
    });
    expect((await readAll(store, 's')).length).toBe(3);
    expect((await store.search('two')).length).toBe(1);
    await store.close();
  });

  test('needs an existing file', async () => {
    await expect(sqliteStore(temporaryDatabase(), { readOnly: true })).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});

describe('a full database (I10)', () => {
  test('rejects writes that do not fit with STORE_FULL, keeps its data, and continues when there is room', async () => {
    const path = await filledDatabase();
    const size = readFileSync(path).length;
    const store = await openStore(path, { maxBytes: size + 10 * 4096 });
    const large = note('x'.repeat(100_000));
    await expect(store.append('s', [note(4), large], { id: 'b', expectedSeq: 3 })).rejects.toMatchObject({
      code: 'STORE_FULL',
      message: expect.stringContaining('disk space'),
    });
    expect((await readAll(store, 's')).length).toBe(3);
    // In one commit with others it fails alone.
    const outcomes = await Promise.allSettled([
      store.append('t', [note(1)], { id: 'a', expectedSeq: 0 }),
      store.append('s', [large], { id: 'b', expectedSeq: 3 }),
      store.append('u', [note(1)], { id: 'a', expectedSeq: 0 }),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store.check()).toEqual({ ok: true, problems: [], sessions: 3, events: 5 });
    await store.close();
    const roomy = await openStore(path);
    expect(await roomy.append('s', [note(4), large], { id: 'b', expectedSeq: 3 })).toEqual({ seq: 5 });
  });
});

describe('an invalid file (I10)', () => {
  test.for([
    ['text', 'this is not a database, only a text that is long enough to be looked at as one. '.repeat(20)],
    ['noise', Buffer.from(Array.from({ length: 8192 }, (_, i) => (i * 7919) % 251))],
    ['a short file', 'SQLite format 3'],
  ] as const)('%s is STORE_CORRUPT and is not changed', async ([, content]) => {
    const path = temporaryDatabase();
    writeFileSync(path, content);
    for (const readOnly of [false, true]) {
      await expect(sqliteStore(path, { readOnly })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    }
    expect(readFileSync(path).equals(Buffer.from(content as string))).toBe(true);
  });

  test('a damaged page is reported as STORE_CORRUPT by check and by every read of it', async () => {
    const path = temporaryDatabase();
    const filler = 'x'.repeat(3000);
    const store = await sqliteStore(path);
    await store.append(
      's',
      Array.from({ length: 300 }, (_, i) => note(`${i} ${filler}`)),
      { id: 'a', expectedSeq: 0 },
    );
    await store.close();
    const bytes = readFileSync(path);
    // Overwrites the header of a page of events.
    const page = Math.floor(bytes.indexOf(`150 ${filler}`) / 4096);
    bytes.fill(0xff, page * 4096, page * 4096 + 64);
    writeFileSync(path, bytes);
    const damaged = await openStore(path);
    const report = await damaged.check();
    expect(report.ok).toBe(false);
    expect(report.problems.length).toBeGreaterThan(0);
    await expect(readAll(damaged, 's')).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringMatching(/backup/),
    });
  });

  test.for([
    ['a missing event', 'DELETE FROM events WHERE seq = 2', /should have the events 1 to 3/],
    ['a payload that is not JSON', "UPDATE events SET data = '{oops' WHERE seq = 2", /event 2 .* not a JSON object/],
    ['a payload that is no object', "UPDATE events SET data = '5' WHERE seq = 2", /event 2 .* not a JSON object/],
    ['a session row that is behind its events', `${PLACE_ALL}; UPDATE sessions SET seq = 2`, /have the events 1 to 2/],
    ['a session row that is ahead of its events', 'UPDATE sessions SET seq = 4', /should have the events 1 to 4/],
    ['events of no session', 'UPDATE events SET key = 77 WHERE seq = 3', /session number 77/],
    ['events without a place', "UPDATE counters SET value = 99 WHERE name = 'placed'", /have no place/],
    ['a place without an event', 'INSERT INTO places VALUES (5, 5)', /lead to no event/],
    ['a lost beginning of an append', 'UPDATE events SET append_id = NULL', /does not begin an append/],
    ['a lost content', "INSERT INTO event_contents VALUES (1, 1, 'sha256:x')", /content sha256:x, which is missing/],
    ['an index beyond the log', 'UPDATE sessions SET indexed_seq = 9', /indexed up to 9/],
  ] as const)('check finds %s', async ([, damage, problem]) => {
    const path = await filledDatabase();
    connect(path).exec(damage);
    const store = await openStore(path);
    const { ok, problems } = await store.check();
    expect(ok).toBe(false);
    expect(problems.join('\n')).toMatch(problem);
  });

  test.for([
    ['is missing', 'DELETE FROM events WHERE seq = 2'],
    ['is not JSON', "UPDATE events SET data = '{oops' WHERE seq = 2"],
    ['is no object', "UPDATE events SET data = '5' WHERE seq = 2"],
  ] as const)('a log whose event %s is not read any further', async ([, damage]) => {
    const path = await filledDatabase();
    connect(path).exec(damage);
    const store = await openStore(path);
    await expect(readAll(store, 's')).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    // The rest of the store is not affected, and neither is the index.
    expect((await store.search('one')).length).toBe(1);
    expect(await store.append('t', [note(1)], { id: 'a', expectedSeq: 0 })).toEqual({ seq: 1 });
  });

  test('a database that another process migrates to a newer layout while it is open is STORE_TOO_NEW, and nothing is written', async () => {
    const path = await filledDatabase();
    const store = await openStore(path);
    const newer = connect(path);
    newer.pragma(`user_version = ${LAYOUT_VERSION + 1}`);
    const appends = [
      store.append('s', [note(4)], { id: 'b', expectedSeq: 3 }),
      store.append('t', [note(1)], { id: 'b', expectedSeq: 0 }),
    ];
    for (const append of appends) await expect(append).rejects.toMatchObject({ code: 'STORE_TOO_NEW' });
    expect(newer.prepareValue<[], number>('SELECT count(*) FROM events').get()).toBe(3);
  });

  test('a database of a newer version is STORE_TOO_NEW and not changed', async () => {
    const path = await filledDatabase();
    const newer = new Database(path, { timeoutMs: 5000 });
    newer.pragma(`user_version = ${LAYOUT_VERSION + 1}`);
    newer.close();
    const before = readFileSync(path);
    for (const readOnly of [false, true]) {
      await expect(sqliteStore(path, { readOnly })).rejects.toMatchObject({
        code: 'STORE_TOO_NEW',
        message: expect.stringContaining('update Holdfast'),
      });
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("another program's database is STORE_UNSUPPORTED and not changed; it can be opened for importing", async () => {
    const path = temporaryDatabase();
    const foreign = new Database(path, { timeoutMs: 5000 });
    foreign.exec("CREATE TABLE session (id TEXT); INSERT INTO session VALUES ('theirs')");
    foreign.close();
    const before = readFileSync(path);
    for (const readOnly of [false, true]) {
      await expect(sqliteStore(path, { readOnly })).rejects.toMatchObject({ code: 'STORE_UNSUPPORTED' });
    }
    const database = await openForeignDatabase(path);
    expect(database.prepareValue<[], string>('SELECT id FROM session').all()).toEqual(['theirs']);
    expect(() => database.exec('DELETE FROM session')).toThrow(/readonly/);
    database.close();
    expect(readFileSync(path).equals(before)).toBe(true);
    writeFileSync(path, 'no database at all '.repeat(100));
    await expect(openForeignDatabase(path)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  test('an empty file becomes a store; with readOnly it is STORE_UNSUPPORTED', async () => {
    const path = temporaryDatabase();
    writeFileSync(path, '');
    await expect(sqliteStore(path, { readOnly: true })).rejects.toMatchObject({ code: 'STORE_UNSUPPORTED' });
    const store = await openStore(path);
    expect(await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 })).toEqual({ seq: 1 });
  });
});

describe('an invalid path (I10)', () => {
  test.for(['', ':memory:', ' spaces.db', 'spaces.db ', 'a\0b'])('%j is rejected', async (path) => {
    await expect(sqliteStore(path)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('the error names a missing directory, which is not created', async () => {
    const path = join(temporaryDirectory(), 'missing', 'test.db');
    await expect(sqliteStore(path)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('does not exist; create it'),
    });
  });

  test('a directory is not a file', async () => {
    const path = join(temporaryDirectory(), 'directory');
    mkdirSync(path);
    await expect(sqliteStore(path)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });

  test('a timeout that is not a number is rejected', async () => {
    await expect(sqliteStore(temporaryDatabase(), { busyTimeoutMs: -1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
