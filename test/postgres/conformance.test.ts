import { afterAll, describe, test } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { postgresStore } from '../../src/postgres.ts';
import { storeConformance } from '../../src/stores/conformance.ts';
import { databaseUrl, dropSchema, newSchema } from './support/schemas.ts';
import { queryOnce } from './support/server.ts';

describe.for([
  ['one table', 0],
  ['a partitioned log', 4],
] as const)('PostgreSQL, %s', ([, partitions]) => {
  const schemas = new WeakMap<Store, string>();
  const used: string[] = [];
  afterAll(async () => {
    for (const schema of used) await dropSchema(schema);
  });
  const open = async (schema: string, clock: { now(): number }) =>
    postgresStore(databaseUrl(), { schema, partitions, clock: clock as never, maxConnections: 4 });

  const suite = storeConformance({
    async create({ clock }) {
      const schema = newSchema();
      used.push(schema);
      const store = await open(schema, clock);
      schemas.set(store, schema);
      return store;
    },
    reopen: (store, { clock }) => open(schemas.get(store) ?? '', clock),
    async loseContent(store, hash) {
      await queryOnce(databaseUrl(), `DELETE FROM "${schemas.get(store)}".contents WHERE hash = $1`, [hash]);
    },
    async makeUnreachable(store) {
      await dropSchema(schemas.get(store) ?? '');
    },
    runs: partitions === 0 ? 20 : 5,
  });
  for (const { name, run } of suite) test(name, run);
});
