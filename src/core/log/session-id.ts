import { HoldfastError } from '../errors.ts';

const MAX_LENGTH = 512;
/** Control characters, and halves of surrogate pairs. */
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * Throws `INVALID_ARGUMENT` for an id that a database would change, cut or confuse with another, or that a terminal or a URL would
 * show as something else. Every session and every store applies this one rule.
 */
export function checkSessionId(id: unknown): void {
  if (typeof id === 'string' && id !== '' && id.length <= MAX_LENGTH && !UNUSABLE.test(id)) return;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `a session id is text of 1 to ${MAX_LENGTH} characters, without control characters and lone surrogates`,
  );
}
