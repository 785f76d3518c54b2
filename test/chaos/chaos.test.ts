import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleScript } from '../support/bundle.ts';
import { POINTS, SEED } from '../support/random.ts';
import { chaos } from './chaos.ts';

/** Twice as many each night. */
const KILLS = POINTS === 'all' ? 150 : 75;
const STOPS = POINTS === 'all' ? 40 : 20;

test('processes that are killed, or stopped beyond their lease, at random lose nothing and run nothing twice (I1, I2)', async () => {
  const worker = await bundleScript(join(import.meta.dirname, 'worker.ts'));
  try {
    const isEnough = ({ kills, stops }: { readonly kills: number; readonly stops: number }): boolean =>
      kills >= KILLS && stops >= STOPS;
    const report = await chaos({ worker: worker.path, seed: SEED, isEnough });
    expect(report.wrong, `SEED=${SEED}`).toEqual([]);
    expect(report.takeovers).toBeGreaterThan(0);
  } finally {
    worker.remove();
  }
});
