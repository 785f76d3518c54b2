/** Several worker processes on one SQLite file, which are killed, stopped and woken. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteStore } from '../../src/sqlite.ts';
import { SEED } from '../support/random.ts';
import { reportOf, workerChaos } from './chaos/chaos.ts';

test('I2, I3: workers that are killed and stopped bring every conversation to the end of an undisturbed one', {
  timeout: 600_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-workers-'));
  const file = join(directory, 'agent.db');
  const store = await sqliteStore(file);
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const report = await workerChaos({
    backend: { store, args: ['sqlite', file, '-'] },
    effects: join(directory, 'effects.log'),
    seed: SEED,
    sessions: 12,
    workers: 3,
    leaseMs: 1500,
    everyMs: 1500,
    onProgress: console.log,
  });
  console.log(reportOf(report));
  expect(report.wrong).toEqual([]);
  expect(report.takeovers).toBeGreaterThan(0);
});
