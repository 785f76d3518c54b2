import type { Lease } from '../ports/store.ts';

/** What the runner of a session does, or why it failed. */
export interface RunnerStatus {
  readonly state: 'waiting' | 'running' | 'failed';
  /** The error of the last try, if it threw. A failed evaluation is in the log and not here. */
  readonly error?: { readonly code: string; readonly message: string };
  /** When a failed runner is tried again, unless something wakes it before. */
  readonly retryAt?: string;
}

/** What a worker does at the moment. */
export interface WorkerStats {
  /** Names the worker in the log. */
  readonly id: string;
  readonly state: 'new' | 'running' | 'draining' | 'stopped';
  readonly startedAt?: string;
  readonly running: readonly RunningSession[];
  /** Sessions that this worker knows to have work and has no place for. */
  readonly waiting: number;
  /** Sessions whose last run threw, and when they are tried again. */
  readonly failures: readonly FailedSession[];
  /** Sessions that other processes run, by the last search. */
  readonly elsewhere: readonly { readonly sessionId: string; readonly lease: Lease }[];
  /** Counted since the worker started. */
  readonly counts: {
    /** Calls of `run` that returned. */
    readonly runs: number;
    /** Calls of `run`, or of `agents`, that threw. */
    readonly failures: number;
    /** Sessions that this worker gave up on. */
    readonly suspended: number;
    readonly rings: number;
    readonly searches: number;
  };
  /** When the last search for work ended, and its error if it failed. */
  readonly search?: { readonly at: string; readonly error?: { readonly code: string; readonly message: string } };
}

/** A session that a worker runs. */
export interface RunningSession {
  readonly sessionId: string;
  readonly since: string;
  /** When it last committed an event, streamed text or reported progress. */
  readonly activeAt: string;
  /** It has been silent for longer than `stuckAfterMs`. */
  readonly isStuck?: true;
}

/** A session whose last run threw. */
export interface FailedSession {
  readonly sessionId: string;
  readonly attempts: number;
  readonly retryAt: string;
  readonly error: { readonly code: string; readonly message: string };
}
