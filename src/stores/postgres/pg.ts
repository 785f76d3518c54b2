import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { HoldfastError } from '../../core/errors.ts';

/** The parts of the driver `pg` that the store uses: its types are not needed to use Holdfast. */

/** A query of `pg`. */
export interface PgQuery {
  readonly text: string;
  values?: unknown[];
  name?: string;
  rowMode?: 'array';
}

/** The result of a query. */
export interface PgResult {
  rows: unknown[];
  rowCount: number | null;
  /** What the server did, such as COMMIT. */
  command?: string;
}

/** A connection that was taken from a pool. */
export interface PgClient {
  /** The server's process. */
  readonly processID?: number | null;
  query(query: PgQuery): Promise<PgResult>;
  release(destroy?: boolean): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
}

/** A pool of connections: `new Pool()` of `pg`, or what offers the same. */
export interface PgPool {
  connect(): Promise<PgClient>;
  end(): Promise<void>;
  /** How many callers wait for a connection. */
  readonly waitingCount?: number;
  /** `max` is the largest number of connections. */
  readonly options?: { readonly max?: number };
  on(event: 'error' | 'connect', listener: (...args: never[]) => void): unknown;
  removeListener(event: 'error' | 'connect', listener: (client: PgClient) => void): unknown;
}

/** A connection of its own, outside a pool. */
export interface PgConnection extends Omit<PgClient, 'release'> {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  readonly connection?: { readonly stream?: { ref?(): unknown; unref?(): unknown } };
}

/** The driver. */
export interface PgDriver {
  readonly Pool: new (config: object) => PgPool;
  readonly Client: new (config: object) => PgConnection;
  /** Where it was loaded from, for the thread that renews leases. */
  readonly path: string;
}

/** Loads `pg`. Throws `DEPENDENCY_MISSING` when it is not installed. */
export async function loadPg(): Promise<PgDriver> {
  try {
    const { default: pg } = (await import('pg')) as unknown as { readonly default: Omit<PgDriver, 'path'> };
    const path = createRequire(import.meta.url).resolve('pg');
    return { Pool: pg.Pool, Client: pg.Client, path: pathToFileURL(path).href };
  } catch (cause) {
    throw new HoldfastError(
      'DEPENDENCY_MISSING',
      'holdfast/postgres needs the package pg; install it with: npm install pg',
      { cause },
    );
  }
}
