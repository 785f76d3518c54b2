/** A step of `npm run check`: no module imports itself through others, and no file is too long. */
import { join } from 'node:path';
import { importCycles } from './structure/import-cycles.ts';
import { longFiles, MAX_LINES } from './structure/long-files.ts';
import { readSources } from './structure/read-sources.ts';

const sources = readSources(join(import.meta.dirname, '..'), ['src', 'test', 'scripts', 'bench', 'examples', 'studio']);
const problems = [
  ...importCycles(sources).map((cycle) => `these modules import each other: ${[...cycle, cycle[0]].join(' → ')}`),
  ...longFiles(sources).map(
    ({ path, lines }) => `${path} has ${lines} lines, more than ${MAX_LINES}; split it by idea`,
  ),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
