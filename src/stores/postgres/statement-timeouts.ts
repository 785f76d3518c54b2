/** The message of `pg` for the same case. */
const TIMED_OUT = 'Query read timeout';

interface Running {
  readonly deadline: number;
  readonly reject: (error: Error) => void;
}

/**
 * Rejects statements that take too long. All have the same limit and therefore expire in the order in which they started: one timer
 * serves them all, and a statement sets none.
 */
export class StatementTimeouts {
  readonly #limitMs: number;
  /** In the order in which they started. */
  readonly #running = new Set<Running>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  limit<T>(statement: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const running: Running = { deadline: performance.now() + this.#limitMs, reject };
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
    }
  }
}
