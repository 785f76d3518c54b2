import type { Clock } from '../ports/clock.ts';
import type { AcquireLeaseOptions, KeepLeaseOptions, Lease, LeaseAttempt, LeaseKeeper } from '../ports/store.ts';
import { DEFAULT_MAX_BLOCKED_MS, LeaseKeepers } from './keep-lease.ts';
import {
  expiryNow,
  type LeaseTerm,
  leaseBlocks,
  remainingForHolder,
  remainingForOthers,
  termFrom,
} from './lease-rules.ts';

/** A lease in memory. All who read it are in one process, and so share its clocks. */
export interface MemoryLease {
  readonly lease: Lease;
  readonly term: LeaseTerm;
}

/** The lease fields of a session. */
interface LeaseSlot {
  /** The fence of the newest lease, also after its release. */
  fence: number | undefined;
  lease: MemoryLease | undefined;
}

/** The leases of a memory store. A lease ends with its process: while the event loop is blocked, nothing can take it over. */
export class MemoryLeases {
  readonly #clock: Clock;
  /** For each kept fence: renews the lease if its timer is late only because the event loop was blocked. */
  readonly #catchUp = new Map<number, () => void>();
  readonly #keepers: LeaseKeepers;
  #lastFence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#keepers = new LeaseKeepers(clock);
  }

  acquire(slot: LeaseSlot, options: AcquireLeaseOptions): LeaseAttempt {
    const current = this.read(slot);
    if (current && leaseBlocks(current, options, this.#remaining(slot))) return { acquired: false, lease: current };
    const term = termFrom(this.#clock, options.ttlMs);
    const fence = ++this.#lastFence;
    const lease = { fence, holder: { ...options.holder }, expiresAt: term.expiresAt, renewals: 0 };
    slot.fence = fence;
    slot.lease = { lease, term };
    return { acquired: true, lease };
  }

  renew(slot: LeaseSlot | undefined, fence: number, ttlMs: number): boolean {
    if (slot?.lease?.lease.fence !== fence) return false;
    const { lease } = slot.lease;
    const term = termFrom(this.#clock, ttlMs);
    slot.lease = { lease: { ...lease, expiresAt: term.expiresAt, renewals: lease.renewals + 1 }, term };
    return true;
  }

  /** Keeps a lease by `renew`. `find` returns its session, which may be deleted meanwhile. */
  keep(
    find: () => LeaseSlot | undefined,
    fence: number,
    options: KeepLeaseOptions,
    renew: () => Promise<boolean>,
  ): LeaseKeeper {
    const remainingMs = (): number => {
      const held = find()?.lease;
      return held?.lease.fence === fence ? remainingForHolder(held.term, this.#clock) : Number.NEGATIVE_INFINITY;
    };
    const { maxBlockedMs = DEFAULT_MAX_BLOCKED_MS, ttlMs } = options;
    const onLost = (): void => {
      this.#catchUp.delete(fence);
      options.onLost();
    };
    const keeper = this.#keepers.keep({ renew, remainingMs }, { ...options, onLost });
    this.#catchUp.set(fence, () => {
      const overdue = keeper.overdueMs();
      if (overdue > 0 && overdue <= maxBlockedMs) this.renew(find(), fence, ttlMs);
    });
    return {
      ...keeper,
      stop: () => {
        this.#catchUp.delete(fence);
        keeper.stop();
      },
    };
  }

  close(): void {
    this.#keepers.stop();
    this.#catchUp.clear();
  }

  /** False when the lease stays because events were appended after `seq`. */
  release(slot: (LeaseSlot & { readonly seq: number }) | undefined, fence: number, seq: number | undefined): boolean {
    if (slot?.lease?.lease.fence !== fence) return true;
    if (seq !== undefined && slot.seq !== seq) return false;
    slot.lease = undefined;
    return true;
  }

  read(slot: LeaseSlot | undefined): Lease | undefined {
    if (slot?.lease) this.#catchUp.get(slot.lease.lease.fence)?.();
    return slot?.lease && { ...slot.lease.lease, expiresAt: expiryNow(slot.lease.term, this.#clock) };
  }

  #remaining({ lease }: LeaseSlot): number {
    return lease ? remainingForOthers(lease.term, this.#clock) : 0;
  }
}
