import { type ErrorCode, HoldfastError, messageOf } from '../../../core/errors.ts';
import { resultCode } from '../driver.ts';

interface Meaning {
  readonly name: string;
  readonly code: ErrorCode;
  /** What happened and what to do. */
  readonly what: string;
}

const HELD = 'another connection holds the database; try again, or raise busyTimeoutMs';
const READ_ONLY = 'it may only be read; check the permissions of the file and its directory';

/** What SQLite's result codes mean for a caller. */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  3: { name: 'SQLITE_PERM', code: 'STORE_READ_ONLY', what: READ_ONLY },
  5: { name: 'SQLITE_BUSY', code: 'STORE_BUSY', what: HELD },
  6: { name: 'SQLITE_LOCKED', code: 'STORE_BUSY', what: HELD },
  8: { name: 'SQLITE_READONLY', code: 'STORE_READ_ONLY', what: READ_ONLY },
  10: {
    name: 'SQLITE_IOERR',
    code: 'STORE_FAILED',
    what: 'the disk reported an error; check the disk before you continue',
  },
  11: {
    name: 'SQLITE_CORRUPT',
    code: 'STORE_CORRUPT',
    what: 'the file is damaged; restore a backup, and keep this file for a rescue',
  },
  13: {
    name: 'SQLITE_FULL',
    code: 'STORE_FULL',
    what: 'no room is left; free some disk space, or raise maxBytes, and try again',
  },
  14: {
    name: 'SQLITE_CANTOPEN',
    code: 'STORE_FAILED',
    what: 'the file cannot be opened; check the path and its permissions',
  },
  18: {
    name: 'SQLITE_TOOBIG',
    code: 'EVENT_TOO_LARGE',
    what: 'a value exceeds what SQLite can hold; store large content in parts',
  },
  26: {
    name: 'SQLITE_NOTADB',
    code: 'STORE_CORRUPT',
    what: 'this is not a database, or its beginning is damaged; check the path',
  },
};

function meaningOf(error: unknown): Meaning | undefined {
  return MEANINGS[resultCode(error) ?? 0];
}

/** Whether another connection holds a lock, so that waiting helps. */
export function isBusy(error: unknown): boolean {
  return meaningOf(error)?.code === 'STORE_BUSY';
}

/** Gives an error of SQLite its stable code and a next step; a `HoldfastError` is returned as it is. */
export function storeError(error: unknown, path: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const { name, code, what } = meaningOf(error) ?? { name: 'error', code: 'STORE_FAILED', what: 'see the cause' };
  return new HoldfastError(code, `${path}: ${what} (${name}: ${messageOf(error)})`, { cause: error });
}
