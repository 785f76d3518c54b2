/** Serves Studio for the commands. */
import { networkInterfaces } from 'node:os';
import { HoldfastError } from '../../core/errors.ts';
import { createServer, type HoldfastServer } from '../../server/create-server.ts';
import type { ServerOptions } from '../../server/server-options.ts';
import { type Place, USUAL_PORT } from './place.ts';

/** What a person reads until Studio is served. */
export const STARTING: string = import.meta.url.endsWith('.ts')
  ? 'Studio is being built, which takes a few seconds the first time …'
  : 'Studio is starting …';

/** Studio, while it is served. */
export interface ServedStudio {
  readonly server: HoldfastServer;
  /** The address of a view, such as `sessions`, `ada`; the token is part of it. */
  address(...view: readonly string[]): string;
  /** The same for other machines, if they can reach it. */
  readonly network?: string;
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
