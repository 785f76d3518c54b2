/** Serves Studio from its sources: the open page shows a change at once. Requests for data are passed to a Holdfast server. */
import react from '@vitejs/plugin-react';
import { createServer, mergeConfig } from 'vite';
import config from './vite.config.ts';

/** The page is where a server has it. Everything else is a route of the server: both have an address `/sessions/ada`. */
const BASE = '/studio/';
const NOT_STUDIO = '^/(?!$|[?]|studio(?:[/?]|$))';
const USUAL_PORT = 5173;

export interface DevServerOptions {
  /** The address of the Holdfast server. */
  readonly server: string;
  /** Absent: the usual one, or the next free one. */
  readonly port?: number;
}

/** Studio, while it is served from its sources. */
export interface DevServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts serving; throws if `port` is in use. */
export async function startDevServer({ server, port }: DevServerOptions): Promise<DevServer> {
  const vite = await createServer(
    mergeConfig(config, {
      configFile: false,
      base: BASE,
      logLevel: 'info', // names the files that it updates
      clearScreen: false,
      plugins: [react()],
      server: {
        host: '127.0.0.1',
        port: port ?? USUAL_PORT,
        strictPort: port !== undefined,
        proxy: { [NOT_STUDIO]: { target: server } },
      },
    }),
  );
  try {
    await vite.listen();
  } catch (error) {
    await vite.close();
    throw error;
  }
  const [url = ''] = vite.resolvedUrls?.local ?? [];
  return { url, close: () => vite.close() };
}
