/**
 * What a person opened and closed. Rows are removed from the page when they are scrolled away, so that this is kept beside them. Without a
 * provider, as in a file that was exported, everything is as it is by default and the browser's own `<details>` opens it.
 */
import { createContext, useCallback, useContext, useSyncExternalStore } from 'react';

/** The choices of a person in one conversation. */
export class OpenStates {
  readonly #chosen = new Map<string, boolean>();
  readonly #listeners = new Set<() => void>();
  /** Counts the changes, so that it can be a dependency. */
  version = 0;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  isOpen(key: string, byDefault: boolean): boolean {
    return this.#chosen.get(key) ?? byDefault;
  }

  /** Whether the person opened or closed it. */
  isChosen(key: string): boolean {
    return this.#chosen.has(key);
  }

  set(key: string, isOpen: boolean): void {
    this.#chosen.set(key, isOpen);
    this.version++;
    for (const listener of this.#listeners) listener();
  }
}

/** Undefined in a static file. */
export const OpenStatesContext = createContext<OpenStates | undefined>(undefined);

const NEVER = (): (() => void) => () => {};

/** Whether something is open, and how to change it; `isStatic` when nothing can change. */
export function useOpen(
  key: string,
  byDefault: boolean,
): { readonly isOpen: boolean; readonly isStatic: boolean; readonly setOpen: (isOpen: boolean) => void } {
  const states = useContext(OpenStatesContext);
  const read = (): boolean => states?.isOpen(key, byDefault) ?? byDefault;
  const isOpen = useSyncExternalStore(states?.subscribe ?? NEVER, read, read);
  const setOpen = useCallback((open: boolean) => states?.set(key, open), [states, key]);
  return { isOpen, isStatic: states === undefined, setOpen };
}

/** Whether this is a file that was exported: nothing in it can change, and everything has to be there. */
export function useIsStatic(): boolean {
  return useContext(OpenStatesContext) === undefined;
}
