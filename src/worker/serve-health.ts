import type { AddressInfo } from 'node:net';
import { lateModule } from '../stores/late-module.ts';
import type { Worker } from './create-worker.ts';

/** Where the health of a worker is served. */
export interface HealthAddress {
  /** 0, any free port, unless given. */
  readonly port?: number;
  /** 127.0.0.1 unless given. Statistics name sessions: let only your own machines reach it. */
  readonly host?: string;
}

/** Serves `worker.fetch` with node:http, for probes that restart a worker or send it no traffic. */
export async function serveHealth(
  worker: Pick<Worker, 'fetch'>,
  { port = 0, host = '127.0.0.1' }: HealthAddress = {},
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = lateModule('node:http').createServer((request, response) => {
    const { method = 'GET', url = '/' } = request;
    worker
      .fetch(new Request(new URL(url, 'http://worker'), { method }))
      .then(async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.end(method === 'HEAD' ? undefined : await answer.text());
      })
      .catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  const name = family === 'IPv6' ? `[${address}]` : address;
  return {
    url: `http://${name}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
