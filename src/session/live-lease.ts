import type { Lease } from '../ports/store.ts';
import { isDead } from './process-identity.ts';
import type { AnySession } from './session.ts';

/**
 * The lease of a session while its holder may still act: one that has not expired and whose process is not known to be dead. The
 * store reports its end by the current wall clock, so that a changed clock makes no difference (D76).
 */
export async function liveLease(session: Pick<AnySession, 'id' | 'store' | 'clock'>): Promise<Lease | undefined> {
  const lease = await session.store.readLease(session.id);
  return lease && lease.expiresAt > session.clock.now() && !isDead(lease.holder) ? lease : undefined;
}
