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
import { type RenewalPart, RenewalThread } from './renewal-thread.ts';

/**
 * Leases by the clocks of this process. A lease has two ends: by the time of day, and by the monotonic clock of the boot that its holder runs in.
 * Processes of that boot go by the second, which no one can set; all others by the first (D76).
 */
export class ClockLeases implements LeaseRules {
  readonly #rows: LeaseRows;
  readonly #clock: Clock;
  /** Whether this process holds the lease. */
  readonly #isOwn: (sessionId: string, fence: number) => boolean;

  constructor(rows: LeaseRows, clock: Clock, isOwn: (sessionId: string, fence: number) => boolean) {
    this.#rows = rows;
    this.#clock = clock;
    this.#isOwn = isOwn;
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
      return { acquired: true, lease: { fence, holder, expiresAt, renewals: 0 } };
    }
  }

  renew(sessionId: string, fence: number, ttlMs: number): Promise<boolean> {
    return this.#rows.renew(sessionId, fence, termFrom(this.#clock, ttlMs));
  }

  async release(sessionId: string, fence: number, seq: number | undefined): Promise<boolean> {
    if (await this.#rows.release(sessionId, fence, seq)) return true;
    return seq === undefined || (await this.#rows.read(sessionId))?.fence !== fence;
  }

  /** A lease as callers see it: its end is a time of day, by the clock as it is set now. */
  shown(sessionId: string, lease: StoredLease): Lease {
    const { fence, holder, renewals } = lease;
    return { fence, holder, expiresAt: expiryNow(this.#termOf(sessionId, lease), this.#clock), renewals };
  }

  /** A deadline means something only in the boot that its holder runs in: that of this store, or one with the same id. */
  #termOf(sessionId: string, { fence, holder, expiresAt, deadline }: StoredLease): LeaseTerm {
    const isOfThisBoot = this.#isOwn(sessionId, fence) || (holder.bootId && holder.bootId === bootId());
    return { expiresAt, deadline: isOfThisBoot ? deadline : undefined };
  }
}

/** The leases of a store, and their keepers: a thread if the backend has one, else timers. */
export class StoreLeases {
  readonly #rules: LeaseRules;
  readonly #clock: Clock;
  readonly #thread: RenewalThread | undefined;
  readonly #keepers: LeaseKeepers;
  /** When the leases end that this store acquired or renewed last, by session; measured from before it asked. */
  readonly #terms = new Map<string, LeaseTerm & { readonly fence: number }>();
  /** Renews a lease of this store if its timer is late only because the event loop was blocked. */
  readonly #catchUp = new Map<string, () => Promise<unknown>>();

  constructor(leases: LeaseRows | LeaseRules, clock: Clock, renewals: RenewalPart | undefined) {
    const isOwn = (sessionId: string, fence: number): boolean => this.#term(sessionId, fence) !== undefined;
    this.#rules = 'acquire' in leases ? leases : new ClockLeases(leases, clock, isOwn);
    this.#clock = clock;
    this.#thread = renewals && clock.monotonic ? new RenewalThread(renewals, clock) : undefined;
    this.#keepers = new LeaseKeepers(clock);
  }

  async read(sessionId: string): Promise<Lease | undefined> {
    await this.#catchUp.get(sessionId)?.();
    return this.#rules.read(sessionId);
  }

  async acquire(sessionId: string, options: AcquireLeaseOptions): Promise<LeaseAttempt> {
    // A blocked event loop must not lose a lease to its own process.
    await this.#catchUp.get(sessionId)?.();
    const term = termFrom(this.#clock, options.ttlMs);
    const attempt = await this.#rules.acquire(sessionId, options);
    if (attempt.acquired) this.#terms.set(sessionId, { ...term, fence: attempt.lease.fence });
    return attempt;
  }

  /** The new term; undefined when the lease is another's. */
  async renew(sessionId: string, fence: number, ttlMs: number): Promise<LeaseTerm | undefined> {
    const term = termFrom(this.#clock, ttlMs);
    const isRenewed = await this.#rules.renew(sessionId, fence, ttlMs);
    if (isRenewed) this.#terms.set(sessionId, { ...term, fence });
    else this.#forget(sessionId, fence);
    return isRenewed ? term : undefined;
  }

  async release(sessionId: string, fence: number, seq: number | undefined): Promise<boolean> {
    const isReleased = await this.#rules.release(sessionId, fence, seq);
    if (isReleased) this.#forget(sessionId, fence);
    return isReleased;
  }

  /** A lease of a listing, as callers see it. */
  shown(sessionId: string, lease: StoredLease): Lease {
    return this.#rules instanceof ClockLeases ? this.#rules.shown(sessionId, lease) : lease;
  }

  /** `renew` renews through the store, which may be closed by then. */
  keep(sessionId: string, fence: number, options: KeepLeaseOptions, renew: () => Promise<boolean>): LeaseKeeper {
    if (this.#thread) {
      const term = (): LeaseTerm | undefined => this.#term(sessionId, fence);
      const renewed = async (): Promise<LeaseTerm | undefined> => ((await renew()) ? term() : undefined);
      return this.#thread.keep({ sessionId, fence, term: term(), renew: renewed }, options);
    }
    const remainingMs = (): number => {
      const term = this.#term(sessionId, fence);
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
    const keeper = this.#keepers.keep({ renew, remainingMs }, { ...options, onLost });
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

  /** Ends the timers. */
  stop(): void {
    this.#keepers.stop();
    this.#catchUp.clear();
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }

  #term(sessionId: string, fence: number): LeaseTerm | undefined {
    const term = this.#terms.get(sessionId);
    return term?.fence === fence ? term : undefined;
  }

  #forget(sessionId: string, fence: number): void {
    if (this.#term(sessionId, fence)) this.#terms.delete(sessionId);
  }
}
