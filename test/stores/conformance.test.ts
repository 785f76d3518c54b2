import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { storeConformance } from '../../src/stores/conformance.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { openDatabase } from '../../src/stores/sqlite/open-database.ts';
import { type SqliteStoreOptions, sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { storeOnDatabase } from '../../src/stores/sqlite/store-on-database.ts';

describe('memory', () => {
  const suite = storeConformance({ create: async (options) => memoryStore(options), runs: 300 });
  // Its data ends with its handle, and cannot be damaged from outside.
  for (const { name, run, skipped } of suite) if (skipped === undefined) test(name, run);
});

// With low numbers few events are enough to give all recent events their places, in the middle of whatever a test does.
describe.for([
  ['', undefined],
  [', each append places its events', 1],
  [', every third event places all', 3],
] as const)('sqlite%s', ([, placeEvery]) => {
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
});
