import type { AddressInfo } from 'node:net';
import { lateModule } from '../stores/late-module.ts';
import type { WorkerStats } from './worker-stats.ts';

/** A worker that has not searched for this many polls, or this long, is broken. */
const MISSED_POLLS = 10;
const LONGEST_SILENCE_MS = 60_000;

/**
 * The health of a worker over HTTP. `/health`: it searches for work, and no run is stuck. `/ready`: it also takes new work, and its last
 * search reached the store. `/stats`: what it does.
 */
export function healthOf(
  { method, url }: Pick<Request, 'method' | 'url'>,
  stats: WorkerStats,
  { now, pollMs }: { readonly now: number; readonly pollMs: number },
): Response {
  const path = new URL(url).pathname;
  if (method !== 'GET' && method !== 'HEAD')
    return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } });
  if (path.endsWith('/stats')) return Response.json(stats);
  const isReady = path.endsWith('/ready');
  if (!isReady && !path.endsWith('/health')) return new Response(null, { status: 404 });
  const problems = isReady ? [...brokenBy(stats, now, pollMs), ...unreadyBy(stats)] : brokenBy(stats, now, pollMs);
  const status = problems.length === 0 ? 200 : 503;
  return Response.json(
    { status: status === 200 ? 'ok' : 'failing', problems, worker: stats.id, state: stats.state },
    { status },
  );
}

function brokenBy({ state, startedAt, search, running }: WorkerStats, now: number, pollMs: number): readonly string[] {
  const last = search?.at ?? startedAt;
  const silence = last === undefined ? 0 : now - Date.parse(last);
  const isSilent = state === 'running' && silence > Math.max(LONGEST_SILENCE_MS, MISSED_POLLS * pollMs);
  return [
    ...(isSilent ? [`it has not searched for work since ${last}`] : []),
    ...running
      .filter(({ isStuck }) => isStuck)
      .map(({ sessionId, activeAt }) => `session ${sessionId} is stuck since ${activeAt}`),
  ];
}

function unreadyBy({ state, search }: WorkerStats): readonly string[] {
  if (state !== 'running') return [`it is ${state}`];
  if (!search) return ['it has not searched for work yet'];
  return search.error ? [`its last search failed: ${search.error.message}`] : [];
}

/** Where the health of a worker is served. */
export interface HealthAddress {
  /** 0, any free port, unless given. */
  readonly port?: number;
  /** 127.0.0.1 unless given. Statistics name sessions: let only your own machines reach it. */
  readonly host?: string;
}

/** Serves `worker.fetch` with node:http, for probes that restart a worker or send it no traffic. */
export async function serveHealth(
  worker: { readonly fetch: (request: Request) => Promise<Response> },
  { port = 0, host = '127.0.0.1' }: HealthAddress = {},
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = lateModule('node:http').createServer((request, response) => {
    const { method = 'GET', url = '/' } = request;
    worker
      .fetch(new Request(new URL(url, 'http://worker'), { method }))
      .then(async (given) => {
        response.writeHead(given.status, Object.fromEntries(given.headers));
        response.end(method === 'HEAD' ? undefined : await given.text());
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
