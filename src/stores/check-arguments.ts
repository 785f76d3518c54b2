import { HoldfastError } from '../core/errors.ts';
import type { AcquireLeaseOptions, AppendOptions, ReadOptions } from '../ports/store.ts';

/**
 * What every store refuses before it looks at its data. An id is any text that survives a round trip through every
 * database: not empty, no NUL, no half of a surrogate pair, and short enough to be indexed. Nothing else about it matters.
 */

const MAX_SESSION_ID_LENGTH = 512;

/** Refuses an id that a database would change, cut or confuse with another. */
export function checkId(what: string, id: string): void {
  if (typeof id !== 'string' || id === '' || id.includes('\0') || !id.isWellFormed()) {
    throw new HoldfastError('INVALID_ARGUMENT', `${what} must be text: not empty, no NUL, no lone surrogate`);
  }
}

export function checkSessionId(sessionId: string): void {
  checkId('a session id', sessionId);
  if (sessionId.length > MAX_SESSION_ID_LENGTH) {
    throw new HoldfastError('INVALID_ARGUMENT', `a session id has at most ${MAX_SESSION_ID_LENGTH} characters`);
  }
}

/** Refuses what is not a whole number of at least `least`. */
export function checkCount(what: string, value: number, least = 0): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new HoldfastError('INVALID_ARGUMENT', `${what} must be a whole number of at least ${least}, not ${value}`);
  }
}

export function checkAppend(sessionId: string, count: number, options: AppendOptions): void {
  checkSessionId(sessionId);
  checkId('an append id', options.id);
  checkCount('expectedSeq', options.expectedSeq);
  if (options.fence !== undefined) checkCount('fence', options.fence);
  if (count === 0) {
    throw new HoldfastError('INVALID_ARGUMENT', 'an append needs at least one event; leave it out when there is none');
  }
}

export function checkRead(sessionId: string, options: ReadOptions): void {
  checkSessionId(sessionId);
  if (options.after !== undefined) checkCount('after', options.after);
  if (options.limit !== undefined) checkCount('limit', options.limit);
}

export function checkTtl(ttlMs: AcquireLeaseOptions['ttlMs']): void {
  if (!Number.isFinite(ttlMs) || ttlMs <= 0) {
    throw new HoldfastError('INVALID_ARGUMENT', `ttlMs must be a positive number of milliseconds, not ${ttlMs}`);
  }
}
