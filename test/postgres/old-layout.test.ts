/** A schema from before summaries named what they were folded from opens, is listed as before, and its sessions continue (D6, D82). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, test } from 'vitest';
import type { PostgresStore } from '../../src/postgres.ts';
import { continueSessions, FIXTURES } from '../stores/support/old-databases/continue-sessions.ts';
import { databaseUrl, dropSchema, newSchema, openStore } from './support/schemas.ts';

const schema = newSchema();
const stores: PostgresStore[] = [];
afterAll(async () => {
  for (const store of stores) await store.close();
  await dropSchema(schema);
});

test('the dump postgres-layout-2 opens, lists what it did, continues, and forgets what is erased', async () => {
  const dump = readFileSync(join(FIXTURES, 'postgres-layout-2/dump.sql'), 'utf8');
  const client = new pg.Client(databaseUrl());
  await client.connect();
  await client.query(dump.replaceAll('"old_layout"', `"${schema}"`));
  await client.end();
  const open = async () => {
    const store = await openStore({ schema, backgroundIndexing: false });
    stores.push(store);
    return store;
  };
  await continueSessions('postgres-layout-2', await open(), open);
});
