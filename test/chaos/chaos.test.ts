import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleScript } from '../support/bundle.ts';
import { SEED } from '../support/random.ts';
import { chaos } from './chaos.ts';

const KILLS = 150;
const STOPS = 40;

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
