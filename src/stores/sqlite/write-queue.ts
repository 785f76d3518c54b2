import type { Database } from 'better-sqlite3';
import { HoldfastError } from '../../core/errors.ts';
import { busyDeadline, mayRetry, pause } from './busy.ts';
import { storeError } from './sqlite-errors.ts';

/**
 * Group commit: what is asked for within one turn of the event loop is written in one transaction, and so with one sync.
 * Nobody waits for a timer: a lone write begins as soon as the present callbacks are done.
 *
 *     submit ─▶ waiting ──setImmediate──▶ BEGIN IMMEDIATE · work, work, work · COMMIT ─▶ everyone's answer
 *                  ▲                          │ locked                │ failed
 *                  └────────── pause ─────────┘                       └─▶ undone; each work again, by itself
 *
 * One work's refusal never fails another's (D51): a refusal comes before that work has written anything, and whatever else
 * goes wrong undoes the whole transaction and is then met by the culprit alone.
 */

const MAX_BATCH = 512;

interface Job {
  readonly work: () => unknown;
  /** When waiting for a lock ends; set when the wait begins. */
  deadline?: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HoldfastError) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: HoldfastError };

/** Thrown by work that has to refuse after it wrote: the transaction is undone first. */
export class RefusedAfterWriting extends Error {
  readonly refusal: HoldfastError;

  constructor(refusal: HoldfastError) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

/**
 * The only way anything is written.
 *
 * Contract: `work` is synchronous and reads what it decides on from the database; it may run more than once, and only its
 * last run counts. A `HoldfastError` it throws means that it wrote nothing.
 */
export class WriteQueue {
  readonly #path: string;
  readonly #busyTimeoutMs: number;
  readonly #database: Database;
  readonly #begin: { run(): unknown };
  readonly #commit: { run(): unknown };
  readonly #rollback: { run(): unknown };
  #waiting: Job[] = [];
  #alone: Job[] = [];
  #running: Promise<void> | undefined;

  constructor(database: Database, path: string, busyTimeoutMs: number) {
    this.#database = database;
    this.#path = path;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
  }

  /** Resolves when what `work` wrote is durable, with what it returned. */
  submit<T>(work: () => T): Promise<T> {
    return this.#enqueue(this.#waiting, work);
  }

  /** As `submit`, in a transaction of its own and after everyone who waits: for long work that nobody should wait behind. */
  submitAlone<T>(work: () => T): Promise<T> {
    return this.#enqueue(this.#alone, work);
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  #enqueue<T>(lane: Job[], work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      lane.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    do {
      await new Promise((resolve) => setImmediate(resolve));
      const lane = this.#waiting.length > 0 ? this.#waiting : this.#alone;
      const jobs = lane.splice(0, lane === this.#alone ? 1 : MAX_BATCH);
      const unserved = this.#commitTogether(jobs);
      if (unserved.length > 0) {
        lane.unshift(...unserved);
        await pause();
      }
    } while (this.#waiting.length > 0 || this.#alone.length > 0);
    this.#running = undefined;
  }

  /** Writes the jobs and answers them; returns those to try again because the database is locked. */
  #commitTogether(jobs: readonly Job[]): readonly Job[] {
    try {
      this.#begin.run();
    } catch (error) {
      return jobs.filter((job) => {
        job.deadline ??= busyDeadline(this.#busyTimeoutMs);
        if (mayRetry(error, job.deadline)) return true;
        job.reject(storeError(error, this.#path));
        return false;
      });
    }
    try {
      const outcomes = jobs.map(runJob);
      this.#commit.run();
      for (const [i, outcome] of outcomes.entries()) answer(jobs[i], outcome);
      return [];
    } catch (error) {
      this.#undo();
      if (jobs.length > 1) return jobs.flatMap((job) => this.#commitTogether([job]));
      answer(jobs[0], { error: error instanceof RefusedAfterWriting ? error.refusal : storeError(error, this.#path) });
      return [];
    }
  }

  #undo(): void {
    try {
      // A full disk makes SQLite roll back by itself.
      if (this.#database.inTransaction) this.#rollback.run();
    } catch {
      // The error that led here is the one to report; a transaction that stays open fails the next BEGIN.
    }
  }
}

function runJob(job: Job): Outcome {
  try {
    return { value: job.work() };
  } catch (error) {
    if (error instanceof HoldfastError) return { error };
    throw error;
  }
}

function answer(job: Job | undefined, outcome: Outcome): void {
  if ('error' in outcome) job?.reject(outcome.error);
  else job?.resolve(outcome.value);
}
