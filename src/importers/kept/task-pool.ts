/** What a pool runs at once. */
export interface PoolLimits {
  readonly tasks: number;
  /** The sum of the weights of the tasks. One task may weigh more: it runs alone. */
  readonly weight: number;
}

/**
 * Runs a few tasks at once. Sessions that are imported together share the commits of their store.
 *
 * Contract: one caller at a time starts tasks.
 */
export class TaskPool {
  readonly #limits: PoolLimits;
  readonly #running = new Set<Promise<void>>();
  #weight = 0;
  #wake: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** Starts a task when there is room for it. Throws the error of an earlier task that failed. */
  async start(weight: number, task: () => Promise<void>): Promise<void> {
    while (!this.#hasRoom(weight)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rethrow();
    this.#weight += weight;
    const run = task()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running.delete(run);
        this.#weight -= weight;
        this.#wake();
      });
    this.#running.add(run);
  }

  /** Resolves when no task runs. */
  async settle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** The same; throws the error of a task that failed. */
  async drain(): Promise<void> {
    await this.settle();
    this.#rethrow();
  }

  #hasRoom(weight: number): boolean {
    const { size } = this.#running;
    return size === 0 || (size < this.#limits.tasks && this.#weight + weight <= this.#limits.weight);
  }

  #rethrow(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
