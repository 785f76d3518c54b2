import { type ErrorCode, HoldfastError, isHoldfastError, messageOf } from '../core/errors.ts';

/** What follows from a run that threw. Pure. */

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

/** How long a session rests after so many failures in a row. */
export function retryDelay(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
}

/** Errors of the store and of the lease: the session itself is not at fault, and workers do not give up on it. */
const NOT_ITS_FAULT: ReadonlySet<ErrorCode> = new Set([
  'AGENT_UNKNOWN', // another process may have it
  'SESSION_CONFLICT',
  'SESSION_BUSY',
  'SESSION_CLOSED',
  'STORE_BUSY',
  'STORE_FULL',
  'STORE_FAILED',
  'STORE_READ_ONLY',
  'STORE_REPLACED',
]);

/**
 * What to do about an error of a run: `forget` the session, which was deleted or is run by another process; `retry` later; or `count` the
 * failure, and give up after too many.
 */
export function judgeFailure(error: unknown): 'forget' | 'retry' | 'count' {
  if (isHoldfastError(error, 'SESSION_NOT_FOUND')) return 'forget';
  if (isHoldfastError(error, 'SESSION_CONFLICT') && error.detail === 'fence') return 'forget';
  return error instanceof HoldfastError && NOT_ITS_FAULT.has(error.code) ? 'retry' : 'count';
}

/** An error as the log shows it. */
export function loggedError(error: unknown): { readonly code: ErrorCode | 'INTERNAL'; readonly message: string } {
  return { code: error instanceof HoldfastError ? error.code : 'INTERNAL', message: messageOf(error) };
}

/** An error as requests show it. The text of a foreign error may hold paths and keys of this machine: `onError` has it. */
export function shownError(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof HoldfastError) return { code: error.code, message: error.message };
  return {
    code: 'INTERNAL',
    message: 'the runner of this session failed; its process has reported the error to onError',
  };
}
