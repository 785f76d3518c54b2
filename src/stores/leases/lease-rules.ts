import type { Clock } from '../../ports/clock.ts';
import type { AcquireLeaseOptions, Lease } from '../../ports/store.ts';

/** When a lease ends, by both clocks (D76). */
export interface LeaseTerm {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** By the monotonic clock of the boot; undefined if holder and reader do not share one. */
  readonly deadline: number | undefined;
}

/** The term of a lease that is granted or renewed now. */
export function termFrom(clock: Clock, ttlMs: number): LeaseTerm {
  const monotonic = clock.monotonic?.();
  return { expiresAt: clock.now() + ttlMs, deadline: monotonic === undefined ? undefined : monotonic + ttlMs };
}

/** The remaining time for other processes: by the monotonic deadline if there is one, because the time of day can be changed. */
export function remainingForOthers({ expiresAt, deadline }: LeaseTerm, clock: Clock): number {
  const monotonic = deadline === undefined ? undefined : clock.monotonic?.();
  return deadline === undefined || monotonic === undefined ? expiresAt - clock.now() : deadline - monotonic;
}

/** The remaining time for the holder: by the clock that leaves less, because it cannot know which one other processes use. */
export function remainingForHolder({ expiresAt, deadline }: LeaseTerm, clock: Clock): number {
  const byTimeOfDay = expiresAt - clock.now();
  const monotonic = deadline === undefined ? undefined : clock.monotonic?.();
  return deadline === undefined || monotonic === undefined ? byTimeOfDay : Math.min(byTimeOfDay, deadline - monotonic);
}

/** A smaller step of the clock is drift, or the time between two reads of it. */
const DRIFT_MS = 10;

/** The end of a lease in the current time of day, which differs from the granted one after the clock was changed. */
export function expiryNow(term: LeaseTerm, clock: Clock): number {
  const expiresAt = clock.now() + remainingForOthers(term, clock);
  return Math.abs(expiresAt - term.expiresAt) < DRIFT_MS ? term.expiresAt : Math.round(expiresAt);
}

/**
 * Whether a lease prevents a new one: it has time left, and it is not the lease that the caller replaces because its holder is dead
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
