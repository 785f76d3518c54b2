import { HoldfastError } from '../../../core/errors.ts';
import type { Database } from '../driver.ts';
import { busyDeadline, LONGEST_PAUSE_MS, mayRetry, pause } from './busy.ts';
import { storeError } from './sqlite-errors.ts';

/**
 * Group commit: what is submitted within one turn of the event loop is written in one transaction, and so with one sync. No timer is
 * involved. A session that writes alone does not wait for the turn to end, because its next write comes after this one resolves.
 *
 *     submit ─▶ waiting ──end of turn──▶ BEGIN IMMEDIATE · work, work, work · COMMIT ─▶ each promise resolves
 *                  ▲                          │ locked                │ failed
 *                  └────────── pause ─────────┘                       └─▶ rolled back; each work again, by itself
 *
 * Work whose commit may be synced later is written at once and does not wait for the disk. The next commit that waits syncs it, too;
 * if none follows in this turn of the event loop, the queue makes one.
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

/**
 * When a commit has to be synced: before it is acknowledged, by the end of this turn of the event loop, or with any later commit, for
 * work that is done again after a power failure.
 */
type Sync = 'now' | 'soon' | 'later';

/** Options of `submit`. */
export interface SubmitOptions<T, U> {
  /** The session that the work is written for. */
  readonly writer?: string;
  /** The work appends to its session and changes nothing else that another append relies on. */
  readonly onlyAppends?: boolean;
  readonly sync?: Sync;
  /** Runs right after the commit, with what the work returned; the promise resolves with what this returns. */
  readonly committed?: (value: T) => U;
  /** Whether work that returned this value has changed the database. Absent: perhaps not. */
  readonly wrote?: (value: T) => boolean;
}

interface Job {
  readonly work: () => unknown;
  /** The session that writes. */
  readonly writer: string | undefined;
  readonly onlyAppends: boolean;
  readonly sync: Sync;
  readonly committed: ((value: never) => unknown) | undefined;
  readonly wrote: ((value: never) => boolean) | undefined;
  /** When waiting for a lock ends; set when the wait begins. */
  deadline?: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
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
  /** Before anything is written. Returns whether another connection may have written since this one's last transaction. */
  begun(): boolean;
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
  /** A change that makes a commit write something: SQLite does not sync one that changes nothing. */
  #countSync: { run(): unknown } | undefined;
  readonly #guard: TransactionGuard | undefined;
  readonly #sync: CommitSync;
  #epoch = 0;
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
  /** Whether a commit was acknowledged that the queue has to sync soon. */
  #owesSync = false;
  #syncing: NodeJS.Immediate | undefined;

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

  /**
   * Within work: changes with every transaction that is not one append by this connection, whichever connection made it. As long as it
   * stays the same, each session is as the last append to it left it.
   */
  get epoch(): number {
    return this.#epoch;
  }

  /** Resolves with what `work` returned when it is committed and, unless `sync` is `soon`, synced. */
  submit<T, U = T>(work: () => T, options: SubmitOptions<T, U> = {}): Promise<U> {
    return this.#enqueue(this.#waiting, work, options);
  }

  /** As `submit`, in a transaction of its own and after everyone who waits: for long work, which others should not wait for. */
  async submitAlone<T>(work: () => T, sync: Sync = 'now'): Promise<T> {
    if (this.#longWorkMs >= LONG_WORK_MS) this.#lockFree ??= this.#leaveLockFree();
    await this.#lockFree;
    return this.#enqueue<T, T>(this.#alone, work, { sync });
  }

  /**
   * As `submitAlone`, for work that is done again after a power failure has undone it: its commit does not wait for the disk, so it
   * blocks neither the event loop nor other writers for that long. The next ordinary commit makes it durable, too.
   */
  submitSlice<T>(work: () => T): Promise<T> {
    return this.submitAlone(work, 'later');
  }

  async #leaveLockFree(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LOCK_FREE_MS));
    this.#longWorkMs = 0;
    this.#lockFree = undefined;
  }

