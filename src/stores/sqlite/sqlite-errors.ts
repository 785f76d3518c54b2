import { type ErrorCode, HoldfastError, messageOf } from '../../core/errors.ts';

/** What SQLite's refusals mean for a caller, by the beginning of its code: ours, what happened, and what to do. */
const MEANINGS: readonly (readonly [prefix: string, code: ErrorCode, what: string])[] = [
  ['SQLITE_BUSY', 'STORE_BUSY', 'another connection holds the database; try again, or raise busyTimeoutMs'],
  ['SQLITE_LOCKED', 'STORE_BUSY', 'another connection holds the database; try again, or raise busyTimeoutMs'],
  ['SQLITE_READONLY', 'STORE_READ_ONLY', 'it may only be read; check the permissions of the file and its directory'],
  ['SQLITE_PERM', 'STORE_READ_ONLY', 'it may only be read; check the permissions of the file and its directory'],
  ['SQLITE_FULL', 'STORE_FULL', 'no room is left; free some disk space, or raise maxBytes, and try again'],
  ['SQLITE_CORRUPT', 'STORE_CORRUPT', 'the file is damaged; restore a backup, and keep this file for a rescue'],
  ['SQLITE_NOTADB', 'STORE_CORRUPT', 'this is not a database, or its beginning is damaged; check the path'],
  ['SQLITE_TOOBIG', 'EVENT_TOO_LARGE', 'a value exceeds what SQLite can hold; store large content in parts'],
  ['SQLITE_CANTOPEN', 'STORE_FAILED', 'the file cannot be opened; check the path and its permissions'],
  ['SQLITE_IOERR', 'STORE_FAILED', 'the disk reported an error; check it before you go on'],
];

/** The `code` of an error of SQLite, or the empty string. */
function sqliteCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

/** Whether somebody else holds a lock, so that waiting helps. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(error));
}

/** Gives an error of SQLite its stable code and a next step; ours pass as they are. */
export function storeError(error: unknown, path: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const raw = sqliteCode(error);
  const meaning = MEANINGS.find(([prefix]) => raw.startsWith(prefix));
  const [, code, what] = meaning ?? ['', 'STORE_FAILED' as const, 'see the cause'];
  return new HoldfastError(code, `${path}: ${what} (${raw || 'error'}: ${messageOf(error)})`, { cause: error });
}
