import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import { PostgresDatabase } from './connection/database.ts';
import { checkLayout, checkServer, isTransactionPooled, type Migrated, migrate } from './connection/layout.ts';
import { type ListeningConnection, NoticeListener } from './connection/notice-listener.ts';
import { storeError } from './connection/postgres-errors.ts';
import type { ThreadConnection } from './connection/renewal-source.ts';
import { loadPg, type PgConnection, type PgDriver, type PgPool } from './pg.ts';
import type { PostgresStoreOptions } from './postgres-store.ts';

const DEFAULT_RETRY_MS = 10_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5000;

/** An open database, and what the store needs around it. */
export interface OpenDatabase {
  readonly database: PostgresDatabase;
  /** Whether the pool is the store's own. */
  readonly owned: boolean;
  readonly isTransactionPooled: boolean;
  readonly listener: NoticeListener | undefined;
  /** How the thread that renews leases connects; undefined when the event loop renews them. */
  readonly thread: ThreadConnection | undefined;
}

/** Connects, refuses what cannot hold a store, and migrates. */
export async function openDatabase(given: string | PgPool, options: PostgresStoreOptions): Promise<OpenDatabase> {
  const driver = typeof given === 'string' || options.listenUrl !== undefined ? await loadPg() : undefined;
  const owned = typeof given === 'string';
  const config = owned ? configOf(given, options) : undefined;
  const pool = owned ? newPool(driver as PgDriver, config ?? {}, options) : given;
  checkPool(pool);
  const database = databaseOn(pool, options);
  try {
    await prepareDatabase(database, options);
    const pooled = await oneByOne(pool, () => isTransactionPooled(database));
    database.prepares = !pooled;
    const listenTo = options.listenUrl === undefined ? undefined : configOf(options.listenUrl, options);
    const direct = listenTo ?? (pooled ? undefined : config);
    const listener = listenerOn(pooled ? undefined : pool, driver, direct);
    const thread = driver && config ? { pgPath: driver.path, config } : undefined;
    return { database, owned, isTransactionPooled: pooled, listener, thread };
  } catch (error) {
    await database.close(owned);
    throw isHoldfastError(error) ? error : storeError(error);
  }
}

/** Migrates a schema, for `holdfast migrate`. */
export async function migrateSchema(url: string, options: PostgresStoreOptions): Promise<Migrated> {
  const pool = newPool(await loadPg(), configOf(url, options), options);
  const database = databaseOn(pool, options);
  try {
    await database.retrying(() => database.withClient(checkServer));
    return await migrate(database, options);
  } finally {
    await database.close(true);
  }
}

function databaseOn(pool: PgPool, options: PostgresStoreOptions): PostgresDatabase {
  const { schema = 'holdfast', retryMs = DEFAULT_RETRY_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const database = new PostgresDatabase(pool, { schema, retryMs, timeoutMs });
  database.checkLayout = async () => {
    // Typed without a look at the layout, which is what fails here.
    await database.retrying(() => database.withClient((sql) => checkLayout(sql, schema)), storeError);
  };
  return database;
}

/** Not retried at first: an address that is wrong is reported at once. */
async function prepareDatabase(database: PostgresDatabase, options: PostgresStoreOptions): Promise<void> {
  const { schema } = database;
  const layout = await database
    .withClient(async (sql) => {
      await checkServer(sql);
      return checkLayout(sql, schema);
    })
    .catch((error: unknown) => {
      // The driver parses the address when it connects.
      const isUnreadable = (error as { readonly code?: unknown } | null)?.code === 'ERR_INVALID_URL';
      throw isUnreadable ? invalidAddress(error) : storeError(error);
    });
  if (layout === 'current') return;
  if (options.migrate === false) {
    throw new HoldfastError(
      'STORE_UNSUPPORTED',
      `schema ${schema} has no tables, or those of an older Holdfast; run: holdfast migrate <url> --schema ${schema}`,
    );
  }
  await migrate(database, options);
}

function configOf(url: string, { timeoutMs = DEFAULT_TIMEOUT_MS }: PostgresStoreOptions): Record<string, unknown> {
  if (!isAddress(url)) throw invalidAddress();
  return {
    connectionString: url,
    connectionTimeoutMillis: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    keepAlive: true,
    application_name: 'holdfast',
  };
}

/** An URL, or the path of a socket. What an empty address leaves out is read from variables such as PGHOST, if there are any. */
function isAddress(url: string): boolean {
  if (url === '') return ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER'].some((name) => process.env[name] !== undefined);
  return /^(postgres(ql)?:\/\/|socket:|\/)/i.test(url);
}

function newPool({ Pool }: PgDriver, config: object, { maxConnections }: PostgresStoreOptions): PgPool {
  try {
    return new Pool({ ...config, max: maxConnections ?? DEFAULT_CONNECTIONS, allowExitOnIdle: true });
  } catch (cause) {
    throw invalidAddress(cause);
  }
}

/** One connection listens, and the check for a proxy takes two. */
function checkPool({ options }: PgPool): void {
  if ((options?.max ?? 2) >= 2) return;
  throw new HoldfastError('INVALID_ARGUMENT', 'the pool has one connection and the store needs two; raise its `max`');
}

const CHECKS = new WeakMap<PgPool, Promise<unknown>>();

/** Runs work that takes two connections of a pool alone: two stores that hold one each would wait for each other. */
function oneByOne<T>(pool: PgPool, work: () => Promise<T>): Promise<T> {
  const done = (CHECKS.get(pool) ?? Promise.resolve()).then(work, work);
  CHECKS.set(pool, done);
  return done;
}

function invalidAddress(cause?: unknown): HoldfastError {
  return new HoldfastError(
    'INVALID_ARGUMENT',
    'this is not the address of a PostgreSQL database; expected postgres://user:password@host:5432/database',
    cause === undefined ? {} : { cause },
  );
}

/** A connection of its own if there is an address; otherwise one of the caller's pool, which it keeps. */
function listenerOn(
  pool: PgPool | undefined,
  driver: PgDriver | undefined,
  config: object | undefined,
): NoticeListener | undefined {
  if (driver && config) {
    return new NoticeListener(async () => {
      const client = new driver.Client(config);
      client.on('error', () => {}); // it may be lost before the listener has a handler of its own: its first statement then fails
      await client.connect();
      // It does not keep the process alive, except while it is being closed.
      const stream = client.connection?.stream;
      stream?.unref?.();
      const end = (): Promise<void> => {
        stream?.ref?.();
        return client.end();
      };
      return ownConnection(client, end);
    });
  }
  if (!pool) return undefined;
  return new NoticeListener(async () => {
    const client = await pool.connect();
    let isReleased = false;
    const end = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      client.release(true);
    };
    return ownConnection(client, end);
  });
}

/** A connection that is closed by `end`. */
function ownConnection(client: Pick<PgConnection, 'query' | 'on'>, end: () => Promise<void>): ListeningConnection {
  return { query: client.query.bind(client), on: client.on.bind(client), end };
}
