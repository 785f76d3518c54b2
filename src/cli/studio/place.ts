/** Where a command serves Studio, as its options say. Loads nothing of the server: a command reads its options first. */
import { randomBytes } from 'node:crypto';
import { HoldfastError } from '../../core/errors.ts';
import { isLoopback } from '../../server/http/loopback.ts';

/** The port that is tried first, so that an address stays the same from day to day. */
export const USUAL_PORT = 4280;
const TOKEN_BYTES = 24;

/** The options that commands have for this, for `parseArgs`. */
export const PLACE_OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  token: { type: 'string' },
  'no-open': { type: 'boolean' },
} as const;

/** Their lines in a command's usage. */
export const PLACE_USAGE = `  --port n       the port; ${USUAL_PORT} by default, or any free one while that is in use
  --host name    the address to listen on; 127.0.0.1 by default. Any other one needs a token, and gets one
  --token text   what the page must know; at least 16 characters
  --no-open      does not open the browser`;

/** Where Studio is served. */
export interface Place {
  /** Absent: the usual one, or any free one. */
  readonly port?: number;
  readonly host: string;
  readonly token?: string;
}

/** Reads the options of a command. A host that others can reach gets a token. */
export function placeOf(values: {
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  readonly token?: string | undefined;
}): Place {
  const { port, host = '127.0.0.1' } = values;
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    throw new HoldfastError('INVALID_ARGUMENT', `--port takes a number from 0 to 65535, not "${port}"`);
  }
  const token = values.token ?? (isLoopback(host) ? undefined : randomBytes(TOKEN_BYTES).toString('base64url'));
  return { host, ...(port !== undefined && { port: Number(port) }), ...(token !== undefined && { token }) };
}
