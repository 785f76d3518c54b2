/** Runs a few tasks at once. Sessions that are imported together share the commits of their store. */
export class TaskPool {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Starts a task when there is room for it. Throws the error of an earlier task that failed. */
  async start(task: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    this.#rethrow();
    const run = task()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(run));
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

  #rethrow(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
