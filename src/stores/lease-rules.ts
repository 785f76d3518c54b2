import type { Clock } from '../ports/clock.ts';
import type { AcquireLeaseOptions, Lease } from '../ports/store.ts';

/** When a lease ends, by both clocks (D76). */
export interface LeaseTerm {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** By the monotonic clock of the boot; undefined where the two who compare do not share one. */
  readonly deadline: number | undefined;
}

/** The term of a lease that is granted or renewed now. */
export function termFrom(clock: Clock, ttlMs: number): LeaseTerm {
  const monotonic = clock.monotonic?.();
  return { expiresAt: clock.now() + ttlMs, deadline: monotonic === undefined ? undefined : monotonic + ttlMs };
}

/** What others go by: the monotonic deadline if there is one, for the time of day can be set. */
export function remainingForOthers({ expiresAt, deadline }: LeaseTerm, clock: Clock): number {
  const monotonic = deadline === undefined ? undefined : clock.monotonic?.();
  return deadline === undefined || monotonic === undefined ? expiresAt - clock.now() : deadline - monotonic;
}

/** What the holder goes by: the clock that is worse for it, for it cannot know which of them others go by. */
export function remainingForHolder({ expiresAt, deadline }: LeaseTerm, clock: Clock): number {
  const byTimeOfDay = expiresAt - clock.now();
  const monotonic = deadline === undefined ? undefined : clock.monotonic?.();
  return deadline === undefined || monotonic === undefined ? byTimeOfDay : Math.min(byTimeOfDay, deadline - monotonic);
}

/** A step of the clock that is smaller is drift, or the time between two reads of it. */
const DRIFT_MS = 10;

/** The end of a lease as the time of day is now: after a jump of the clock another one than when it was granted. */
export function expiryNow(term: LeaseTerm, clock: Clock): number {
  const expiresAt = clock.now() + remainingForOthers(term, clock);
  return Math.abs(expiresAt - term.expiresAt) < DRIFT_MS ? term.expiresAt : Math.round(expiresAt);
}

/**
 * Whether a lease stands in the way of a new one: time of it remains, and it is not the very one whose holder is known to be dead
 * (D76).
 */
export function leaseBlocks(
  lease: Pick<Lease, 'fence' | 'renewals'>,
  { replacing }: AcquireLeaseOptions,
  remainingMs: number,
): boolean {
  if (remainingMs <= 0) return false;
  return replacing?.fence !== lease.fence || replacing.renewals !== lease.renewals;
}
