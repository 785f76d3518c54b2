import type { AcquireLeaseOptions, Lease, LeaseAnswer, LeaseHolder } from '../../ports/store.ts';
import { leaseBlocks } from '../lease-rules.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';
import type { SessionTable } from './session-table.ts';

interface LeaseRow {
  readonly fence: number;
  readonly lease_expires_at: number;
  readonly lease_holder: string;
  readonly lease_renewals: number;
}

/**
 * Leases, kept in their session's row. Fences come from one counter for the whole database, so they rise across deletion
 * without keeping a trace of what was deleted.
 */
export class LeaseTable {
  readonly #sessions: SessionTable;
  readonly #read: Statement<[string], LeaseRow>;
  readonly #nextFence: ValueStatement<[], number>;
  readonly #grant: Statement<[number, number, string, number]>;
  readonly #renew: Statement<[number, string, number]>;
  readonly #release: Statement<[string, number]>;

  constructor(database: Database, sessions: SessionTable) {
    this.#sessions = sessions;
    this.#read = database.prepare(
      'SELECT fence, lease_expires_at, lease_holder, lease_renewals FROM sessions WHERE id = ? AND lease_holder IS NOT NULL',
    );
    this.#nextFence = database.prepareValue(
      "UPDATE counters SET value = value + 1 WHERE name = 'fence' RETURNING value",
    );
    this.#grant = database.prepare(
      'UPDATE sessions SET fence = ?, lease_expires_at = ?, lease_holder = ?, lease_renewals = 0 WHERE key = ?',
    );
    this.#renew = database.prepare(
      'UPDATE sessions SET lease_expires_at = ?, lease_renewals = lease_renewals + 1 WHERE id = ? AND fence = ? AND lease_holder IS NOT NULL',
    );
    this.#release = database.prepare(
      'UPDATE sessions SET lease_expires_at = NULL, lease_holder = NULL WHERE id = ? AND fence = ?',
    );
  }

  read(sessionId: string): Lease | undefined {
    const row = this.#read.get(sessionId);
    if (!row) return undefined;
    const holder = JSON.parse(row.lease_holder) as LeaseHolder;
    return { fence: row.fence, holder, expiresAt: row.lease_expires_at, renewals: row.lease_renewals };
  }

  acquire(sessionId: string, options: AcquireLeaseOptions, now: number): LeaseAnswer {
    const current = this.read(sessionId);
    if (leaseBlocks(current, options, now)) return { acquired: false, lease: current };
    const fence = this.#nextFence.get() as number;
    const expiresAt = now + options.ttlMs;
    this.#grant.run(fence, expiresAt, JSON.stringify(options.holder), this.#sessions.findOrCreate(sessionId));
    return { acquired: true, lease: { fence, holder: { ...options.holder }, expiresAt, renewals: 0 } };
  }

  renew(sessionId: string, fence: number, expiresAt: number): boolean {
    return this.#renew.run(expiresAt, sessionId, fence).changes > 0;
  }

  /** False when the lease stays because the log has moved on from `seq`. */
  release(sessionId: string, fence: number, seq: number | undefined): boolean {
    if (this.read(sessionId)?.fence !== fence) return true;
    if (seq !== undefined && this.#sessions.find(sessionId)?.seq !== seq) return false;
    this.#release.run(sessionId, fence);
    return true;
  }
}
