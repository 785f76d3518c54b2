/** The watchers of each session. An error of a watcher is thrown as an uncaught error, never to the writer. */
export class Watchers {
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #work = new Set<(sessionId?: string) => void>();

  /** The number of watched sessions. */
  get size(): number {
    return this.#listeners.size;
  }

  sessions(): Iterable<string> {
    return this.#listeners.keys();
  }

  has(sessionId: string): boolean {
    return this.#listeners.has(sessionId);
  }

  /** Adds a watcher; returns a function that removes it. The same function may be added twice. */
  add(sessionId: string, listener: () => void): () => void {
    const call = (): void => listener();
    const listeners = this.#listeners.get(sessionId) ?? new Set();
    this.#listeners.set(sessionId, listeners.add(call));
    return () => {
      listeners.delete(call);
      if (listeners.size === 0 && this.#listeners.get(sessionId) === listeners) this.#listeners.delete(sessionId);
    };
  }

  /** Adds a watcher of all sessions that may have work. */
  addWork(listener: (sessionId?: string) => void): () => void {
    const call = (sessionId?: string): void => listener(sessionId);
    this.#work.add(call);
    return () => void this.#work.delete(call);
  }

  /** Whether there is any watcher. */
  get isWatching(): boolean {
    return this.#listeners.size > 0 || this.#work.size > 0;
  }

  /** A session may have work; without an id: one of them. */
  notifyWork(sessionId?: string): void {
    for (const listener of this.#work) queueMicrotask(() => listener(sessionId));
  }

  notify(sessionId: string): void {
    for (const listener of this.#listeners.get(sessionId) ?? []) queueMicrotask(listener);
  }

  /** Any session may have changed. */
  notifyAll(): void {
    for (const sessionId of [...this.#listeners.keys()]) this.notify(sessionId);
    this.notifyWork();
  }

  clear(): void {
    this.#listeners.clear();
    this.#work.clear();
  }
}
