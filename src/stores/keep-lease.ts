import type { Clock } from '../ports/clock.ts';
import type { KeepLeaseOptions, LeaseKeeper } from '../ports/store.ts';

/** What a keeper needs of its store. */
export interface RenewableLease {
  /** Renews the lease; false when it is another holder's. */
  renew(): Promise<boolean>;
  /** Milliseconds until the lease ends. */
  remainingMs(): number;
}

/**
 * Renews a lease by timers of the event loop: for stores that have no thread of their own. While the event loop is blocked the
 * lease is not renewed, so its holder checks what remains right before each effect (D76).
 */
export function keepLeaseByTimer(clock: Clock, lease: RenewableLease, options: KeepLeaseOptions): LeaseKeeper {
  const { ttlMs, onLost } = options;
  let stopped = false;
  let cancel: () => void = () => {};
  const schedule = (): void => {
    cancel = clock.after(ttlMs / 3, () => void renew().catch(() => {}), { background: true });
  };
  const stop = (): void => {
    stopped = true;
    cancel();
  };
  const renew = async (): Promise<boolean> => {
    cancel();
    try {
      const renewed = await lease.renew();
      if (!renewed && !stopped) {
        stop();
        onLost();
      }
      return renewed;
    } finally {
      // A store that cannot be reached may be reached again; if not, the fence protects the log.
      if (!stopped) schedule();
    }
  };
  schedule();
  return { remainingMs: () => lease.remainingMs(), renew, stop };
}
