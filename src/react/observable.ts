/**
 * A value with listeners, as `useSyncExternalStore` reads it. Work starts with the first listener and stops with the last one, each after
 * the current task: a component that React mounts, unmounts and mounts again (strict mode) starts it once.
 */
export abstract class Observable<T> {
  protected value: T;
  /** What a server renders. */
  readonly getServerSnapshot: () => T;
  readonly #listeners = new Set<() => void>();

  constructor(initial: T) {
    this.value = initial;
    this.getServerSnapshot = () => initial;
  }

  /** Starts or stops the work; may be called again without a change. */
  protected abstract follow(isObserved: boolean): void;

  /** The value now; the same object until it changes. */
  readonly getSnapshot = (): T => this.value;

  /** Calls `listener` after every change; returns a function that ends it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener(); // one listener may be given twice
    const follow = (): void => this.follow(this.#listeners.size > 0);
    this.#listeners.add(own);
    queueMicrotask(follow);
    return () => {
      this.#listeners.delete(own);
      queueMicrotask(follow);
    };
  };

  protected show(value: T): void {
    this.value = value;
    for (const listener of [...this.#listeners]) listener();
  }
}
