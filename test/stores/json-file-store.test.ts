/** The store that docs/writing-a-store.md describes passes the whole suite: its building blocks are enough to write one. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import { jsonFileStore } from '../../examples/json-store/json-file-store.ts';
import type { Store } from '../../src/index.ts';
import { storeConformance } from '../../src/testing.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-json-'));
const paths = new WeakMap<Store, string>();
let count = 0;
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const suite = storeConformance({
  runs: 8,
  async create(options) {
    const path = join(directory, `${count++}.json`);
    const store = jsonFileStore(path, options);
    paths.set(store, path);
    return store;
  },
  reopen: async (store, options) => jsonFileStore(paths.get(store) ?? '', options),
  async loseContent(store, hash) {
    const path = paths.get(store) ?? '';
    const data = JSON.parse(readFileSync(path, 'utf8')) as { contents: [hash: string, text: string][] };
    data.contents = data.contents.filter(([each]) => each !== hash);
    writeFileSync(path, JSON.stringify(data));
  },
  async makeUnreachable(store) {
    rmSync(paths.get(store) ?? '');
  },
});
for (const { name, run } of suite) test(name, run);
