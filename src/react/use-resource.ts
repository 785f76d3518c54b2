import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { type Load, type Loaded, Resource } from './resource.ts';

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
