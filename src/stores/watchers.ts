/** Who waits for news of which session. A listener that throws is its author's uncaught error, never the writer's. */
export class Watchers {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** How many sessions are watched. */
  get size(): number {
    return this.#listeners.size;
  }

  sessions(): Iterable<string> {
    return this.#listeners.keys();
  }

  has(sessionId: string): boolean {
    return this.#listeners.has(sessionId);
  }

  /** Adds a listener; the answer removes it. The same function may listen twice. */
  add(sessionId: string, listener: () => void): () => void {
    const call = (): void => listener();
    const listeners = this.#listeners.get(sessionId) ?? new Set();
    this.#listeners.set(sessionId, listeners.add(call));
    return () => {
      listeners.delete(call);
      if (listeners.size === 0 && this.#listeners.get(sessionId) === listeners) this.#listeners.delete(sessionId);
    };
  }

  notify(sessionId: string): void {
    for (const listener of this.#listeners.get(sessionId) ?? []) queueMicrotask(listener);
  }

  clear(): void {
    this.#listeners.clear();
  }
}
