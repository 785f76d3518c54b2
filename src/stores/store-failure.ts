import { type ErrorCode, HoldfastError, messageOf } from '../core/errors.ts';

/** What a system's error codes mean for a caller, and what to do. Any other error is `STORE_FAILED`. */
const MEANINGS: readonly (readonly [codes: readonly string[], code: ErrorCode, what: string])[] = [
  [['ENOSPC', 'EDQUOT', 'EFBIG'], 'STORE_FULL', 'no room is left; free some space and try again'],
  [
    ['EBUSY', 'EAGAIN', 'ETIMEDOUT', 'EMFILE', 'ENFILE'],
    'STORE_BUSY',
    'the system is busy or did not respond in time; try again',
  ],
  [['EACCES', 'EPERM', 'EROFS'], 'STORE_READ_ONLY', 'it may not be written; check the permissions'],
];

/**
 * An error of a file, a socket or a database's driver as the `HoldfastError` that a store rejects with, with the original as `cause`. A
 * `HoldfastError` is returned as it is. `where` is the path or the address, `means` what a code of the database's own means.
 */
export function storeFailure(error: unknown, where: string, means?: ErrorCode): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const { code: reported } = (error ?? {}) as { readonly code?: unknown };
  const [, code, what] = MEANINGS.find(([codes, each]) => means === each || codes.some((one) => one === reported)) ?? [
    [],
    'STORE_FAILED' as const,
    'the store cannot read or write its data; see the cause',
  ];
  return new HoldfastError(code, `${where}: ${what} (${messageOf(error)})`, { cause: error });
}
