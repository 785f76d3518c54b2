import type { Clock } from '../../ports/clock.ts';
import type { KeepLeaseOptions, LeaseKeeper } from '../../ports/store.ts';

/** How long the event loop may be blocked before its process is considered hung and loses its leases. */
export const DEFAULT_MAX_BLOCKED_MS: number = 10 * 60_000;

/** The lease operations of a store that a keeper needs. */
export interface RenewableLease {
  /** Renews the lease; false when another holder has it. */
  renew(): Promise<boolean>;
  /** Milliseconds until the lease ends. */
  remainingMs(): number;
}

/** A keeper that reports how late it is. */
export interface TimerKeeper extends LeaseKeeper {
  /** How long a renewal has been due without running because the event loop is blocked; 0 if none is due. */
  overdueMs(): number;
}

/**
 * Renews a lease by timers of the event loop, for stores without a thread of their own. A blocked event loop does not renew the
 * lease, so the holder checks the remaining time right before each effect (D76).
 */
function keepLeaseByTimer(clock: Clock, lease: RenewableLease, options: KeepLeaseOptions): TimerKeeper {
  const { ttlMs, onLost } = options;
  const time = (): number => clock.monotonic?.() ?? clock.now();
  let stopped = false;
  let due = Number.POSITIVE_INFINITY;
  let cancel: () => void = () => {};
  const schedule = (): void => {
    due = time() + ttlMs / 3;
    cancel = clock.after(ttlMs / 3, () => void renew().catch(() => {}), { background: true });
  };
  const unschedule = (): void => {
    due = Number.POSITIVE_INFINITY;
    cancel();
  };
  const stop = (): void => {
    stopped = true;
    unschedule();
  };
  const renew = async (): Promise<boolean> => {
    unschedule();
    try {
      const renewed = await lease.renew();
      if (!renewed && !stopped) {
        stop();
        onLost();
      }
      return renewed;
    } finally {
      // The store may become reachable again; if not, the fence protects the log.
      if (!stopped) {
        unschedule(); // another renewal may have scheduled one meanwhile
        schedule();
      }
    }
  };
  schedule();
  return { remainingMs: () => lease.remainingMs(), renew, stop, overdueMs: () => Math.max(0, time() - due) };
}

/** The keepers of one store, by timers of the event loop. The store's `close` calls `stop`. */
export class LeaseKeepers {
  readonly #clock: Clock;
  readonly #keepers = new Set<LeaseKeeper>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Renews a lease until its keeper is stopped, the lease is lost or the store closes. */
  keep(lease: RenewableLease, options: KeepLeaseOptions): TimerKeeper {
    const onLost = (): void => {
      this.#keepers.delete(kept);
      options.onLost();
    };
    const keeper = keepLeaseByTimer(this.#clock, lease, { ...options, onLost });
    const stop = (): void => {
      this.#keepers.delete(kept);
      keeper.stop();
    };
    const kept: TimerKeeper = { ...keeper, stop };
    this.#keepers.add(kept);
    return kept;
  }

  stop(): void {
    for (const keeper of [...this.#keepers]) keeper.stop();
  }
}
