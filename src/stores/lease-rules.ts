import type { AcquireLeaseOptions, Lease } from '../ports/store.ts';

/** Whether a lease stands in the way of a new one: alive, and not the very one whose holder is known to be dead (D76). */
export function leaseBlocks(lease: Lease | undefined, options: AcquireLeaseOptions, now: number): lease is Lease {
  if (lease === undefined || lease.expiresAt <= now) return false;
  const { replacing } = options;
  return replacing?.fence !== lease.fence || replacing.renewals !== lease.renewals;
}
