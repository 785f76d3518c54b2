/** `holdfast/worker`: processes that run the sessions of a store which have work, on one machine or on many. */

export type { Agents } from './loop/agent/choose-agent.ts';
export type { Doorbell, DoorbellListener } from './ports/doorbell.ts';
export type { Concurrency } from './worker/choose-next.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker/create-worker.ts';
export { listRuns, type RunElsewhere, type StoreRuns } from './worker/list-runs.ts';
export {
  type JobDatabase,
  type JobQueue,
  type PgBossDoorbell,
  type PgBossDoorbellOptions,
  pgBossDoorbell,
} from './worker/pg-boss-doorbell.ts';
export { type HealthAddress, serveHealth } from './worker/serve-health.ts';
export type { FailedSession, RunnerStatus, RunningSession, WorkerStats } from './worker/worker-stats.ts';
