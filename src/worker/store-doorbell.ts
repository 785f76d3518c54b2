import type { Doorbell } from '../ports/doorbell.ts';
import type { Store } from '../ports/store.ts';

/** The store's own watch as a doorbell; undefined for a store that cannot watch: then searches find everything. */
export function storeDoorbell(store: Store): Doorbell | undefined {
  if (!store.watchWork) return undefined;
  return {
    async listen({ ring }) {
      const stop = store.watchWork?.(ring);
      return async () => stop?.();
    },
  };
}
