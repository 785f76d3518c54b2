import type { SearchIndex } from './search-index.ts';

const FIRST_DELAY_MS = 2000;
const PAUSE_MS = 20;

/**
 * When the index is filled: a while after an append, in short transactions with pauses. A search indexes the rest itself, before it
 * looks.
 */
export class BackgroundIndexing {
  readonly #index: SearchIndex;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(index: SearchIndex) {
    this.#index = index;
  }

  /** Events were appended here or, when a store opens, perhaps by a process that ended before they were indexed. */
  schedule(delay: number = FIRST_DELAY_MS): void {
    if (this.#stopped || this.#running) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
      });
    }, delay).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopped && !(await this.#index.advance())) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      // It cannot be reached or is full: the next append or search tries again.
    }
  }
}
