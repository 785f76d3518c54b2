import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { postgresStore } from '../../src/postgres.ts';
import { storeConformance } from '../../src/stores/conformance.ts';
import { PoolingProxy } from './support/pooling-proxy.ts';
import { databaseUrl, dropSchema, newSchema } from './support/schemas.ts';
import { queryOnce } from './support/server.ts';

/** Rules about several connections: a pooling proxy could break their transactions and notices. The others are the same statements. */
const RULES =
  /watcher|another handle|two handles|concurrent|reopened|keeper|one of them acquires|deleting a session removes|a fork (?:copies|is complete)|close waits|search covers texts/;

let proxy: PoolingProxy;
beforeAll(async () => {
  proxy = await PoolingProxy.start(databaseUrl(), 3);
});
afterAll(() => proxy.stop());

test('a proxy that pools transactions is recognised, and a direct connection is not taken for one', async () => {
  const schema = newSchema();
  const through = await postgresStore(proxy.url, { schema });
  expect(through.settings()).toMatchObject({ isTransactionPooled: true, watchesBy: 'polling' });
  await through.close();
  const withNotices = await postgresStore(proxy.url, { schema, listenUrl: databaseUrl() });
  expect(withNotices.settings()).toMatchObject({ isTransactionPooled: true, watchesBy: 'notices' });
  await withNotices.close();
  const direct = await postgresStore(databaseUrl(), { schema });
  expect(direct.settings()).toMatchObject({ isTransactionPooled: false, watchesBy: 'notices' });
  await direct.close();
  await dropSchema(schema);
});

test('a proxy that pools statements is refused at once, with the mode to use', async () => {
  const statements = await PoolingProxy.start(databaseUrl(), 2);
  statements.refusesTransactions = true;
  const opening = postgresStore(statements.url, { schema: newSchema(), retryMs: 3_600_000 });
  await expect(opening).rejects.toMatchObject({
    code: 'STORE_UNSUPPORTED',
    message: expect.stringContaining('pool_mode = transaction'),
  });
  await statements.stop();
});

describe('through a proxy that pools transactions', () => {
  const schemas = new WeakMap<Store, string>();
  const used: string[] = [];
  afterAll(async () => {
    for (const schema of used) await dropSchema(schema);
  });
  const suite = storeConformance({
    async create({ clock }) {
      const schema = newSchema();
      used.push(schema);
      const store = await postgresStore(proxy.url, { schema, clock, maxConnections: 4 });
      schemas.set(store, schema);
      return store;
    },
    reopen: (store, { clock }) =>
      postgresStore(proxy.url, { schema: schemas.get(store) ?? '', clock, maxConnections: 4 }),
    async loseContent(store, hash) {
      await queryOnce(databaseUrl(), `DELETE FROM "${schemas.get(store)}".contents WHERE hash = $1`, [hash]);
    },
    runs: 1,
  });
  for (const { name, run } of suite) if (RULES.test(name)) test(name, run);
});
