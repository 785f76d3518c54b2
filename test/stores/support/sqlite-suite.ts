import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import type { Store } from '../../../src/ports/store.ts';
import { storeConformance } from '../../../src/stores/conformance.ts';
import { Database } from '../../../src/stores/sqlite/driver.ts';
import { openDatabase } from '../../../src/stores/sqlite/open-database.ts';
import { type SqliteStoreOptions, sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { storeOnDatabase } from '../../../src/stores/sqlite/store-on-database.ts';

/** Declares the store suite for SQLite. With `placeEvery`, so many events are enough to give all recent events their places. */
export function testSqlite(placeEvery?: number): void {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'));
  const paths = new WeakMap<Store, string>();
  let count = 0;
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const open = async (path: string, options: SqliteStoreOptions = {}) =>
    placeEvery === undefined
      ? sqliteStore(path, options)
      : storeOnDatabase(await openDatabase(path, options), path, options, placeEvery);

  const suite = storeConformance({
    async create(options) {
      const path = join(directory, `${count++}.db`);
      const store = await open(path, options);
      paths.set(store, path);
      return store;
    },
    reopen: (store, options) => open(paths.get(store) ?? '', options),
    async loseContent(store, hash) {
      const database = new Database(paths.get(store) ?? '', { timeoutMs: 5000 });
      database.prepare<[string]>('DELETE FROM contents WHERE hash = ?').run(hash);
      database.close();
    },
    async makeUnreachable(store) {
      rmSync(paths.get(store) ?? '');
    },
  });
  for (const { name, run } of suite) test(name, run);
}
