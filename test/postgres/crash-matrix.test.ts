import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresStore } from '../../src/postgres.ts';
import { type Cell, childRunner, reportOf, runScenario } from '../crash/matrix.ts';
import { SCENARIOS, STORE_SCENARIOS } from '../crash/scenarios.ts';
import { bundleScript } from '../support/bundle.ts';
import { CRASH_SCHEMA, copyWithSession } from './support/crash-sessions.ts';
import { databaseUrl, dropSchema } from './support/schemas.ts';

let client: pg.Client;
let child: Awaited<ReturnType<typeof bundleScript>>;
const all: Cell[] = [];

beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'support', 'crash-child.ts'), ['pg']);
  await (await postgresStore(databaseUrl(), { schema: CRASH_SCHEMA })).close();
  client = new pg.Client({ connectionString: databaseUrl() });
  await client.connect();
});

test.for(SCENARIOS)(
  'I2, I3: killed at any point on PostgreSQL, "$name" ends like an uninterrupted run',
  { timeout: 600_000 },
  async (scenario) => {
    const killsResumes = process.env.HOLDFAST_ALL_KILLS !== undefined || STORE_SCENARIOS.has(scenario.name);
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