  /** Resolves when nothing waits and everything is synced, if it can be. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
    this.#syncNow();
    while (this.#running) await this.#running;
  }

  #enqueue<T, U>(
    lane: Job[],
    work: () => T,
    { writer, onlyAppends = false, sync = 'now', committed, wrote }: SubmitOptions<T, U>,
  ): Promise<U> {
    if (lane === this.#alone && lane.length === 0) this.#aloneSince = performance.now();
    return new Promise<U>((resolve, reject) => {
      const job: Job = {
        work,
        writer,
        onlyAppends,
        sync,
        committed,
        wrote,
        resolve: resolve as (value: unknown) => void,
        reject,
      };
      // Nothing to share a commit with, and nothing to wait for.
      if (!this.#running && this.#isAlone(writer) && this.#commitTogether([job]).length === 0) return;
      lane.push(job);
      this.#running ??= this.#run();
    });
  }

  /** Makes a commit that waits for the disk, for those before it that did not. If it fails, the next commit syncs them. */
  #syncNow(): void {
    clearImmediate(this.#syncing);
    this.#syncing = undefined;
    if (!this.#owesSync) return;
    this.submit(() => {}).catch(() => {});
  }

  #writeSomething(): void {
    this.#countSync ??= this.#database.prepare(
      "INSERT INTO counters VALUES ('syncs', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    );
    this.#countSync.run();
  }

  async #run(): Promise<void> {
    do {
      // Always a wait: `#running` is set by then.
      await (this.#isAlone(this.#waiting[0]?.writer) ? undefined : this.#endOfTurn());
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
  #isAlone(writer: string | undefined): boolean {
    return writer !== undefined && writer === this.#lastWriter && this.#inThisTurn++ < MAX_IN_A_TURN;
  }

  /** Waits for what else is submitted in this turn of the event loop. */
  #endOfTurn(): Promise<void> {
    this.#inThisTurn = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes the jobs and settles their promises; returns those to try again because the database is locked. */
  #commitTogether(jobs: readonly Job[]): readonly Job[] {
    const waits = jobs.some(({ sync }) => sync === 'now');
    try {
      this.#sync.set(waits ? 'FULL' : 'NORMAL');
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
      const [only] = jobs;
      const isOneAppend = jobs.length === 1 && only?.onlyAppends === true;
      if (this.#guard?.begun() !== false || !isOneAppend) this.#epoch++;
      const outcomes = jobs.length === 1 && only ? [runJob(only)] : jobs.map(runJob);
      // An append may have come before the other work of this transaction.
      if (!isOneAppend && jobs.some(({ onlyAppends }) => !onlyAppends)) this.#epoch++;
      // SQLite does not sync a commit that changes nothing, and these jobs may rely on an earlier one that is not synced yet.
      if (waits && this.#owesSync && !hasWritten(jobs, outcomes)) this.#writeSomething();
      this.#commit.run();
      this.#sync.set('FULL');
      if (waits) this.#owesSync = false;
      else if (jobs.some(({ sync }) => sync === 'soon')) this.#syncSoon();
      for (let i = 0; i < outcomes.length; i++) settle(jobs[i] as Job, outcomes[i] as Outcome);
      return [];
    } catch (error) {
      this.#epoch++; // what the failed transaction has left is read
      this.#undo();
      if (jobs.length > 1 && !(error instanceof GuardError)) return jobs.flatMap((job) => this.#commitTogether([job]));
      if (error instanceof GuardError) {
        for (const job of jobs) job.reject(error.refusal);
        return [];
      }
      const why = error instanceof RefusedAfterWriting ? error.refusal : storeError(error, this.#path);
      for (const job of jobs) job.reject(why);
      return [];
    }
  }

  /** Syncs at the end of this turn of the event loop what no other commit has synced by then. */
  #syncSoon(): void {
    this.#owesSync = true;
    this.#syncing ??= setImmediate(() => this.#syncNow());
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

/**
 * Whether a connection's commits wait for the disk.
 *
 * - FULL: a commit that returned survives a power failure, and with it every commit before it.
 * - NORMAL: a power failure may undo it. The database stays consistent: a checkpoint still syncs the log before it copies from it.
 *
 * A connection is opened with FULL.
 */
class CommitSync {
  readonly #database: Database;
  /** Undefined while it is not known, because setting it failed. */
  #level: 'FULL' | 'NORMAL' | undefined = 'FULL';

  constructor(database: Database) {
    this.#database = database;
  }

  /** Outside a transaction: sets the level for the commits that follow. */
  set(level: 'FULL' | 'NORMAL'): void {
    if (this.#level === level) return;
    this.#level = undefined;
    this.#database.exec(`PRAGMA synchronous = ${level}`);
    this.#level = level;
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

function hasWritten(jobs: readonly Job[], outcomes: readonly Outcome[]): boolean {
  return outcomes.some((outcome, i) => 'value' in outcome && jobs[i]?.wrote?.(outcome.value as never) === true);
}

function settle({ committed, resolve, reject }: Job, outcome: Outcome): void {
  try {
    if ('error' in outcome) reject(outcome.error);
    else resolve(committed ? committed(outcome.value as never) : outcome.value);
  } catch (error) {
    reject(error); // the transaction is committed, and others with it
  }
}
