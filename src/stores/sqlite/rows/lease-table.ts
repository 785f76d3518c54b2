import type { LeaseHolder } from '../../../ports/store.ts';
import type { LeaseTerm } from '../../leases/lease-rules.ts';
import type { LeaseRows, StoredLease } from '../../shell/backend.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';
import type { SessionTable } from './session-table.ts';

/** The columns of a lease. */
export interface LeaseRow {
  readonly fence: number;
  readonly lease_expires_at: number;
  readonly lease_deadline: number | null;
  readonly lease_holder: string;
  readonly lease_renewals: number;
}

type Args<Name extends keyof LeaseRows> = Parameters<LeaseRows[Name]>;

/** What renewing writes: the thread that renews leases runs the same statement. */
export const RENEW_LEASE: string = `
UPDATE sessions SET lease_expires_at = ?, lease_deadline = ?, lease_renewals = lease_renewals + 1
WHERE id = ? AND fence = ? AND lease_holder IS NOT NULL`;

/**
 * Leases, kept in their session's row. Fences come from one counter for the whole database, so they rise across deletion
 * without keeping a trace of what was deleted.
 */
export class LeaseTable {
  readonly #sessions: SessionTable;
  readonly #read: Statement<[string], LeaseRow>;
  readonly #nextFence: ValueStatement<[], number>;
  readonly #grant: Statement<[number, number, number | null, string, number]>;
  readonly #renew: Statement<[number, number | null, string, number]>;
  readonly #release: Statement<[string, number]>;

  constructor(database: Database, sessions: SessionTable) {
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

  read(sessionId: string): StoredLease | undefined {
    const row = this.#read.get(sessionId);
    return row && leaseFromRow(row);
  }

  grant(...[sessionId, { holder, expiresAt, deadline }, over]: Args<'grant'>): number | undefined {
    const current = this.#read.get(sessionId);
    if (current?.fence !== over?.fence || current?.lease_renewals !== over?.renewals) return undefined;
    const fence = this.#nextFence.get() as number;
    const key = this.#sessions.findOrCreate(sessionId);
    this.#grant.run(fence, expiresAt, deadline ?? null, JSON.stringify(holder), key);
    return fence;
  }

  renew(sessionId: string, fence: number, { expiresAt, deadline }: LeaseTerm): boolean {
    return this.#renew.run(expiresAt, deadline ?? null, sessionId, fence).changes > 0;
  }

  release(...[sessionId, fence, seq]: Args<'release'>): boolean {
    if (this.#read.get(sessionId)?.fence !== fence) return false;
    if (seq !== undefined && this.#sessions.findAtHead(sessionId)?.seq !== seq) return false;
    this.#release.run(sessionId, fence);
    return true;
  }
}

export function leaseFromRow(row: LeaseRow): StoredLease {
  return {
    fence: row.fence,
    holder: JSON.parse(row.lease_holder) as LeaseHolder,
    expiresAt: row.lease_expires_at,
    renewals: row.lease_renewals,
    deadline: row.lease_deadline ?? undefined,
  };
}
