import { HoldfastError } from '../../core/errors.ts';
import { busyDeadline, LONGEST_PAUSE_MS, mayRetry, pause } from './busy.ts';
import { CommitSync } from './commit-sync.ts';
import type { Database } from './driver.ts';
import { storeError } from './sqlite-errors.ts';

/**
 * Group commit: what is submitted within one turn of the event loop is written in one transaction, and so with one sync. No timer is
 * involved. A session that writes alone does not wait for the turn to end, because its next write comes after this one resolves.
 *
 *     submit ─▶ waiting ──end of turn──▶ BEGIN IMMEDIATE · work, work, work · COMMIT ─▶ each promise resolves
 *                  ▲                          │ locked                │ failed
 *                  └────────── pause ─────────┘                       └─▶ rolled back; each work again, by itself
 *
 * A work that is refused never fails another (D51): a refusal comes before that work has written anything. Any other error rolls the
 * whole transaction back, and then only the work that causes it fails.
 */

const MAX_BATCH = 512;
/** How many transactions of a session that writes alone may follow each other before timers and input have their turn. */
const MAX_IN_A_TURN = 8;

/**
 * Long work waits for the other writers of this process twice as long as its last transaction took: it gets a third of the time
 * beside a session that writes without a pause. It never waits longer than `LONG_ENOUGH_MS`.
 */
const SHARE_OF_OTHERS = 2;
const LONG_ENOUGH_MS = 100;

/**
 * SQLite's lock is not fair: a process that takes it again right after each transaction starves the others, which only look now
 * and then. Long work leaves the lock free after this long, for longer than the longest pause between two looks of a writer.
 */
const LONG_WORK_MS = 100;
const LOCK_FREE_MS: number = 1.3 * LONGEST_PAUSE_MS;

interface Job {
  readonly work: () => unknown;
  /** The session that writes. */
  readonly writer: string | undefined;
  /** Whether a power failure may undo it. */
  readonly mayBeUndone: boolean;
  /** When waiting for a lock ends; set when the wait begins. */
  deadline?: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HoldfastError) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: HoldfastError };

/** What a guard throws: nothing of the transaction may be acknowledged. */
export class GuardError extends Error {
  readonly refusal: HoldfastError;

  constructor(refusal: HoldfastError) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

/** Looks at the database in each transaction. What it throws rejects all work in the transaction. */
export interface TransactionGuard {
  /** Before anything is written. */
  begun(): void;
}

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
  readonly #guard: TransactionGuard | undefined;
  readonly #sync: CommitSync;
  #waiting: Job[] = [];
  #alone: Job[] = [];
  #running: Promise<void> | undefined;
  /** The only session that the last transaction was for. */
  #lastWriter: string | undefined;
  #inThisTurn = 0;
  /** Since when the first of those who write alone has waited. */
  #aloneSince = 0;
  /** How long the last of them worked. */
  #lastAloneMs: number = LONG_ENOUGH_MS;
  /** How long they have worked since the lock was last left free. */
  #longWorkMs = 0;
  #lockFree: Promise<void> | undefined;

  constructor(database: Database, path: string, busyTimeoutMs: number, guard?: TransactionGuard) {
    this.#guard = guard;
    this.#database = database;
    this.#path = path;
    this.#sync = new CommitSync(database);
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
  }

  /** Resolves when what `work` wrote is durable, with what it returned. `writer` is the session that it is written for. */
  submit<T>(work: () => T, writer?: string): Promise<T> {
    return this.#enqueue(this.#waiting, work, writer);
  }

