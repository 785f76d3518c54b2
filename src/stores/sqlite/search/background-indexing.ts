import { busyDeadline } from '../connection/busy.ts';
import type { WriteQueue } from '../connection/write-queue.ts';
import type { SearchIndex } from './search-index.ts';

/**
 * When the index is filled: a while after an append, in short slices with pauses, so that writing never waits long and a
 * search usually finds the work done. What is left undone a search does itself, before it looks.
 */

const FIRST_DELAY_MS = 1000;
const PAUSE_MS = 50;

export class BackgroundIndexing {
  readonly #index: SearchIndex;
  readonly #queue: WriteQueue;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(index: SearchIndex, queue: WriteQueue) {
    this.#index = index;
    this.#queue = queue;
  }

  /** Something was appended, here or, when a store opens, perhaps by a process that ended before it was indexed. */
  schedule(delay: number = FIRST_DELAY_MS): void {
    if (this.#stopped) return;
    this.#timer ??= setTimeout(() => void this.#slice(), delay).unref();
  }

  /** Indexes what is committed now, as far as it can: a locked, full or damaged database leaves a rest. */
  async catchUp(sessionId: string | undefined, busyTimeoutMs: number): Promise<void> {
    const deadline = busyDeadline(busyTimeoutMs);
    try {
      while (!this.#index.isComplete(sessionId) && performance.now() < deadline) {
        if (await this.#queue.submitAlone(() => this.#index.advance())) return;
      }
    } catch {
      // The search that asked reads the rest by itself, and meets what is really wrong.
    }
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #slice(): Promise<void> {
    try {
      const done = this.#index.isComplete(undefined) || (await this.#queue.submitAlone(() => this.#index.advance()));
      this.#timer = undefined;
      if (!done) this.schedule(PAUSE_MS);
    } catch {
      // Locked or full. The next search indexes what is missing, or reads what is not indexed if it cannot.
      this.#timer = undefined;
    }
  }
}
