import { type ErrorCode, HoldfastError, messageOf } from '../../../core/errors.ts';

interface Meaning {
  readonly code: ErrorCode;
  /** What happened and what to do. */
  readonly what: string;
  /** Whether the same call may succeed a moment later. */
  readonly transient?: true;
}

const UNREACHABLE: Meaning = {
  code: 'STORE_FAILED',
  what: 'the database cannot be reached; check that it runs, and the address, then try again',
  transient: true,
};
const SLOW: Meaning = {
  code: 'STORE_BUSY',
  what: 'the database did not respond in time; try again, or raise timeoutMs',
  transient: true,
};
const EXHAUSTED: Meaning = {
  code: 'STORE_BUSY',
  what: 'no connection of the pool became free in time; raise maxConnections, or check that the database responds',
  transient: true,
};
const FULL: Meaning = { code: 'STORE_FULL', what: "the server's disk is full; free some space, and try again" };
const REFUSED: Meaning = {
  code: 'STORE_FAILED',
  what: 'the server refused the connection; check the user, the password and the name of the database',
};
const DAMAGED: Meaning = {
  code: 'STORE_CORRUPT',
  what: 'the database is damaged; restore a backup, and keep this one',
};
const TOO_LARGE: Meaning = {
  code: 'EVENT_TOO_LARGE',
  what: 'a value exceeds what PostgreSQL can hold; store large content in parts',
};
const DISTURBED: Meaning = {
  code: 'STORE_BUSY',
  what: 'concurrent transactions disturbed each other; try again',
  transient: true,
};
const READ_ONLY: Meaning = {
  code: 'STORE_READ_ONLY',
  what: 'this server can only be read, or the role may not write; connect to the primary as a role that owns the schema',
};
const OUTDATED: Meaning = {
  code: 'STORE_UNSUPPORTED',
  what: 'the tables are not those of this Holdfast; run `holdfast migrate`, or choose another schema',
};
const NO_TRANSACTIONS: Meaning = {
  code: 'STORE_UNSUPPORTED',
  what: 'the pooling proxy allows no transactions; use its mode for transactions (PgBouncer: pool_mode = transaction)',
};

/** SQLSTATE codes, and classes of two characters, that mean something to a caller. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '08': UNREACHABLE,
  '57P01': UNREACHABLE,
  '57P02': UNREACHABLE,
  '57P03': { ...UNREACHABLE, what: 'the database is starting or stopping; try again' },
  '57P05': UNREACHABLE,
  '53100': FULL,
  '53200': { code: 'STORE_BUSY', what: 'the server is out of memory; try again later', transient: true },
  '53300': {
    code: 'STORE_BUSY',
    what: 'the server has no connection left; lower maxConnections, or use a pooling proxy',
    transient: true,
  },
  '57014': { code: 'STORE_BUSY', what: 'the statement was cancelled or took too long; try again, or raise timeoutMs' },
  '55P03': DISTURBED,
  '40001': DISTURBED,
  '40P01': DISTURBED,
  // Only `lives` has a constraint that two processes can violate: both started the same incarnation of a session.
  '23505': DISTURBED,
  // A prepared statement of before a migration, or of another connection behind a pooling proxy.
  '0A000': DISTURBED,
  '26000': DISTURBED,
  '42P05': DISTURBED,
  '28': REFUSED,
  '3D000': REFUSED,
  '42501': READ_ONLY,
  '25006': READ_ONLY,
  '3F000': OUTDATED,
  '42P01': OUTDATED,
  '42703': OUTDATED,
  '42883': OUTDATED,
  XX001: DAMAGED,
  XX002: DAMAGED,
  '54': TOO_LARGE,
  '22001': TOO_LARGE,
  '58': { code: 'STORE_FAILED', what: "the server's disk reported an error; check it before you continue" },
};

/** Errors of a connection that `pg` and Node report without a SQLSTATE. */
const LOST =
  /ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|terminat|Connection|connect|timeout|not queryable/i;

/** The SQLSTATE of an error of the server. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined;
}

/** Whether the connection that the error comes from cannot be used again. */
export function isBroken(error: unknown): boolean {
  const state = sqlState(error);
  if (state === undefined) return !(error instanceof HoldfastError);
  return state.startsWith('08') || state.startsWith('57P') || ['0A000', '26000', '42P05'].includes(state);
}

/** Whether trying again may help: the database could not be reached, or was disturbed. */
export function isTransient(error: unknown): boolean {
  return meaningOf(error)?.transient === true;
}

/** Whether the tables are not as this Holdfast expects them: a newer one may have changed them. */
export function isOutdated(error: unknown): boolean {
  return meaningOf(error) === OUTDATED;
}

/** Gives an error of the driver or the server its stable code and a next step; a `HoldfastError` is returned as it is. */
export function storeError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const { code, what } = meaningOf(error) ?? {
    code: 'STORE_FAILED',
    what: 'PostgreSQL reported an error; see the cause',
  };
  const state = sqlState(error);
  const message = messageOf(error) || String((error as { readonly code?: unknown })?.code ?? 'no message');
  return new HoldfastError(code, `${what} (${state === undefined ? '' : `${state}: `}${message})`, { cause: error });
}

function meaningOf(error: unknown): Meaning | undefined {
  if (error instanceof HoldfastError) return undefined;
  const state = sqlState(error);
  if (state === '08P01' && /transaction blocks not allowed/.test(messageOf(error))) return NO_TRANSACTIONS;
  if (state !== undefined) return MEANINGS[state] ?? MEANINGS[state.slice(0, 2)];
  const { code, message, errors } = (error ?? {}) as {
    readonly code?: unknown;
    readonly message?: unknown;
    readonly errors?: readonly unknown[];
  };
  // Node tries several addresses of a host, and reports an error of each.
  if (errors?.some((each) => meaningOf(each) !== undefined)) return UNREACHABLE;
  if (message === 'Query read timeout') return SLOW;
  if (message === 'timeout exceeded when trying to connect') return EXHAUSTED;
  // The driver's own part of logging in, such as an address without the password that the server requires.
  if (typeof message === 'string' && message.startsWith('SASL:')) return REFUSED;
  return LOST.test(`${code} ${message}`) ? UNREACHABLE : undefined;
}
