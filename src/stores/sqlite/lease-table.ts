import type { Clock } from '../../ports/clock.ts';
import type { AcquireLeaseOptions, Lease, LeaseAttempt, LeaseHolder } from '../../ports/store.ts';
import { bootId } from '../boot-id.ts';
import { expiryNow, type LeaseTerm, leaseBlocks, remainingForOthers, termFrom } from '../lease-rules.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';
import type { SessionTable } from './session-table.ts';

/** The columns of a lease. */
export interface LeaseRow {
  readonly fence: number;
  readonly lease_expires_at: number;
  readonly lease_deadline: number | null;
  readonly lease_holder: string;
  readonly lease_renewals: number;
}

/** What renewing writes: the thread that renews leases runs the same statement. */
export const RENEW_LEASE: string = `
UPDATE sessions SET lease_expires_at = ?, lease_deadline = ?, lease_renewals = lease_renewals + 1
WHERE id = ? AND fence = ? AND lease_holder IS NOT NULL`;

/**
 * Leases, kept in their session's row. Fences come from one counter for the whole database, so they rise across deletion
 * without keeping a trace of what was deleted.
 *
 * A lease has two ends: by the time of day, and by the monotonic clock of the boot that its holder runs in. Processes of that boot
 * go by the second, which no one can set; all others by the first (D76).
 */
export class LeaseTable {
  readonly #clock: Clock;
  readonly #sessions: SessionTable;
  readonly #read: Statement<[string], LeaseRow>;
  readonly #nextFence: ValueStatement<[], number>;
  readonly #grant: Statement<[number, number, number | null, string, number]>;
  readonly #renew: Statement<[number, number | null, string, number]>;
  readonly #release: Statement<[string, number]>;

  constructor(database: Database, sessions: SessionTable, clock: Clock) {
    this.#clock = clock;
    this.#sessions = sessions;
    this.#read = database.prepare(
      'SELECT fence, lease_expires_at, lease_deadline, lease_holder, lease_renewals FROM sessions WHERE id = ? AND lease_holder IS NOT NULL',
    );
    this.#nextFence = database.prepareValue(
      "UPDATE counters SET value = value + 1 WHERE name = 'fence' RETURNING value",
    );
    this.#grant = database.prepare(
      'UPDATE sessions SET fence = ?, lease_expires_at = ?, lease_deadline = ?, lease_holder = ?, lease_renewals = 0 WHERE key = ?',
    );
    this.#renew = database.prepare(RENEW_LEASE);
    this.#release = database.prepare(
      'UPDATE sessions SET lease_expires_at = NULL, lease_deadline = NULL, lease_holder = NULL WHERE id = ? AND fence = ?',
    );
  }

  read(sessionId: string): Lease | undefined {
    const row = this.#read.get(sessionId);
    return row && leaseFromRow(row, this.#clock);
  }

  /** When the lease of this fence ends; undefined when it is another's. */
  term(sessionId: string, fence: number): LeaseTerm | undefined {
    const row = this.#read.get(sessionId);
    return row?.fence === fence ? termOf(row) : undefined;
  }

  acquire(sessionId: string, options: AcquireLeaseOptions): LeaseAttempt {
    const row = this.#read.get(sessionId);
    const current = row && leaseFromRow(row, this.#clock);
    if (current && leaseBlocks(current, options, remainingForOthers(termOf(row), this.#clock))) {
      return { acquired: false, lease: current };
    }
    const fence = this.#nextFence.get() as number;
    const { holder, ttlMs } = options;
    const { expiresAt, deadline } = termFrom(this.#clock, ttlMs);
    const key = this.#sessions.findOrCreate(sessionId);
    this.#grant.run(fence, expiresAt, deadline ?? null, JSON.stringify(holder), key);
    return { acquired: true, lease: { fence, holder: { ...holder }, expiresAt, renewals: 0 } };
  }

  /** The new term, or undefined when the lease is no longer this fence's. */
  renew(sessionId: string, fence: number, ttlMs: number): LeaseTerm | undefined {
    const term = termFrom(this.#clock, ttlMs);
    return this.#renew.run(term.expiresAt, term.deadline ?? null, sessionId, fence).changes > 0 ? term : undefined;
  }

  /** False when the lease stays because the log has moved on from `seq`. */
  release(sessionId: string, fence: number, seq: number | undefined): boolean {
    if (this.#read.get(sessionId)?.fence !== fence) return true;
    if (seq !== undefined && this.#sessions.findAtHead(sessionId)?.seq !== seq) return false;
    this.#release.run(sessionId, fence);
    return true;
  }
}

/** A lease as callers see it: its end is a time of day, by the clock as it is set now. */
export function leaseFromRow(row: LeaseRow, clock: Clock): Lease {
  const expiresAt = expiryNow(termOf(row), clock);
  return { fence: row.fence, holder: holderOf(row), expiresAt, renewals: row.lease_renewals };
}

function holderOf({ lease_holder }: LeaseRow): LeaseHolder {
  return JSON.parse(lease_holder) as LeaseHolder;
}

/** A deadline means something only in the boot that its holder runs in. */
function termOf(row: LeaseRow): LeaseTerm {
  const { bootId: boot } = holderOf(row);
  const isOfThisBoot = boot !== undefined && boot === bootId();
  return { expiresAt: row.lease_expires_at, deadline: isOfThisBoot ? (row.lease_deadline ?? undefined) : undefined };
}
