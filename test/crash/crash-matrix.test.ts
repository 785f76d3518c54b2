import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleScript } from '../support/bundle.ts';
import { type Cell, childRunner, reportOf, runScenario } from './matrix.ts';
import { SCENARIOS, STORE_SCENARIOS } from './scenarios.ts';

let child: Awaited<ReturnType<typeof bundleScript>>;
const all: Cell[] = [];

beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'child.ts'));
});

test('every scenario that is named for stores exists', () => {
  const names = new Set(SCENARIOS.map(({ name }) => name));
  expect([...STORE_SCENARIOS].filter((name) => !names.has(name))).toEqual([]);
});

test.for(SCENARIOS)(
  'I2, I3: killed at any point, "$name" ends like an uninterrupted run',
  { timeout: 600_000 },
  async (scenario) => {
    const cells = await runScenario(scenario, childRunner(child.path));
    all.push(...cells);
    expect(cells.filter((cell) => cell.outcome === 'WRONG')).toEqual([]);
    expect(cells.length).toBeGreaterThan(10);
  },
);

afterAll(() => {
  child.remove();
  console.log(reportOf(all));
});
