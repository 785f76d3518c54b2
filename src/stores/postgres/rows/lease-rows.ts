import { randomUUID } from 'node:crypto';
import type { AcquireLeaseOptions, Lease, LeaseAttempt, LeaseHolder } from '../../../ports/store.ts';
import type { LeaseRules } from '../../shell/backend.ts';
import type { PostgresDatabase, Statement } from '../connection/database.ts';
import { usable } from '../connection/layout.ts';
import { idHash } from './session-rows.ts';

/** The columns of a lease. */
export interface LeaseRow {
  readonly fence: number;
  readonly lease_expires_at: number;
  readonly lease_renewals: number;
  readonly lease_holder: string;
}

interface FoundRow extends LeaseRow {
  readonly lease_grant: string;
  readonly is_live: boolean;
}

export const LEASE_COLUMNS: string =
  'fence::float8 AS fence, lease_expires_at::float8 AS lease_expires_at, lease_renewals, lease_holder';

/** The server's time in milliseconds, unless a test passes its own. */
const NOW = (parameter: string): string =>
  `coalesce(${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

/** The statement that renews a lease: $1 session, $2 fence, $3 ttl, $4 time or null. The thread that renews leases runs it, too. */
export function renewLeaseSql(database: PostgresDatabase): string {
  return `UPDATE ${database.table('sessions')} SET lease_expires_at = ${NOW('$4')} + ceil($3::float8)::bigint, lease_renewals = lease_renewals + 1
    WHERE id = $1 AND fence = $2::bigint AND lease_holder IS NOT NULL AND ${usable(database)} RETURNING 1 AS renewed`;
}

/**
 * Leases, in their session's row. They end by the server's clock, so clocks of machines may differ. The holder measures from the
 * moment before it asked, by its own clocks: for the holder a lease always ends earlier than for others (D76).
 */
export class LeaseRows implements LeaseRules {
  readonly #database: PostgresDatabase;
  /** Passed to the server instead of its own time, by tests. */
  readonly #time: () => number | null;
  readonly #read: Statement;
  readonly #grant: Statement;
  readonly #create: Statement;
  readonly #renew: Statement;
  readonly #release: Statement;

  constructor(database: PostgresDatabase, time: () => number | null) {
    this.#database = database;
    this.#time = time;
    const sessions = database.table('sessions');
    const granted = `nextval('${database.table('fences')}')`;
    this.#read = {
      name: 'read-lease',
      text: `SELECT ${LEASE_COLUMNS}, lease_grant, lease_expires_at > ${NOW('$2')} AS is_live
             FROM ${sessions} WHERE id = $1 AND lease_holder IS NOT NULL`,
    };
    this.#grant = {
      name: 'grant-lease',
      text: `UPDATE ${sessions} SET fence = ${granted}, lease_expires_at = ${NOW('$2')} + ceil($3::float8)::bigint, lease_renewals = 0,
               lease_holder = $4, lease_grant = $5
             WHERE id = $1 AND ${usable(database)} AND building_until IS NULL AND (lease_holder IS NULL OR lease_expires_at <= ${NOW('$2')}
               OR (fence = $6::bigint AND lease_renewals = $7::int))
             RETURNING ${LEASE_COLUMNS}`,
    };
    this.#create = {
      name: 'create-leased',
      text: `WITH life AS (
               SELECT 1 + coalesce(max(incarnation), 0) AS incarnation FROM ${database.table('lives')} WHERE id_hash = $6
             ), created AS (
               INSERT INTO ${sessions} (id, incarnation, fence, lease_expires_at, lease_holder, lease_grant)
               SELECT $1, incarnation, ${granted}, ${NOW('$2')} + ceil($3::float8)::bigint, $4, $5 FROM life WHERE ${usable(database)}
               ON CONFLICT (id) DO NOTHING
               RETURNING incarnation, ${LEASE_COLUMNS}
             ), born AS (
               INSERT INTO ${database.table('lives')} (id_hash, incarnation) SELECT $6, incarnation FROM created
             )
             SELECT * FROM created`,
    };
    this.#renew = { name: 'renew-lease', text: renewLeaseSql(database) };
    this.#release = {
      name: 'release-lease',
      text: `UPDATE ${sessions} SET lease_expires_at = NULL, lease_holder = NULL, lease_grant = NULL
             WHERE id = $1 AND fence = $2::bigint AND ($3::int IS NULL OR seq = $3) RETURNING 1 AS released`,
    };
  }

  async read(sessionId: string): Promise<Lease | undefined> {
    const [row] = await this.#database.query<FoundRow>(this.#read, [sessionId, this.#time()]);
    return row && leaseFromRow(row);
  }

  async acquire(sessionId: string, { holder, ttlMs, replacing }: AcquireLeaseOptions): Promise<LeaseAttempt> {
    const { fence = null, renewals = null } = replacing ?? {};
    // Recognises the lease when it was granted and the connection broke before this process got the response.
    const grant = randomUUID();
    for (;;) {
      const ask = [sessionId, this.#time(), ttlMs, JSON.stringify(holder), grant];
      const [granted] = await this.#database.query<LeaseRow>(this.#grant, [...ask, fence, renewals]);
      if (granted) return { acquired: true, lease: leaseFromRow(granted) };
      const [row] = await this.#database.query<FoundRow>(this.#read, [sessionId, this.#time()]);
      if (row?.lease_grant === grant) return { acquired: true, lease: leaseFromRow(row) };
      if (row?.is_live) return { acquired: false, lease: leaseFromRow(row) };
      if (row) continue; // it has just expired
      const [created] = await this.#database.query<LeaseRow>(this.#create, [...ask, idHash(sessionId)]);
      if (created) return { acquired: true, lease: leaseFromRow(created) };
      await this.#database.checkLayout();
    }
  }

  async renew(sessionId: string, fence: number, ttlMs: number): Promise<boolean> {
    const [row] = await this.#database.query(this.#renew, [sessionId, fence, ttlMs, this.#time()]);
    if (row === undefined) await this.#database.checkLayout();
    return row !== undefined;
  }

  /** False when the lease stays because events were appended after `seq`. */
  async release(sessionId: string, fence: number, seq: number | undefined): Promise<boolean> {
    const released = await this.#database.query(this.#release, [sessionId, fence, seq ?? null]);
    return released.length > 0 || seq === undefined || (await this.read(sessionId))?.fence !== fence;
  }
}

/** A lease as callers see it. */
export function leaseFromRow(row: LeaseRow): Lease {
  return {
    fence: row.fence,
    holder: JSON.parse(row.lease_holder) as LeaseHolder,
    expiresAt: row.lease_expires_at,
    renewals: row.lease_renewals,
  };
}
