import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { SEED } from '../support/random.ts';
import { type Cell, childRunner, reportOf, runScenario } from './matrix.ts';
import { pointsOf } from './points.ts';
import { SCENARIOS } from './scenarios.ts';

let child: BundledScript;
const all: Cell[] = [];

beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'child.ts'), { keepsCompiledCode: true });
});

test.for(SCENARIOS)('I2, I3: killed at any point, "$name" ends like an uninterrupted run', async (scenario) => {
  const points = pointsOf(scenario);
  const cells = await runScenario(scenario, childRunner(child.path), points);
  all.push(...cells);
  expect(
    cells.filter((cell) => cell.outcome === 'WRONG'),
    `SEED=${SEED}`,
  ).toEqual([]);
  expect(cells.length).toBeGreaterThan(points.kills ?? 10);
});

afterAll(() => {
  child.remove();
  console.log(reportOf(all));
});
