import type { WorkerStats } from 'holdfast/worker';
import type { StoreRuns } from '../../../src/worker/list-runs.ts';
import { type Reading, useRead } from '../api/use-read.ts';

/** What `GET /workers` returns. */
export interface Workers extends StoreRuns {
  /** The worker of the server, if it runs agents. */
  readonly worker?: WorkerStats;
}

/** What the workers do, read again every few milliseconds that are given. */
export function useWorkers(refreshMs: number): Reading<Workers> {
  return useRead<Workers>('workers', { refreshMs });
}

/** How many sessions are run, have work to do, or have failed: none of them, and there is nothing to show. */
export function workCount({ runs, backlog, suspended, worker }: Workers): number {
  return runs.length + backlog + suspended.length + (worker?.failures.length ?? 0);
}
