import { HoldfastError } from '../core/errors.ts';

/** Loads a package that is an optional peer. Throws `DEPENDENCY_MISSING` with the advice when it is not installed. */
export async function loadPackage<T>(name: string, advice: string): Promise<T> {
  try {
    return (await import(name)) as T; // not a literal: the compiler must not look for an optional peer
  } catch (cause) {
    throw new HoldfastError('DEPENDENCY_MISSING', advice, { cause });
  }
}
