import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleScript } from '../support/bundle.ts';
import { chaos } from './chaos.ts';

const KILLS = 40;
const STOPS = 8;

test('processes that are killed, or stopped beyond their lease, at random lose nothing and run nothing twice (I1, I2)', async () => {
  const seed = Date.now() % 2 ** 30;
  const worker = await bundleScript(join(import.meta.dirname, 'worker.ts'));
  try {
    const isEnough = ({ kills, stops }: { readonly kills: number; readonly stops: number }): boolean =>
      kills >= KILLS && stops >= STOPS;
    const report = await chaos({ worker: worker.path, seed, isEnough });
    expect(report.wrong, `seed ${seed}`).toEqual([]);
    expect(report.takeovers).toBeGreaterThan(0);
  } finally {
    worker.remove();
  }
});
