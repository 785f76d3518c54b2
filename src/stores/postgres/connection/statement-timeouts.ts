/** The message of `pg` for the same case. */
const TIMED_OUT = 'Query read timeout';

interface Running<Connection> {
  readonly deadline: number;
  readonly connection: Connection | undefined;
  readonly reject: (error: Error) => void;
}

/**
 * Rejects statements that take too long. All have the same limit and therefore expire in the order in which they started: one timer
 * serves them all, and a statement sets none.
 */
export class StatementTimeouts<Connection> {
  readonly #limitMs: number;
  readonly #expired: (connection: Connection) => void;
  /** In the order in which they started. */
  readonly #running = new Set<Running<Connection>>();
  #timer: NodeJS.Timeout | undefined;

  /** `expired` is called with the connection of a statement that took too long: the server is still working on it. */
  constructor(limitMs: number, expired: (connection: Connection) => void) {
    this.#limitMs = limitMs;
    this.#expired = expired;
  }

  limit<T>(statement: Promise<T>, connection?: Connection): Promise<T> {
    return new Promise((resolve, reject) => {
      const running: Running<Connection> = { deadline: performance.now() + this.#limitMs, connection, reject };
      this.#running.add(running);
      this.#timer ??= setTimeout(() => this.#expire(), this.#limitMs).unref();
      statement.then(
        (value) => {
          this.#running.delete(running);
          resolve(value);
        },
        (error) => {
          this.#running.delete(running);
          reject(error);
        },
      );
    });
  }

  #expire(): void {
    this.#timer = undefined;
    for (const running of this.#running) {
      const left = running.deadline - performance.now();
      if (left > 0) {
        this.#timer = setTimeout(() => this.#expire(), left).unref();
        return;
      }
      this.#running.delete(running);
      running.reject(new Error(TIMED_OUT));
      if (running.connection !== undefined) this.#expired(running.connection);
    }
  }
}
