import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { storeConformance } from '../../src/stores/conformance.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';

describe('memory', () => {
  for (const { name, run } of storeConformance({ create: async (options) => memoryStore(options), runs: 300 })) {
    test(name, run);
  }
});

describe('sqlite', () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'));
  const paths = new WeakMap<Store, string>();
  let count = 0;
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const suite = storeConformance({
    async create(options) {
      const path = join(directory, `${count++}.db`);
      const store = await sqliteStore(path, options);
      paths.set(store, path);
      return store;
    },
    reopen: (store, options) => sqliteStore(paths.get(store) ?? '', options),
    async loseContent(store, hash) {
      const database = new Database(paths.get(store) ?? '', { timeoutMs: 5000 });
      database.prepare<[string]>('DELETE FROM contents WHERE hash = ?').run(hash);
      database.close();
    },
  });
  for (const { name, run } of suite) test(name, run);
});
