import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresStore } from '../../src/postgres.ts';
import { type Cell, childRunner, reportOf, runScenario } from '../crash/matrix.ts';
import { SCENARIOS } from '../crash/scenarios.ts';
import { bundleScript } from '../support/bundle.ts';
import { CRASH_SCHEMA, copyWithSession } from './support/crash-sessions.ts';
import { databaseUrl, dropSchema } from './support/schemas.ts';

/**
 * One scenario for each thing that a store does differently: parallel results, fenced effects, progress drafts, contents of calls,
 * erasure, cancellation. In these, processes are also killed while they resume; in all scenarios with `HOLDFAST_ALL_KILLS=1`.
 */
const KILLED_TWICE = new Set([
  'three parallel tools',
  'a once tool that reports progress',
  'redacted arguments of every effect',
  'an open call whose message is erased',
  'a once tool that is cancelled, then another message',
]);

let client: pg.Client;
let child: Awaited<ReturnType<typeof bundleScript>>;
const all: Cell[] = [];

beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'support', 'crash-child.ts'), ['pg']);
  await (await postgresStore(databaseUrl(), { schema: CRASH_SCHEMA })).close();
  client = new pg.Client({ connectionString: databaseUrl() });
  await client.connect();
});

test('every chosen scenario exists', () => {
  const names = new Set(SCENARIOS.map(({ name }) => name));
  expect([...KILLED_TWICE].filter((name) => !names.has(name))).toEqual([]);
});

test.for(SCENARIOS)(
  'I2, I3: killed at any point on PostgreSQL, "$name" ends like an uninterrupted run',
  { timeout: 600_000 },
  async (scenario) => {
    const killsResumes = process.env.HOLDFAST_ALL_KILLS !== undefined || KILLED_TWICE.has(scenario.name);
    const run = childRunner(child.path, [databaseUrl()]);
    const cells = await runScenario(scenario, run, { copyDirectory: copyWithSession(client), killsResumes });
    all.push(...cells);
    console.log(`${scenario.name}: ${cells.length} cells`);
    expect(cells.filter((cell) => cell.outcome === 'WRONG')).toEqual([]);
    expect(cells.length).toBeGreaterThan(10);
  },
);

afterAll(async () => {
  child.remove();
  await client.end();
  await dropSchema(CRASH_SCHEMA);
  console.log(reportOf(all));
});
