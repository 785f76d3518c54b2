import { HoldfastError } from '../core/errors.ts';
import type { Store } from '../ports/store.ts';
import { type OpenSessionOptions, openSession, type Session } from '../session/session.ts';
import { systemClock } from '../stores/system-clock.ts';

/** An open session, shared by all that use it at the same time. */
export interface PooledSession {
  readonly session: Session;
  /** Ends this use, once; the last one closes the session after a while. */
  release(): void;
}

interface Entry {
  readonly id: string;
  readonly opening: Promise<Session>;
  readonly incarnation: number;
  users: number;
  /** Closes the session when no use has followed the last one. */
  idle: NodeJS.Timeout | undefined;
}

const IDLE_MS = 10_000;
const MAX_IDLE = 64;

/**
 * The sessions that the server has open: one handle for each, because a handle holds the folded log. A handle of a deleted session is
 * replaced.
 *
 *     acquire ─▶ used ─▶ release, release ─▶ idle ─▶ closed
 *                  ▲                          │
 *                  └───────── acquire ────────┘
 */
export class SessionPool {
  readonly #store: Store;
  readonly #options: Omit<OpenSessionOptions, 'store' | 'id'>;
  readonly #entries = new Map<string, Entry>();
  readonly #idle = new Set<Entry>();
  /** Handles that are being closed. */
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(store: Store, options: Omit<OpenSessionOptions, 'store' | 'id'>) {
    this.#store = store;
    this.#options = options;
  }

  /** The time by the clock of the sessions. */
  now(): number {
    return (this.#options.clock ?? systemClock).now();
  }

  /** The number of open sessions. */
  get size(): number {
    return this.#entries.size;
  }

  /** Opens a session, or shares the open one. One that does not exist is `SESSION_NOT_FOUND`, unless it may `begin`. */
  async acquire(id: string, { begin = false }: { readonly begin?: boolean } = {}): Promise<PooledSession> {
    const { incarnation, seq } = await this.#store.head(id);
    if (this.#isClosed) throw new HoldfastError('SESSION_CLOSED', 'the server was closed');
    if (seq === 0 && !begin)
      throw new HoldfastError('SESSION_NOT_FOUND', `there is no session ${id}; send it an input to begin it`);
    const known = this.#entries.get(id);
    const entry = known?.incarnation === incarnation ? known : this.#open(id, incarnation);
    entry.users++;
    clearTimeout(entry.idle);
    this.#idle.delete(entry);
    const release = (): void => this.#release(entry);
    try {
      const session = await entry.opening;
      if (entry === known) await session.refresh(); // it was just read otherwise
      return { session, release };
    } catch (error) {
      this.#forget(entry);
      release();
      throw error;
    }
  }

  /** Runs `body` with a session. */
  async use<T>(
    id: string,
    options: { readonly begin?: boolean },
    body: (session: Session) => Promise<T> | T,
  ): Promise<T> {
    const { session, release } = await this.acquire(id, options);
    try {
      return await body(session);
    } finally {
      release();
    }
  }

  /** Closes every session that is not used; the others close with their last use. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const entry of [...this.#entries.values()]) if (entry.users === 0) this.#end(entry);
    await Promise.all(this.#closing);
  }

  #open(id: string, incarnation: number): Entry {
    const before = this.#entries.get(id);
    const entry: Entry = {
      id,
      opening: openSession({ ...this.#options, store: this.#store, id }),
      incarnation,
      users: 0,
      idle: undefined,
    };
    entry.opening.catch(() => {}); // each user receives the error from `acquire`
    this.#entries.set(id, entry);
    if (before?.users === 0) this.#end(before);
    return entry;
  }

  #release(entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    if (this.#isClosed || this.#entries.get(entry.id) !== entry) {
      this.#end(entry);
      return;
    }
    entry.idle = setTimeout(() => this.#end(entry), IDLE_MS);
    entry.idle.unref();
    this.#idle.add(entry);
    const [oldest] = this.#idle;
    if (oldest && this.#idle.size > MAX_IDLE) this.#end(oldest);
  }

  #end(entry: Entry): void {
    clearTimeout(entry.idle);
    this.#idle.delete(entry);
    this.#forget(entry);
    // A handle that cannot be closed has nothing left to lose: its appends were acknowledged or rejected.
    const closing = entry.opening.then((session) => session.close()).catch(() => {});
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  #forget(entry: Entry): void {
    if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
  }
}
