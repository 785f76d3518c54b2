/** Workers under chaos on a PostgreSQL of their own, which restarts and loses connections. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresStore } from '../../../src/postgres.ts';
import { pgBossDoorbell } from '../../../src/worker.ts';
import { PostgresServer } from '../../postgres/support/server.ts';
import { type ChaosReport, reportOf, workerChaos } from './chaos.ts';

export interface PostgresChaosOptions {
  readonly seed: number;
  readonly sessions: number;
  readonly print: (line: string) => void;
}

/** One round: a new database, and every session from its first input to its end. */
export async function postgresRound({ seed, sessions, print }: PostgresChaosOptions): Promise<ChaosReport> {
  const server = await PostgresServer.start(['max_connections=200']);
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-workers-'));
  const store = await postgresStore(server.url, { maxConnections: 6 });
  const doorbell = await pgBossDoorbell(store, server.url, { schema: 'holdfast_boss', onError: () => {} });
  try {
    const report = await workerChaos({
      backend: {
        store,
        args: ['postgres', server.url, 'holdfast'],
        disturbances: {
          restart: async () => {
            await server.kill();
            await server.run();
          },
          cut: () =>
            server
              .query(
                'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND random() < 0.5',
              )
              .catch(() => []),
        },
      },
      effects: join(directory, 'effects.log'),
      seed,
      sessions,
      workers: 3,
      leaseMs: 3000,
      everyMs: 3000,
      onProgress: print,
    });
    print(reportOf(report));
    return report;
  } finally {
    await doorbell.close().catch(() => {});
    await store.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Rounds until the time is over. Returns false when one of them found a defect. */
export async function postgresChaos({
  minutes,
  ...options
}: PostgresChaosOptions & { readonly minutes: number }): Promise<boolean> {
  const end = performance.now() + minutes * 60_000;
  for (let round = 1; round === 1 || performance.now() < end; round++) {
    options.print(`round ${round}, seed ${options.seed + round}`);
    const { wrong } = await postgresRound({ ...options, seed: options.seed + round });
    if (wrong.length > 0) return false;
  }
  return true;
}
