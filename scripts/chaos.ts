/**
 * `npm run chaos [-- --minutes <n>] [--seed <n>] [--postgres]`: kills and stops the processes of a mixed agent at random instants, prints a
 * line every few seconds and a report at the end, and exits with 1 when it finds a defect. With `--postgres`: workers on a PostgreSQL
 * that restarts and loses connections.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ChaosReport, chaos, reportOf } from '../test/chaos/chaos.ts';
import { bundleScript } from '../test/support/bundle.ts';
import { SEED } from '../test/support/random.ts';
import { postgresChaos } from '../test/worker/chaos/postgres.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, postgres: { type: 'boolean' } },
});
const minutes = Number(values.minutes ?? 6);
const seed = Number(values.seed ?? SEED);
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('usage: npm run chaos [-- --minutes <n>] [--seed <n>] [--postgres]');
  process.exit(2);
}

if (values.postgres) {
  process.exit((await postgresChaos({ minutes, seed, sessions: 100, print: console.log })) ? 0 : 1);
}

const worker = await bundleScript(join(import.meta.dirname, '..', 'test', 'chaos', 'worker.ts'));
const began = performance.now();
const elapsed = (): number => (performance.now() - began) / 1000;
let report: ChaosReport;
try {
  console.log(`chaos: ${minutes} minutes, seed ${seed}`);
  report = await chaos({
    worker: worker.path,
    seed,
    isEnough: () => elapsed() >= minutes * 60,
    onProgress: (so) => console.log(`${elapsed().toFixed(0).padStart(5)} s  ${reportOf(so)}`),
  });
} finally {
  worker.remove();
}
console.log(`\nchaos, seed ${seed}, ${elapsed().toFixed(0)} s\n${reportOf(report)}`);
process.exit(report.wrong.length > 0 ? 1 : 0);
