import { HoldfastError } from '../core/errors.ts';

const MAX_LENGTH = 512;
const CONTROL = /\p{Cc}/u;

/** Refuses an id that a store could not keep, or that a terminal or a URL would show as something else. */
export function checkSessionId(id: unknown): void {
  if (typeof id === 'string' && id !== '' && id.length <= MAX_LENGTH && !CONTROL.test(id) && id.isWellFormed()) return;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `a session id is text of 1 to ${MAX_LENGTH} characters, without control characters and lone surrogates`,
  );
}
