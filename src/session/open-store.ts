import { HoldfastError } from '../core/errors.ts';
import type { AnySlice } from '../core/fold/slices.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { Store } from '../ports/store.ts';
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
  if (typeof given?.append !== 'function') throw invalid('openStore needs an address, such as agent.db, or a store');
  return withSessions(given);
}

async function storeAt(address: string, { readOnly, schema }: OpenStoreOptions): Promise<Store> {
  const [scheme = 'sqlite:'] = SCHEME.exec(address) ?? [];
  const kind = scheme.toLowerCase();
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
  const isDrive = scheme.length === 2; // C:\agent.db
  if (kind !== 'sqlite:' && !isDrive) {
    const why = `openStore does not know ${scheme} in ${JSON.stringify(hidePassword(address))}`;
    throw invalid(`${why}; it takes a file, sqlite:<file>, postgres://<host>/<database> or memory:`);
  }
  const path = kind === 'sqlite:' && SCHEME.test(address) ? address.slice(kind.length) : address;
  const { sqliteStore } = await import('../stores/sqlite/sqlite-store.ts');
  return sqliteStore(path, readOnly === undefined ? {} : { readOnly });
}

/** Adds `session` to a store, which stays the same object: caches and leases are kept by store. */
function withSessions(store: Store): SessionStore {
  if ('session' in store) return store as SessionStore;
  const session: SessionStore['session'] = (id, options) => openSession({ ...options, store, id } as never);
  // Configurable, so that a proxy around the store may replace it.
  return Object.defineProperty(store, 'session', { value: session, configurable: true }) as SessionStore;
}

function hidePassword(address: string): string {
  return address.replace(/\/\/[^@/]*@/, '//…@').slice(0, 100);
}

function invalid(message: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', message);
}
