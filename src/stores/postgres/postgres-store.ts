import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SearchHit, SearchOptions, SessionInfo, Store } from '../../ports/store.ts';
import { checkCount } from '../check-arguments.ts';
import type { AppendJoin } from './append-joins.ts';
import { openDatabase } from './open-database.ts';
import type { PgPool } from './pg.ts';
import type { WorkOptions } from './rows/session-list.ts';
import { storeOnDatabase } from './store-on-database.ts';

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /** The schema that holds the tables; `holdfast` by default. */
  readonly schema?: string;
  /** Whether missing or outdated tables are created or migrated when the store opens (the default), or only by `holdfast migrate`. */
  readonly migrate?: boolean;
  /** Splits the log into so many partitions by hash, when the tables are created. By default it is one table. */
  readonly partitions?: number;
  /** The largest number of connections, apart from one that listens and one that renews leases; 10 by default. Only with an address. */
  readonly maxConnections?: number;
  /** How long a call tries again while the database cannot be reached; 10 seconds by default. */
  readonly retryMs?: number;
  /** How long one statement may take; 30 seconds by default. */
  readonly timeoutMs?: number;
  /** An address for notices that does not go through a pooling proxy. Without it, a store behind such a proxy polls. */
  readonly listenUrl?: string;
  /** Whether the search index is filled in the background (the default), or only when a search needs it. */
  readonly backgroundIndexing?: boolean;
  /** For tests: leases follow this clock instead of the server's. */
  readonly clock?: Clock;
}

/** A store in a PostgreSQL database, shared by any number of machines. */
export interface PostgresStore extends Store {
  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>;
  /**
   * Runs extra SQL in the transaction of appends, such as enqueuing a job. Returns a function that ends it. It applies to appends of
   * this store object only.
   */
  joinAppends(join: AppendJoin): () => void;
  /** Sessions that a runner can take now: work is due, and no live lease is held. Oldest sessions first. */
  sessionsWithWork(options?: WorkOptions): Promise<readonly SessionInfo[]>;
  /**
   * Calls the listener when `sessionsWithWork` may return more than before, because of a commit in any process. Calls may be late,
   * merged or spurious. They do not announce that time has passed: a `wakeAt` or the expiry of a lease.
   */
  watchWork(listener: () => void): () => void;
  /** Facts about the connection: whether a proxy gives each transaction another connection, and how leases are renewed. */
  settings(): PostgresSettings;
}

/** Facts about the connection of a store. */
export interface PostgresSettings {
  readonly schema: string;
  /** True behind a proxy that pools transactions: statements are not prepared, and without `listenUrl` the store polls. */
  readonly isTransactionPooled: boolean;
  /** `thread`: leases are renewed even while the event loop is blocked. `event loop`: with a pool that the caller passed. */
  readonly renewsIn: 'thread' | 'event loop';
  /** `notices`: the store listens for commits of other processes. `polling`: it looks for them. */
  readonly watchesBy: 'notices' | 'polling';
}

const KNOWN: KnownOptions<PostgresStoreOptions> = {
  schema: true,
  migrate: true,
  partitions: true,
  maxConnections: true,
  retryMs: true,
  timeoutMs: true,
  listenUrl: true,
  backgroundIndexing: true,
  clock: true,
};

const SCHEMA_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;

/**
 * Opens or creates a store in a PostgreSQL database, for agents on many machines. Pass an address, or a `Pool` of `pg` that stays
 * yours: the store does not end it, and leases are then renewed by the event loop, which a blocking tool stops.
 */
export async function postgresStore(
  database: string | PgPool,
  options: PostgresStoreOptions = {},
): Promise<PostgresStore> {
  refuseUnknownOptions('postgresStore', options, KNOWN);
  checkSchemaName(options.schema ?? 'holdfast');
  const { partitions, maxConnections, retryMs, timeoutMs } = options;
  if (partitions !== undefined) checkCount('partitions', partitions);
  // The store checks at once whether a proxy pools transactions, which takes two.
  if (maxConnections !== undefined) checkCount('maxConnections', maxConnections, 2);
  if (retryMs !== undefined) checkCount('retryMs', retryMs);
  if (timeoutMs !== undefined) checkCount('timeoutMs', timeoutMs, 1);
  return storeOnDatabase(await openDatabase(database, options), options);
}

/** Refuses a name that would have to be quoted everywhere. */
export function checkSchemaName(schema: string): void {
  if (typeof schema === 'string' && SCHEMA_NAME.test(schema)) return;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    'a schema is 1 to 40 letters, digits and underscores, and does not start with a digit',
  );
}
