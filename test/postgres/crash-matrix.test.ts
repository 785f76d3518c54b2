import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresStore } from '../../src/postgres.ts';
import { type Cell, childRunner, reportOf, runScenario } from '../crash/matrix.ts';
import { pointsOf } from '../crash/points.ts';
import { SCENARIOS } from '../crash/scenarios.ts';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { SEED } from '../support/random.ts';
import { CRASH_SCHEMA, copyWithSession } from './support/crash-sessions.ts';
import { databaseUrl, dropSchema } from './support/schemas.ts';

let client: pg.Client;
let child: BundledScript;
const all: Cell[] = [];

beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'support', 'crash-child.ts'), {
    external: ['pg'],
    keepsCompiledCode: true,
  });
  await (await postgresStore(databaseUrl(), { schema: CRASH_SCHEMA })).close();
  client = new pg.Client({ connectionString: databaseUrl() });
  await client.connect();
});

test.for(SCENARIOS)(
  'I2, I3: killed at any point on PostgreSQL, "$name" ends like an uninterrupted run',
  async (scenario) => {
    const run = childRunner(child.path, [databaseUrl()]);
    const points = pointsOf(scenario);
    const cells = await runScenario(scenario, run, { copyDirectory: copyWithSession(client), ...points });
    all.push(...cells);
    console.log(`${scenario.name}: ${cells.length} cells`);
    expect(
      cells.filter((cell) => cell.outcome === 'WRONG'),
      `SEED=${SEED}`,
    ).toEqual([]);
    expect(cells.length).toBeGreaterThan(points.kills ?? 10);
  },
);

afterAll(async () => {
  child.remove();
  await client.end();
  await dropSchema(CRASH_SCHEMA);
  console.log(reportOf(all));
});
