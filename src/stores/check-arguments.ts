import { HoldfastError } from '../core/errors.ts';
import { checkSessionId } from '../core/log/session-id.ts';
import type {
  AcquireLeaseOptions,
  AppendOptions,
  DraftChunk,
  ForkOptions,
  ReadDraftOptions,
  ReadOptions,
  StoredSnapshot,
} from '../ports/store.ts';
import { sessionNotFound } from './refusals.ts';

/**
 * The argument checks that every store makes before it reads its data. An id is any text that survives a round trip through every
 * database: not empty, no NUL, no half of a surrogate pair. `checkSessionId` is stricter: people see those ids.
 */

export { checkSessionId };

/** Rejects an id that a database would change, cut or confuse with another. */
export function checkId(what: string, id: string): void {
  if (typeof id !== 'string' || id === '' || id.includes('\0') || !id.isWellFormed()) {
    throw new HoldfastError('INVALID_ARGUMENT', `${what} must be text: not empty, no NUL, no lone surrogate`);
  }
}

/** Rejects a value that is not a whole number of at least `least`. */
export function checkCount(what: string, value: number, least = 0): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new HoldfastError('INVALID_ARGUMENT', `${what} must be a whole number of at least ${least}, not ${value}`);
  }
}

const NONE: readonly never[] = [];

/** Throws `INVALID_ARGUMENT` unless the arguments of `append` are valid. */
export function checkAppend(sessionId: string, count: number, options: AppendOptions): void {
  checkSessionId(sessionId);
  checkId('an append id', options.id);
  checkCount('expectedSeq', options.expectedSeq);
  if (options.fence !== undefined) checkCount('fence', options.fence);
  for (const { event, hash } of options.contents ?? NONE) {
    checkId('a hash', hash);
    checkCount('the event of a content', event);
    if (event >= count) {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `content ${hash} belongs to event ${event} of ${count}; events count from 0`,
      );
    }
  }
  for (const { call } of options.callContents?.put ?? NONE) checkId('a call', call);
  if (count === 0) {
    throw new HoldfastError('INVALID_ARGUMENT', 'an append needs at least one event; do not append an empty list');
  }
}

/** Throws `INVALID_ARGUMENT` unless the arguments of `read` are valid. */
export function checkRead(sessionId: string, options: ReadOptions): void {
  checkSessionId(sessionId);
  if (options.after !== undefined) checkCount('after', options.after);
  if (options.limit !== undefined) checkCount('limit', options.limit);
}

/** Throws `INVALID_ARGUMENT` unless the number can be the length of a lease in milliseconds. */
export function checkTtl(ttlMs: AcquireLeaseOptions['ttlMs']): void {
  if (!Number.isFinite(ttlMs) || ttlMs <= 0) {
    throw new HoldfastError('INVALID_ARGUMENT', `ttlMs must be a positive number of milliseconds, not ${ttlMs}`);
  }
}

/** Throws `INVALID_ARGUMENT` unless the arguments of `appendDraft` are valid. */
export function checkDraft(chunks: readonly DraftChunk[], fence: number): void {
  checkCount('fence', fence);
  for (const chunk of chunks) {
    checkId('a draft id', chunk.draftId);
    checkCount('the number of a chunk', chunk.n, 1);
    if (chunk.fence !== fence) {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `a chunk of fence ${chunk.fence} cannot be written under fence ${fence}`,
      );
    }
  }
}

/** Throws `INVALID_ARGUMENT` unless the arguments of `readDraft` are valid. */
export function checkReadDraft({ after, limit }: ReadDraftOptions): void {
  if (limit !== undefined) checkCount('limit', limit);
  if (after === undefined) return;
  checkCount('the fence of a position', after.fence);
  checkCount('the number of a position', after.n);
}

/** Throws `INVALID_ARGUMENT` unless the arguments of `writeSnapshot` are valid. */
export function checkSnapshot({ seq, data }: StoredSnapshot): void {
  checkCount('the seq of a snapshot', seq);
  if (typeof data !== 'string' || !data.isWellFormed()) {
    throw new HoldfastError('INVALID_ARGUMENT', 'a snapshot must be well-formed text, as JSON.stringify returns it');
  }
}

/** Rejects a fork of an unknown session, without an event, or at a position that its origin does not have. */
export function checkFork(
  origin: { readonly id: string; readonly seq: number },
  target: string,
  { at, events }: ForkOptions,
): void {
  checkSessionId(target);
  if (origin.seq === 0) throw sessionNotFound(origin.id);
  if (events.length === 0) throw new HoldfastError('INVALID_ARGUMENT', 'a fork needs at least one event of its own');
  if (Number.isSafeInteger(at) && at >= 1 && at <= origin.seq) return;
  throw new HoldfastError('INVALID_ARGUMENT', `session ${origin.id} can be forked at 1 to ${origin.seq}, not at ${at}`);
}
