import { useCallback, useEffect, useRef, useState } from 'react';
import { readJson } from './server.ts';

/** What was read from a route of the server. */
export interface Reading<T> {
  /** The newest response; kept while it is read again, dropped when the route changes. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  refresh(): void;
}

interface Result<T> {
  readonly path: string | undefined;
  readonly data?: T | undefined;
  readonly error?: Error | undefined;
}

/**
 * Reads a route, and again when `version` changes, `refresh` is called or `refreshMs` have passed while the tab is visible. `undefined` reads
 * nothing.
 */
export function useRead<T>(
  path: string | undefined,
  { version, refreshMs = 0 }: { readonly version?: unknown; readonly refreshMs?: number } = {},
): Reading<T> {
  const [result, setResult] = useState<Result<T>>({ path });
  const [asked, setAsked] = useState(0);
  const running = useRef<AbortController>(undefined);
  const refresh = useCallback(() => setAsked((count) => count + 1), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version or request reads again
  useEffect(() => {
    if (path === undefined) return;
    const attempt = new AbortController();
    running.current?.abort();
    running.current = attempt;
    readJson<T>(path, attempt.signal).then(
      (data) => setResult({ path, data }),
      (error: unknown) => {
        if (attempt.signal.aborted) return;
        setResult((last) => ({ path, data: last.path === path ? last.data : undefined, error: error as Error }));
      },
    );
    return () => attempt.abort();
  }, [path, version, asked]);

  useEffect(() => {
    if (refreshMs === 0) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), refreshMs);
    return () => clearInterval(timer);
  }, [refreshMs, refresh]);

  const isCurrent = result.path === path;
  return {
    data: isCurrent ? result.data : undefined,
    error: isCurrent ? result.error : undefined,
    isLoading: path !== undefined && (!isCurrent || (result.data === undefined && result.error === undefined)),
    refresh,
  };
}
