import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { isVisible, onReturn } from './browser.ts';
import { Observable } from './observable.ts';
import { asError } from './request.ts';

/** A value that is loaded, and loaded again. */
interface Loaded<T> {
  readonly data: T;
  readonly isLoading: boolean;
  /** Why the last attempt failed; the data are those of the last one that succeeded. */
  readonly error: Error | undefined;
}

const RETRY_MS = 10_000;

/** Loads a value; receives the last one. */
export type Load<T> = (signal: AbortSignal, last: T) => Promise<T>;

/**
 * Loads a value while it has listeners: at first, on `refresh`, every `refreshMs`, after a failure, and when a hidden tab
 * returns. A load that a newer one overtook is aborted and ignored.
 */
class Resource<T> extends Observable<Loaded<T>> {
  /** The newest function that loads. */
  load: Load<T>;
  refreshMs: number;
  #current: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopReturns: (() => void) | undefined;

  constructor(initial: T, load: Load<T>, refreshMs: number) {
    super({ data: initial, isLoading: true, error: undefined });
    this.load = load;
    this.refreshMs = refreshMs;
  }

  /** Loads the value with `load`, or with a function of its own. Resolves when it is shown; errors are in the snapshot. */
  readonly refresh = async (load: Load<T> = this.load): Promise<void> => {
    if (!this.#stopReturns) return; // without listeners
    clearTimeout(this.#timer);
    this.#current?.abort();
    const attempt = new AbortController();
    this.#current = attempt;
    this.show({ ...this.value, isLoading: true });
    let change: Partial<Loaded<T>>;
    try {
      change = { data: await load(attempt.signal, this.value.data), error: undefined };
    } catch (error) {
      change = { error: asError(error) };
    }
    if (this.#current !== attempt) return;
    this.show({ ...this.value, ...change, isLoading: false });
    const pause = this.refreshMs || (change.error && RETRY_MS);
    if (pause) this.#timer = setTimeout(() => isVisible() && this.refresh(), pause);
  };

  protected follow(isObserved: boolean): void {
    if (isObserved && !this.#stopReturns) {
      this.#stopReturns = onReturn(() => isVisible() && this.refresh());
      this.refresh();
    } else if (!isObserved) {
      this.#stopReturns?.();
      this.#stopReturns = undefined;
      clearTimeout(this.#timer);
      this.#current?.abort();
      this.#current = undefined;
    }
  }
}

/** Renders what `load` returns. Another `key` starts again with the initial value. */
export function useResource<T>(
  key: string,
  initial: T,
  refreshMs: number,
  load: Load<T>,
): Loaded<T> & Pick<Resource<T>, 'refresh'> {
  // biome-ignore lint/correctness/useExhaustiveDependencies: later functions are given to the same resource below
  const resource = useMemo(() => new Resource(initial, load, refreshMs), [key]);
  useEffect(() => {
    resource.load = load;
    resource.refreshMs = refreshMs;
  });
  const loaded = useSyncExternalStore(resource.subscribe, resource.getSnapshot, resource.getServerSnapshot);
  return { ...loaded, refresh: resource.refresh };
}
