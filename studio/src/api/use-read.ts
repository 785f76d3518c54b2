import { useCallback, useEffect } from 'react';
import { useResource } from '../../../src/react/resource.ts';
import { readJson } from './server.ts';

/** What was read from a route of the server. */
export interface Reading<T> {
  /** The newest response; kept while it is read again, dropped when the route changes. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  /** Nothing was read yet. */
  readonly isLoading: boolean;
  refresh(): void;
}

/**
 * Reads a route, and again when `version` changes, `refresh` is called or `refreshMs` have passed while the tab is visible. `undefined` reads
 * nothing.
 */
export function useRead<T>(
  path: string | undefined,
  { version, refreshMs = 0 }: { readonly version?: unknown; readonly refreshMs?: number } = {},
): Reading<T> {
  const load = async (signal: AbortSignal): Promise<T | undefined> =>
    path === undefined ? undefined : readJson<T>(path, signal);
  const wanted = path === undefined ? 0 : refreshMs;
  const { data, error, refresh: readAgain } = useResource<T | undefined>(path ?? '', undefined, wanted, load);
  const refresh = useCallback(() => void readAgain(), [readAgain]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version reads again; before the first reading, refresh does nothing
  useEffect(refresh, [refresh, version]);
  return { data, error, isLoading: path !== undefined && data === undefined && error === undefined, refresh };
}
