import type { Clock } from '../../ports/clock.ts';
import type { AcquireLeaseOptions, KeepLeaseOptions, Lease, LeaseAttempt, LeaseKeeper } from '../../ports/store.ts';
import { bootId } from '../boot-id.ts';
import type { LeaseRows, LeaseRules, StoredLease } from '../shell/backend.ts';
import { DEFAULT_MAX_BLOCKED_MS, LeaseKeepers } from './keep-lease.ts';
import {
  expiryNow,
  type LeaseTerm,
  leaseBlocks,
  remainingForHolder,
  remainingForOthers,
  termFrom,
} from './lease-rules.ts';
import type { RenewalThread } from './renewal-thread.ts';

/**
 * Leases by the clocks of this process. A lease has two ends: by the time of day, and by the monotonic clock of the boot that its holder runs in.
 * Processes of that boot go by the second, which no one can set; all others by the first (D76).
 */
export class ClockLeases implements LeaseRules {
  readonly #rows: LeaseRows;
  readonly #clock: Clock;
  /** When the leases end that this store granted or renewed last, by session. */
  readonly #terms = new Map<string, LeaseTerm & { readonly fence: number }>();

  constructor(rows: LeaseRows, clock: Clock) {
    this.#rows = rows;
    this.#clock = clock;
  }

  async read(sessionId: string): Promise<Lease | undefined> {
    const lease = await this.#rows.read(sessionId);
    return lease && this.shown(sessionId, lease);
  }

  async acquire(sessionId: string, options: AcquireLeaseOptions): Promise<LeaseAttempt> {
    for (;;) {
      const current = await this.#rows.read(sessionId);
      if (current && leaseBlocks(current, options, remainingForOthers(this.#termOf(sessionId, current), this.#clock))) {
        return { acquired: false, lease: this.shown(sessionId, current) };
      }
      const { expiresAt, deadline } = termFrom(this.#clock, options.ttlMs);
      const holder = { ...options.holder };
      const fence = await this.#rows.grant(sessionId, { holder, expiresAt, deadline }, current);
      if (fence === undefined) continue; // another process was first
      this.#terms.set(sessionId, { fence, expiresAt, deadline });
      return { acquired: true, lease: { fence, holder, expiresAt, renewals: 0 } };
    }
  }

  async renew(sessionId: string, fence: number, ttlMs: number): Promise<LeaseTerm | undefined> {
    const term = termFrom(this.#clock, ttlMs);
    const isRenewed = await this.#rows.renew(sessionId, fence, term);
    if (isRenewed) this.#terms.set(sessionId, { fence, ...term });
    else this.#forget(sessionId, fence);
    return isRenewed ? term : undefined;
  }

  async release(sessionId: string, fence: number, seq: number | undefined): Promise<boolean> {
    const isReleased = await this.#rows.release(sessionId, fence, seq);
    if (!isReleased && seq !== undefined && (await this.#rows.read(sessionId))?.fence === fence) return false;
    this.#forget(sessionId, fence);
    return true;
  }

  term(sessionId: string, fence: number): LeaseTerm | undefined {
    const term = this.#terms.get(sessionId);
    return term?.fence === fence ? term : undefined;
  }

  /** A lease as callers see it: its end is a time of day, by the clock as it is set now. */
  shown(sessionId: string, lease: StoredLease): Lease {
    const { fence, holder, renewals } = lease;
    return { fence, holder, expiresAt: expiryNow(this.#termOf(sessionId, lease), this.#clock), renewals };
  }

  /** A deadline means something only in the boot that its holder runs in: that of this store, or one with the same id. */
  #termOf(sessionId: string, { fence, holder, expiresAt, deadline }: StoredLease): LeaseTerm {
    const isOfThisBoot = this.term(sessionId, fence) !== undefined || (holder.bootId && holder.bootId === bootId());
    return { expiresAt, deadline: isOfThisBoot ? deadline : undefined };
  }

  #forget(sessionId: string, fence: number): void {
    if (this.#terms.get(sessionId)?.fence === fence) this.#terms.delete(sessionId);
  }
}

/** Keeps the leases of a store: in a thread if its backend has one, else by timers. */
export class KeptLeases {
  readonly #rules: LeaseRules;
  readonly #clock: Clock;
  readonly #thread: RenewalThread | undefined;
  readonly #keepers: LeaseKeepers;
  /** Renews a lease of this store if its timer is late only because the event loop was blocked. */
  readonly #catchUp = new Map<string, () => Promise<unknown>>();

  constructor(rules: LeaseRules, clock: Clock, thread: RenewalThread | undefined) {
    this.#rules = rules;
    this.#clock = clock;
    this.#thread = thread;
    this.#keepers = new LeaseKeepers(clock);
  }

  /** `renew` renews through the store, which may be closed by then. */
  keep(
    sessionId: string,
    fence: number,
    options: KeepLeaseOptions,
    renew: () => Promise<LeaseTerm | undefined>,
  ): LeaseKeeper {
    if (this.#thread) {
      const term = this.#rules.term(sessionId, fence);
      return this.#thread.keep({ sessionId, fence, term, renew }, options);
    }
    const remainingMs = (): number => {
      const term = this.#rules.term(sessionId, fence);
      return term ? remainingForHolder(term, this.#clock) : Number.NEGATIVE_INFINITY;
    };
    const { maxBlockedMs = DEFAULT_MAX_BLOCKED_MS } = options;
    const end = (): void => {
      if (this.#catchUp.get(sessionId) === catchUp) this.#catchUp.delete(sessionId);
    };
    const onLost = (): void => {
      end();
      options.onLost();
    };
    const keeper = this.#keepers.keep(
      { renew: async () => (await renew()) !== undefined, remainingMs },
      { ...options, onLost },
    );
    const catchUp = async (): Promise<void> => {
      const overdue = keeper.overdueMs();
      if (overdue > 0 && overdue <= maxBlockedMs) await renew();
    };
    this.#catchUp.set(sessionId, catchUp);
    return {
      ...keeper,
      stop() {
        end();
        keeper.stop();
      },
    };
  }

  /** Before others look at a lease that this process keeps: a blocked event loop must not lose it to its own process. */
  async catchUp(sessionId: string): Promise<void> {
    await this.#catchUp.get(sessionId)?.();
  }

  /** Ends the timers. */
  stop(): void {
    this.#keepers.stop();
    this.#catchUp.clear();
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }
}
