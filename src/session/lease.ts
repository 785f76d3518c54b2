import { HoldfastError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { isDead, thisProcess } from './process-identity.ts';

/** A lease that renews itself until it is released or lost. */
export interface HeldLease {
  readonly fence: number;
  /** Aborts when the lease was lost: whatever is still running can no longer write. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

const DEFAULT_TTL_MS = 30_000;

/**
 * Takes a session's lease, or says who holds it (`SESSION_BUSY`). A lease that has expired, or whose process is known to be
 * dead, is taken over at a higher fence: its old holder can no longer write, whatever it still believes (D51).
 */
export async function holdLease(
  store: Store,
  sessionId: string,
  options: { readonly clock: Clock; readonly ttlMs?: number },
): Promise<HeldLease> {
  const { clock, ttlMs = DEFAULT_TTL_MS } = options;
  const holder = thisProcess();
  let answer = await store.acquireLease(sessionId, { holder, ttlMs });
  if (!answer.acquired && isDead(answer.lease.holder)) {
    answer = await store.acquireLease(sessionId, { holder, ttlMs, replacing: answer.lease });
  }
  if (!answer.acquired) {
    const { holder: other, expiresAt } = answer.lease;
    throw new HoldfastError(
      'SESSION_BUSY',
      `session ${sessionId} is being run by process ${other.pid} on ${other.host}; wait for it to finish, or until ${new Date(expiresAt).toISOString()} when its lease expires`,
      { data: answer.lease },
    );
  }
  const { fence } = answer.lease;
  const lost = new AbortController();
  let cancel: () => void = () => {};
  let released = false;
  const schedule = (): void => {
    cancel = clock.after(ttlMs / 3, renew, { background: true });
  };
  const renew = (): void => {
    store.renewLease(sessionId, fence, ttlMs).then(
      (renewed) => {
        if (released) return;
        if (renewed) schedule();
        else lost.abort(leaseLost(sessionId));
      },
      () => {
        // The store could not be reached: the next renewal may succeed, and if none does the fence protects the log.
        if (!released) schedule();
      },
    );
  };
  schedule();
  return {
    fence,
    lost: lost.signal,
    async release() {
      if (released) return;
      released = true;
      cancel();
      // A lease that cannot be given back expires; that is no reason to lose the answer of what ran under it.
      await store.releaseLease(sessionId, fence).catch(() => {});
    },
  };
}

/** The error of a process whose lease was taken over. */
export function leaseLost(sessionId: string): HoldfastError {
  return new HoldfastError(
    'SESSION_CONFLICT',
    `the lease of session ${sessionId} was taken over; stop here and let the new holder go on`,
    { detail: 'fence' },
  );
}
