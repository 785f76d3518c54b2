import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { openDatabase, PAGE_SIZE, readSettings } from '../../src/stores/sqlite/open-database.ts';
import { note, openStore, temporaryDatabase } from './support/temporary.ts';

const FULL = 2;

describe('every connection that writes is durable (I1)', () => {
  test('the connection of a new store has journal_mode wal and synchronous FULL', async () => {
    const store = await openStore(temporaryDatabase());
    expect(store.settings()).toMatchObject({ journalMode: 'wal', synchronous: FULL, secureDelete: true });
    expect(store.settings()).toMatchObject({ pageSize: PAGE_SIZE, layoutVersion: 5 });
  });

  test('so has every later connection to the same file: synchronous is not stored in it', async () => {
    const path = temporaryDatabase();
    const first = await openStore(path);
    await first.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
    const second = await openStore(path);
    expect(second.settings()).toMatchObject({ journalMode: 'wal', synchronous: FULL });
    await first.close();
    await second.close();
    const third = await openStore(path);
    expect(third.settings()).toMatchObject({ journalMode: 'wal', synchronous: FULL });
  });

  test('a file in another journal mode is set to WAL', async () => {
    const path = temporaryDatabase();
    await (await openStore(path)).close();
    const plain = new Database(path, { timeoutMs: 5000 });
    plain.pragma('journal_mode = DELETE');
    plain.close();
    const database = await openDatabase(path);
    expect(readSettings(database)).toMatchObject({ journalMode: 'wal', synchronous: FULL });
    database.close();
  });

  test('SQLite is at least 3.51.3', async () => {
    const store = await openStore(temporaryDatabase());
    const [major = 0, minor = 0, patch = 0] = store.settings().sqliteVersion.split('.').map(Number);
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(3_051_003);
  });

  test('handles that open a new file at the same time share one store', async () => {
    const path = temporaryDatabase();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(path)));
    for (const [i, store] of stores.entries()) await store.append(`s${i}`, [note(i)], { id: 'a', expectedSeq: 0 });
    expect((await stores[0]?.listSessions())?.sessions.length).toBe(6);
  });

  test('a new file whose creation a power failure has undone, from any page on, is created again', async () => {
    const created = temporaryDatabase();
    await openStore(created);
    const log = readFileSync(`${created}-wal`);
    for (let length = 0; length <= log.length; length += length === 0 ? LOG_HEADER : FRAME_HEADER + PAGE_SIZE) {
      const path = temporaryDatabase();
      copyFileSync(created, path);
      if (length > 0) writeFileSync(`${path}-wal`, log.subarray(0, length));
      const store = await openStore(path);
      await store.append('s', [note(1)], { id: 'a', expectedSeq: 0 });
      expect(await store.head('s')).toMatchObject({ seq: 1 });
      expect(await store.check()).toMatchObject({ ok: true });
    }
    expect(log.length).toBeGreaterThan(LOG_HEADER);
  });
});

/** Sizes of the file format of SQLite's write-ahead log. */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
