/** Serves Studio for the commands. Loads nothing of the server before that: a command reads its options first. */
import { randomBytes } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { styleText } from 'node:util';
import { HoldfastError } from '../../core/errors.ts';
import { isLoopback } from '../../server/access.ts';
import type { HoldfastServer } from '../../server/create-server.ts';
import type { ServerOptions } from '../../server/server-options.ts';
import { StatusLine } from '../status-line.ts';
import { canOpenBrowser, openBrowser } from './open-browser.ts';

/** The port that is tried first, so that an address stays the same from day to day. */
const USUAL_PORT = 4280;
const TOKEN_BYTES = 24;
const STARTING = import.meta.url.endsWith('.ts')
  ? 'Studio is being built, which takes a few seconds the first time …'
  : 'Studio is starting …';

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
  /** Whether it is opened in the browser, if there is one. */
  readonly isOpened: boolean;
}

/** Reads the options of a command. A host that others can reach gets a token. */
export function placeOf(
  values: {
    readonly [Name in keyof typeof PLACE_OPTIONS]?: (Name extends 'no-open' ? boolean : string) | undefined;
  },
): Place {
  const { port, host = '127.0.0.1' } = values;
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    throw new HoldfastError('INVALID_ARGUMENT', `--port takes a number from 0 to 65535, not "${port}"`);
  }
  const token = values.token ?? (isLoopback(host) ? undefined : randomBytes(TOKEN_BYTES).toString('base64url'));
  return {
    host,
    isOpened: !values['no-open'],
    ...(port !== undefined && { port: Number(port) }),
    ...(token !== undefined && { token }),
  };
}

/** Studio, while it is served. */
export interface ServedStudio {
  readonly server: HoldfastServer;
  /** The address that was printed; the token is part of it. */
  readonly address: string;
  /** Whether it was opened in the browser. */
  readonly isOpened: boolean;
}

/**
 * Serves Studio and the routes that it uses, prints the address of a view, such as `sessions/ada`, with a remark, and opens it. From the sources
 * of a clone, Studio is built first.
 */
export async function serveStudio(
  options: Omit<ServerOptions, 'token'>,
  place: Place,
  { view = '', remark = 'Ctrl+C ends it' }: { readonly view?: string; readonly remark?: string } = {},
): Promise<ServedStudio> {
  const { host, token } = place;
  const line = new StatusLine();
  line.show(STARTING);
  const { createServer } = await import('../../server/create-server.ts');
  const server = createServer({ ...options, studio: true, ...(token !== undefined && { token }) });
  try {
    const url = new URL(await listen(server, place));
    const path = `/studio/${view}${token === undefined ? '' : `#token=${encodeURIComponent(token)}`}`;
    const address = `${url.origin}${path}`;
    line.clear();
    console.log(`${styleText('bold', 'Studio')} ${styleText('cyan', address)} ${styleText('dim', `(${remark})`)}`);
    const outside = host === '0.0.0.0' || host === '::' ? externalAddress() : undefined;
    if (outside !== undefined) console.log(`  for other machines: http://${outside}:${url.port}${path}`);
    const isOpened = place.isOpened && canOpenBrowser();
    if (isOpened) openBrowser(address);
    return { server, address, isOpened };
  } catch (error) {
    line.clear();
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
