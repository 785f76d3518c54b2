/** What is filled in the background. */
interface Index {
  /** Indexes for a moment; true when nothing is left to do. */
  advance(): Promise<boolean>;
  /** How long after an append it begins. */
  readonly delayMs: number;
  /** Between two moments: others write then. */
  readonly pauseMs: number;
}

/**
 * When a search index is filled: a while after an append, in short transactions with pauses, so that writing never waits long and a search
 * usually finds the work done. What is left undone a search does itself, before it looks.
 */
export class BackgroundIndexing {
  readonly #index: Index;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(index: Index) {
    this.#index = index;
  }

  /** Events were appended here or, when a store opens, perhaps by a process that ended before they were indexed. */
  schedule(delayMs: number = this.#index.delayMs): void {
    if (this.#stopped || this.#running) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#advance().then((isDone) => {
        this.#running = undefined;
        if (!isDone) this.schedule(this.#index.pauseMs);
      });
    }, delayMs).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Resolves when it has nothing under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** If the database is locked, full or cannot be reached, the next append or search tries again. */
  async #advance(): Promise<boolean> {
    return this.#index.advance().catch(() => true);
  }
}
