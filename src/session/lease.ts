import { HoldfastError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Lease, LeaseHolder, Store } from '../ports/store.ts';
import { bootId } from '../stores/boot-id.ts';
import { isDead, thisProcess } from './process-identity.ts';

/** A lease that renews itself until it is released or lost. */
export interface HeldLease {
  readonly fence: number;
  /** Aborts when the lease was lost: whatever is still running can no longer write. */
  readonly lost: AbortSignal;
  /**
   * Makes sure, right before an effect, that the lease is still held. Returns undefined when there is time left, which costs
   * no more than a look at two clocks; otherwise a promise that resolves when the lease was renewed, and rejects with
   * `SESSION_CONFLICT` when it could not be (D76).
   */
  ensure(): Promise<void> | undefined;
  /** Gives the lease back. With `seq`: false, and it is still held and renewed, when anything was appended since (D61). */
  release(options?: { readonly seq?: number }): Promise<boolean>;
  /** The number of the next draft chunk: chunks are counted over everything that is written under this lease (D74). */
  nextChunk(): number;
  /** The number of the next run of a tool's function under this lease: a later run's progress replaces an earlier one's (D62). */
  nextRun(): number;
}

export interface HoldLeaseOptions {
  readonly clock: Clock;
  readonly ttlMs?: number | undefined;
  readonly maxBlockedMs?: number | undefined;
  /** Wait for a lease that is held elsewhere, at most so many milliseconds; absent: do not wait. */
  readonly waitMs?: number | undefined;
  /** `run` takes it: it does whatever the session has left, and waits for an `evaluate` that holds the lease to end (D61). */
  readonly runs?: boolean | undefined;
  /** How long `run` waits for an `evaluate`, in milliseconds. */
  readonly waitForEvaluateMs?: number | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause of the wait. */
  readonly onWait?: (() => void) | undefined;
}

const DEFAULT_TTL_MS = 30_000;
/** An effect takes a moment to begin: a lease with less than this part of its time left is renewed first. */
const LATE = 1 / 10;

/**
 * Acquires a session's lease, or throws `SESSION_BUSY` naming its holder. A lease that has expired, or whose process is known to be
 * dead, is taken over at a higher fence: its old holder can no longer write, whatever it still believes (D76).
 */
export async function holdLease(store: Store, sessionId: string, options: HoldLeaseOptions): Promise<HeldLease> {
  const { ttlMs = DEFAULT_TTL_MS, maxBlockedMs } = options;
  const { fence } = await acquire(store, sessionId, { ...options, ttlMs });
  const lost = new AbortController();
  let isReleased = false;
  const onLost = (): void => {
    if (!isReleased) lost.abort(leaseLost(sessionId));
  };
  const keeper = store.keepLease(sessionId, fence, {
    ttlMs,
    onLost,
    ...(maxBlockedMs !== undefined && { maxBlockedMs }),
  });
  const renewFirst = async (): Promise<void> => {
    // Again if it took so long that the next renewal is due: nothing may happen between the last check and the effect.
    while (keeper.remainingMs() <= ttlMs * LATE) {
      const renewed = await keeper.renew().catch((cause: unknown) => Promise.reject(leaseLost(sessionId, cause)));
      if (!renewed) throw leaseLost(sessionId);
    }
  };
  let chunks = 0;
  let runs = 0;
  return {
    fence,
    lost: lost.signal,
    nextChunk: () => ++chunks,
    nextRun: () => ++runs,
    ensure: () => (keeper.remainingMs() > ttlMs * LATE ? undefined : renewFirst()),
    async release(given = {}) {
      if (isReleased) return true;
      isReleased = true;
      const released = await releaseOrExpire(() => store.releaseLease(sessionId, fence, given));
      if (released) keeper.stop();
      else isReleased = false;
      return released;
    },
  };
}

/** How often a failed release is retried: until the lease expires, `run` returns `busy` in every other process. */
const RELEASE_TRIES = 3;

