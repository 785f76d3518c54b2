import type { AcquireLeaseOptions, Lease } from '../ports/store.ts';

/** Whether a lease stands in the way of a new one: alive, and not the one whose holder is known to be dead (D51). */
export function leaseBlocks(lease: Lease | undefined, options: AcquireLeaseOptions, now: number): lease is Lease {
  return lease !== undefined && lease.expiresAt > now && lease.fence !== options.replacing;
}
