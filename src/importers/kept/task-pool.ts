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

/** One task's place in the order. */
export interface Turn {
  /** Names the ids that the task wants. Resolves when all tasks before it have named theirs, and those that want one of these have left. */
  claim(ids: readonly string[]): Promise<void>;
  /** The task has ended, or wants no id. Call it in any case, also twice: later tasks wait for it. */
  leave(): void;
}

/**
 * Of several sources that want the same session id, the first one in the order of the walk gets it, however long each takes to read. So an
 * import that was killed and runs again ends as one that was not.
 */
export class IdClaims {
  /** Resolves when every task so far has named its ids. */
  #named: Promise<void> = Promise.resolve();
  /** When the last task that wants an id has left. */
  readonly #wanted = new Map<string, Promise<void>>();

  /** Takes the next place in the order. */
  enter(): Turn {
    const before = this.#named;
    const named = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    this.#named = before.then(() => named.promise);
    return {
      claim: async (ids) => {
        await before;
        const earlier = ids.map((id) => this.#wanted.get(id));
        for (const id of ids) this.#wanted.set(id, left.promise);
        named.resolve();
        await Promise.all(earlier);
      },
      leave: () => {
        named.resolve();
        left.resolve();
      },
    };
  }
}
