import { HoldfastError, messageOf } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';

/** The methods that return no promise and therefore throw their errors. */
const THROWING: ReadonlySet<unknown> = new Set<keyof Store>(['watch', 'watchWork', 'keepLease']);

/**
 * A store that records in `broken` how its errors break the contract, in whatever case they occur: an error that is not a
 * `HoldfastError`, and one that is thrown by a method that must reject. Many cases expect an error and do not look at it.
 */
export function witnessedStore(store: Store, broken: string[]): Store {
  const look = (name: PropertyKey, error: unknown): void => {
    if (error instanceof HoldfastError) return;
    broken.push(`${String(name)}: this error is not a HoldfastError: ${messageOf(error)}`);
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        try {
          const returned: unknown = Reflect.apply(value, target, args);
          if (isThenable(returned)) returned.then(undefined, (error: unknown) => look(name, error));
          return returned;
        } catch (error) {
          look(name, error);
          if (!THROWING.has(name)) broken.push(`${String(name)} threw; it must reject: ${messageOf(error)}`);
          throw error;
        }
      };
    },
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | undefined)?.then === 'function';
}
