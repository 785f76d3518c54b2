import type { PgClient, PgPool } from '../pg.ts';

/** A connection goes back to its pool after so many loans in a row: a pool may replace connections that are old or much used. */
const MAX_LOANS = 1000;

/**
 * Borrows connections from a pool. A connection stays borrowed until the end of the event loop's turn, so that a caller that awaits one
 * statement after the other keeps it: pools set and clear several timers each time that they lend one. While other callers wait for the
 * pool, or if it does not count them, every connection goes back at once.
 */
export class ClientLoans {
  readonly #pool: PgPool;
  /** Borrowed and not in use. */
  #free: PgClient | undefined;
  #loans = 0;
  #isReturning = false;

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  /** The connection that is borrowed and not in use, if there is one. */
  take(): PgClient | undefined {
    const free = this.#free;
    this.#free = undefined;
    return free;
  }

  giveBack(client: PgClient, isBroken: boolean): void {
    if (isBroken || this.#free || this.#pool.waitingCount !== 0 || ++this.#loans > MAX_LOANS) {
      this.#loans = 0;
      client.release(isBroken);
      return;
    }
    this.#free = client;
    if (this.#isReturning) return;
    this.#isReturning = true;
    setImmediate(() => this.#return());
  }

  #return(): void {
    this.#isReturning = false;
    const free = this.take();
    if (!free) return;
    this.#loans = 0;
    free.release();
  }
}