  /** As `submit`, in a transaction of its own and after everyone who waits: for long work, which others should not wait for. */
  async submitAlone<T>(work: () => T, mayBeUndone = false): Promise<T> {
    if (this.#longWorkMs >= LONG_WORK_MS) this.#lockFree ??= this.#leaveLockFree();
    await this.#lockFree;
    return this.#enqueue(this.#alone, work, undefined, mayBeUndone);
  }

  /**
   * As `submitAlone`, for work that is done again after a power failure has undone it: its commit does not wait for the disk, so it
   * blocks neither the event loop nor other writers for that long. The next ordinary commit makes it durable, too.
   */
  submitSlice<T>(work: () => T): Promise<T> {
    return this.submitAlone(work, true);
  }

  async #leaveLockFree(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LOCK_FREE_MS));
    this.#longWorkMs = 0;
    this.#lockFree = undefined;
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  #enqueue<T>(lane: Job[], work: () => T, writer: string | undefined, mayBeUndone = false): Promise<T> {
    if (lane === this.#alone && lane.length === 0) this.#aloneSince = performance.now();
    return new Promise<T>((resolve, reject) => {
      lane.push({ work, writer, mayBeUndone, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    do {
      await (this.#isAlone() ? undefined : this.#endOfTurn());
      const lane = this.#waiting.length > 0 && !this.#isOverdue() ? this.#waiting : this.#alone;
      const jobs = lane.splice(0, lane === this.#alone ? 1 : MAX_BATCH);
      this.#lastWriter = onlyWriter(jobs);
      const unserved = lane === this.#alone ? this.#commitAlone(jobs) : this.#commitTogether(jobs);
      if (unserved.length > 0) {
        lane.unshift(...unserved);
        await pause();
      }
    } while (this.#waiting.length > 0 || this.#alone.length > 0);
    this.#running = undefined;
  }

  #commitAlone(jobs: readonly Job[]): readonly Job[] {
    const began = performance.now();
    this.#aloneSince = began;
    const unserved = this.#commitTogether(jobs);
    this.#lastAloneMs = performance.now() - began;
    this.#longWorkMs += this.#lastAloneMs;
    return unserved;
  }

  /** Whether long work has waited for long: behind a session that writes without a pause it would wait for ever. */
  #isOverdue(): boolean {
    const enough = Math.min(SHARE_OF_OTHERS * this.#lastAloneMs, LONG_ENOUGH_MS);
    return this.#alone.length > 0 && performance.now() - this.#aloneSince > enough;
  }

  /** Whether no other session writes, and timers and input have not waited for long. */
  #isAlone(): boolean {
    const writer = this.#waiting[0]?.writer;
    return writer !== undefined && writer === this.#lastWriter && this.#inThisTurn++ < MAX_IN_A_TURN;
  }

  /** Waits for what else is submitted in this turn of the event loop. */
  #endOfTurn(): Promise<void> {
    this.#inThisTurn = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes the jobs and settles their promises; returns those to try again because the database is locked. */
  #commitTogether(jobs: readonly Job[]): readonly Job[] {
    try {
      this.#sync.set(jobs.every(({ mayBeUndone }) => mayBeUndone) ? 'NORMAL' : 'FULL');
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
      this.#guard?.begun();
      const [only] = jobs;
      const outcomes = jobs.length === 1 && only ? [runJob(only)] : jobs.map(runJob);
      this.#commit.run();
      this.#sync.set('FULL');
      for (let i = 0; i < outcomes.length; i++) settle(jobs[i], outcomes[i] as Outcome);
      return [];
    } catch (error) {
      this.#undo();
      if (jobs.length > 1 && !(error instanceof GuardError)) return jobs.flatMap((job) => this.#commitTogether([job]));
      if (error instanceof GuardError) {
        for (const job of jobs) job.reject(error.refusal);
        return [];
      }
      settle(jobs[0], { error: error instanceof RefusedAfterWriting ? error.refusal : storeError(error, this.#path) });
      return [];
    }
  }

  #undo(): void {
    try {
      // A full disk makes SQLite roll back by itself.
      if (this.#database.isTransaction) this.#rollback.run();
    } catch {
      // The error that led here is the one to report; a transaction that stays open fails the next BEGIN.
    }
  }
}

/** The session that all jobs are for, if it is one. */
function onlyWriter(jobs: readonly Job[]): string | undefined {
  const writer = jobs[0]?.writer;
  for (let i = 1; i < jobs.length; i++) if (jobs[i]?.writer !== writer) return undefined;
  return writer;
}

function runJob(job: Job): Outcome {
  try {
    return { value: job.work() };
  } catch (error) {
    if (error instanceof HoldfastError) return { error };
    throw error;
  }
}

function settle(job: Job | undefined, outcome: Outcome): void {
  if ('error' in outcome) job?.reject(outcome.error);
  else job?.resolve(outcome.value);
}
