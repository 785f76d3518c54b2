/** Serves Studio for the commands: where, with which token, and what is printed about it. */
import { randomBytes } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { HoldfastError } from '../../core/errors.ts';
import { createServer, type HoldfastServer } from '../../server/create-server.ts';
import { isLoopback } from '../../server/loopback.ts';
import type { ServerOptions } from '../../server/server-options.ts';

/** The port that is tried first, so that an address stays the same from day to day. */
const USUAL_PORT = 4280;
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

/** Studio, while it is served. */
export interface ServedStudio {
  readonly server: HoldfastServer;
  /** The address of a view, such as `sessions`, `ada`; the token is part of it. */
  address(...view: readonly string[]): string;
  /** The same for other machines, if they can reach it. */
  readonly network?: string;
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

/** Serves Studio, and the routes that it uses. From the sources of a clone, it is built first. */
export async function serveStudio(options: Omit<ServerOptions, 'token'>, place: Place): Promise<ServedStudio> {
  const { host, token } = place;
  const server = createServer({ ...options, studio: true, ...(token !== undefined && { token }) });
  try {
    const url = new URL(await listen(server, place));
    const address = (...view: readonly string[]): string => {
      const path = view.map(encodeURIComponent).join('/');
      return `${url.origin}/studio/${path}${token === undefined ? '' : `#token=${encodeURIComponent(token)}`}`;
    };
    const outside = host === '0.0.0.0' || host === '::' ? externalAddress() : undefined;
    const network = outside && address().replace(url.host, `${outside}:${url.port}`);
    return { server, address, ...(network !== undefined && { network }) };
  } catch (error) {
    await server.close({ graceMs: 0 });
    throw error;
  }
}

async function listen(server: HoldfastServer, { port, host }: Place): Promise<string> {
  try {
    return (await server.listen({ host, port: port ?? USUAL_PORT })).url;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (port === undefined) return (await server.listen({ host, port: 0 })).url;
    const why = `port ${port} of ${host} is in use; choose another one, or --port 0 for any free one`;
    throw new HoldfastError('INVALID_ARGUMENT', why, { cause: error });
  }
}

/** An address of this machine that others may reach it by. */
function externalAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}