/** A lease that cannot be given back expires; that is no reason to lose the response of what ran under it. */
async function releaseOrExpire(release: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await release();
    } catch {
      if (tries === RELEASE_TRIES) return true;
    }
  }
}

interface Acquiring extends HoldLeaseOptions {
  readonly ttlMs: number;
}

async function acquire(store: Store, sessionId: string, options: Acquiring): Promise<Lease> {
  const { ttlMs, clock, waitMs = 0, signal, runs = false, waitForEvaluateMs = 0 } = options;
  const holder: LeaseHolder = runs ? { ...thisProcess(), runs: true } : thisProcess();
  const begun = elapsed(clock);
  /** A run does what another run would do; an `evaluate` does only its own part. */
  const giveUpAt = (lease: Lease): number => begun + (runs && !lease.holder.runs ? waitForEvaluateMs : waitMs);
  const watched = new WatchedLease(clock);
  for (;;) {
    const isFree = waitMs === 0 || watched.mayTake(await store.readLease(sessionId), ttlMs);
    const inTheWay = isFree ? await takeLease(store, sessionId, holder, ttlMs) : watched.lease;
    if (inTheWay && 'taken' in inTheWay) return inTheWay.taken;
    if (inTheWay && (elapsed(clock) >= giveUpAt(inTheWay) || signal?.aborted)) throw sessionBusy(sessionId, inTheWay);
    options.onWait?.();
    await nextLook(clock, signal);
  }
}

/** Takes the lease, or returns the one that stands in the way. */
async function takeLease(
  store: Store,
  sessionId: string,
  holder: LeaseHolder,
  ttlMs: number,
): Promise<Lease | { readonly taken: Lease }> {
  let attempt = await store.acquireLease(sessionId, { holder, ttlMs });
  if (!attempt.acquired && isDead(attempt.lease.holder)) {
    attempt = await store.acquireLease(sessionId, { holder, ttlMs, replacing: attempt.lease });
  }
  return attempt.acquired ? { taken: attempt.lease } : attempt.lease;
}

/**
 * A lease that is being waited for. One that has expired by the time of day may be alive, for the clock may have been set or may
 * be another machine's: it is watched for as long as a lease lasts, and taken when it was not renewed meanwhile. Within a boot
 * there is one monotonic clock, and nothing to watch.
 */
class WatchedLease {
  readonly #clock: Clock;
  #since = 0;
  lease: Lease | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the lease as it is now may be taken. */
  mayTake(now: Lease | undefined, ttlMs: number): boolean {
    if (this.lease?.fence !== now?.fence || this.lease?.renewals !== now?.renewals) this.#since = elapsed(this.#clock);
    this.lease = now;
    if (!now || isDead(now.holder)) return true;
    if (now.expiresAt > this.#clock.now()) return false;
    const isOfThisBoot = now.holder.bootId !== undefined && now.holder.bootId === bootId();
    return isOfThisBoot || elapsed(this.#clock) - this.#since >= ttlMs;
  }
}

/** How often a lease that is waited for is looked at. */
const LOOK_EVERY_MS = 100;

function nextLook(clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(LOOK_EVERY_MS, done);
    signal?.addEventListener('abort', done);
  });
}

function elapsed(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now();
}

function sessionBusy(sessionId: string, lease: Lease): HoldfastError {
  const { holder, expiresAt } = lease;
  return new HoldfastError(
    'SESSION_BUSY',
    `session ${sessionId} is being run by process ${holder.pid} on ${holder.host}; wait for it to finish, or until ${new Date(expiresAt).toISOString()} when its lease expires`,
    { data: lease },
  );
}

/** The error of a process that has lost its lease, or cannot find out whether it still has it. */
export function leaseLost(sessionId: string, cause?: unknown): HoldfastError {
  const what =
    cause === undefined
      ? `the lease of session ${sessionId} was taken over; stop here: the new holder continues`
      : `the lease of session ${sessionId} has expired and could not be renewed; resume when its store can be reached`;
  return new HoldfastError('SESSION_CONFLICT', what, {
    detail: 'fence',
    ...(cause !== undefined && { cause }),
  });
}
