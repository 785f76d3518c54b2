import { HoldfastError, isHoldfastError, messageOf } from '../core/errors.ts';

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** The typed error for a transcript that could not be written below a folder: `STORE_FULL`, or `INVALID_ARGUMENT` with the reason. */
export function writeError(folder: string, error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error;
  if (FULL.has((error as NodeJS.ErrnoException).code)) {
    return new HoldfastError('STORE_FULL', `${folder} is full; free space and try again`, { cause: error });
  }
  const advice = `no transcript can be written below ${folder}: ${messageOf(error)}; check it, or name another folder`;
  return new HoldfastError('INVALID_ARGUMENT', advice, { cause: error });
}
