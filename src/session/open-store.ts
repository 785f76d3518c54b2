import { HoldfastError } from '../core/errors.ts';
import type { AnySlice } from '../core/fold/slices.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { Store } from '../ports/store.ts';
import { lateModule } from '../stores/late-module.ts';
import { memoryStore } from '../stores/memory.ts';
import { type OpenSessionOptions, openSession, type Session } from './session.ts';

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** The database is only read: nothing is created or migrated, and every append is rejected. SQLite only. */
  readonly readOnly?: boolean;
  /** The schema of the tables; `holdfast` unless given. PostgreSQL only. */
  readonly schema?: string;
}

/** Options of `store.session`: how this handle reads and writes the session. */
export type StoreSessionOptions<Slices extends readonly AnySlice[] = readonly AnySlice[]> = Omit<
  OpenSessionOptions<Slices>,
  'store' | 'id'
>;

/** A store that opens its sessions. */
export interface SessionStore extends Store {
  /** Opens a session, or begins it: `openSession({ store, id, ...options })`. */
  session<const Slices extends readonly AnySlice[] = readonly []>(
    id: string,
    options?: StoreSessionOptions<Slices>,
  ): Promise<Session<Slices>>;
}

const KNOWN: KnownOptions<OpenStoreOptions> = { readOnly: true, schema: true };
const SCHEME = /^(?:[a-z][a-z\d+.-]+):/i;

/**
 * Opens or creates a store: `agent.db` and `sqlite:agent.db` are files, `postgres://…` is a database for many machines, `memory:` lasts
 * as long as the process. The driver is loaded with the first store that needs it. A store of your own gets `session`, too.
 */
export async function openStore<S extends Store>(store: S): Promise<S & SessionStore>;
export async function openStore(address: string, options?: OpenStoreOptions): Promise<SessionStore>;
export async function openStore(given: string | Store, options: OpenStoreOptions = {}): Promise<SessionStore> {
  refuseUnknownOptions('openStore', options, KNOWN);
  if (typeof given === 'string') return withSessions(await storeAt(given, options));
  if (options.readOnly !== undefined || options.schema !== undefined) {
    throw invalid('readOnly and schema are for an address; a store is opened with its own');
  }
  if (typeof given?.append !== 'function') throw invalid('openStore needs an address, such as agent.db, or a store');
  return withSessions(given);
}

async function storeAt(address: string, { readOnly, schema }: OpenStoreOptions): Promise<Store> {
  const scheme = SCHEME.exec(address)?.[0]; // a drive of Windows, C:\agent.db, has one letter and is none
  const kind = scheme?.toLowerCase() ?? 'sqlite:';
  if (address === 'memory') throw invalid('openStore("memory") would be a file of that name; did you mean memory:?');
  const isPostgres = kind === 'postgres:' || kind === 'postgresql:';
  if (readOnly !== undefined && (isPostgres || kind === 'memory:')) throw invalid('readOnly is for SQLite files');
  if (schema !== undefined && !isPostgres) throw invalid('schema is for PostgreSQL');
  if (isPostgres) {
    const { postgresStore } = await import('../stores/postgres/postgres-store.ts');
    return postgresStore(address, schema === undefined ? {} : { schema });
  }
  if (kind === 'memory:') {
    if (address.length > kind.length) throw invalid('memory: has no name: each memory store is a new one');
    return memoryStore();
  }
  if (kind !== 'sqlite:') {
    const why = `openStore does not know ${scheme} in ${JSON.stringify(hidePassword(address))}`;
    throw invalid(`${why}; it takes a file, sqlite:<file>, postgres://<host>/<database> or memory:`);
  }
  const path = address.slice(scheme?.length ?? 0);
  if (scheme && /^\/\/(?!\/)/.test(path)) {
    throw invalid(
      `in ${address} the file would be a host; write sqlite:${path.slice(2)}, or sqlite:///${path.slice(2)}`,
    );
  }
  const { sqliteStore } = await import('../stores/sqlite/sqlite-store.ts');
  return sqliteStore(path, readOnly === undefined ? {} : { readOnly });
}

const opened = new WeakMap<Store, SessionStore>();

/**
 * Adds `session` to a store, which stays the same object where it can: caches and leases are kept by store. What is defined on a proxy
 * would become the property of the store behind it, whose sessions would go through the proxy: a proxy, as a frozen store, gets a cover.
 */
function withSessions(store: Store): SessionStore {
  const known = opened.get(store);
  if (known) return known;
  const session: SessionStore['session'] = async (id, options) => {
    const own = ['store', 'id'].find((name) => options && name in options);
    if (own) throw invalid(`store.session has no option "${own}": it opens sessions of its store, by their id`);
    return openSession({ ...options, store: withSession, id } as never);
  };
  const isCovered = lateModule('node:util').types.isProxy(store) || !Object.isExtensible(store);
  // Configurable, so that a proxy around the store may replace it.
  const withSession: SessionStore = isCovered
    ? covered(store, session)
    : (Object.defineProperty(store, 'session', { value: session, configurable: true }) as SessionStore);
  opened.set(store, withSession);
  opened.set(withSession, withSession);
  return withSession;
}

/** A store with `session`, over one that takes no property of its own. */
function covered(store: Store, session: SessionStore['session']): SessionStore {
  return new Proxy({} as SessionStore, {
    get(_, property) {
      if (property === 'session') return session;
      const value: unknown = Reflect.get(store, property);
      return typeof value === 'function' ? value.bind(store) : value;
    },
    has: (_, property) => property === 'session' || property in store,
  });
}

function hidePassword(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//…@').slice(0, 100);
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', message);
}
