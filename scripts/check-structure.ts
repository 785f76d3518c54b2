/** A step of `npm run check`: no module imports itself through others, no file is too long, and no test is random without a seed. */
import { join } from 'node:path';
import { importCycles } from './structure/import-cycles.ts';
import { longFiles, MAX_LINES } from './structure/long-files.ts';
import { readSources } from './structure/read-sources.ts';
import { unseededTests } from './structure/unseeded-tests.ts';

const sources = readSources(join(import.meta.dirname, '..'), ['src', 'test', 'scripts', 'bench', 'examples', 'studio']);
const problems = [
  ...importCycles(sources).map((cycle) => `these modules import each other: ${[...cycle, cycle[0]].join(' → ')}`),
  ...longFiles(sources).map(
    ({ path, lines }) => `${path} has ${lines} lines, more than ${MAX_LINES}; split it by idea`,
  ),
  ...unseededTests(sources).map((path) => `${path} takes random numbers without a seed; use test/support/random.ts`),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
