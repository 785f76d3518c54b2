/**
 * `npm run test:nightly`: looks further than `npm run test:all`, with a new seed each time: every tier with all points of the crash matrix, on
 * PostgreSQL and on other versions of Node, too, then long chaos and a million damaged inputs. `SEED=<number>` repeats a night.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';

const SEED = process.env.SEED ?? String(randomInt(2 ** 30));
const STEPS: readonly (readonly string[])[] = [
  ['scripts/test-all.ts'],
  ['scripts/chaos.ts', '--minutes', '15'],
  ['scripts/chaos.ts', '--minutes', '15', '--postgres'],
  ['scripts/fuzz.ts', '--count', '1000000'],
];

console.log(`SEED=${SEED}`);
const failed = STEPS.filter((args) => {
  const env = { ...process.env, SEED, POINTS: 'all' };
  return spawnSync('node', args, { cwd: join(import.meta.dirname, '..'), env, stdio: 'inherit' }).status !== 0;
});
for (const args of failed) console.error(`failed: SEED=${SEED} POINTS=all node ${args.join(' ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
