/** `holdfast/worker`: processes that run the sessions of a store which have work, on one machine or on many. */

export type { Doorbell } from './ports/doorbell.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker/create-worker.ts';
export { serveHealth } from './worker/health.ts';
export { listRuns } from './worker/list-runs.ts';
export { pgBossDoorbell } from './worker/pg-boss-doorbell.ts';
export type { WorkerStats } from './worker/worker-stats.ts';
