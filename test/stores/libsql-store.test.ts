/** The store that docs/writing-a-store.md describes passes the whole suite: a backend is enough to write one. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterAll, expect, test } from 'vitest';
import { libsqlStore } from '../../examples/libsql-store/libsql-store.ts';
import type { Store } from '../../src/index.ts';
import { storeConformance } from '../../src/testing.ts';
import { ROOT } from '../support/documents.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-libsql-'));
const paths = new WeakMap<Store, string>();
let count = 0;
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Changes the database behind the back of a store. */
async function change(store: Store, sql: string): Promise<void> {
  const client = createClient({ url: `file:${paths.get(store)}`, timeout: 10_000 });
  await client.execute(sql);
  client.close();
}

const suite = storeConformance({
  runs: 8,
  async create(options) {
    const path = join(directory, `${count++}.db`);
    const store = await libsqlStore(path, options);
    paths.set(store, path);
    return store;
  },
  reopen: (store, options) => libsqlStore(paths.get(store) ?? '', options),
  loseContent: (store, hash) => change(store, `DELETE FROM contents WHERE hash = '${hash}'`),
  makeUnreachable: (store) => change(store, 'DROP TABLE events'),
});
for (const { name, run } of suite) test(name, run);

test('the example imports nothing of Holdfast but its entries, and has at most 600 lines', () => {
  const folder = join(ROOT, 'examples/libsql-store');
  const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const imports = sources.flatMap((source) =>
    Array.from(source.matchAll(/ from '([^']+)'/g), ([, name]) => name ?? ''),
  );
  const others = imports.filter(
    (name) => !/^(holdfast(\/(store|testing))?|node:\w+|@libsql\/client|\.\/[\w-]+\.ts)$/.test(name),
  );
  expect(others).toEqual([]);
  const lines = sources.join('').split('\n').length;
  expect(lines).toBeLessThanOrEqual(600);
});
