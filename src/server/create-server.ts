import { HoldfastError } from '../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import { contextReporter } from '../session/report-errors.ts';
import { systemClock } from '../stores/system-clock.ts';
import { checkNumbers } from '../worker/create-worker.ts';
import { SessionWorker } from '../worker/session-worker.ts';
import { Access, isLoopback } from './access.ts';
import { createApp, errorResponse } from './app.ts';
import { ConversationCache } from './conversation-cache.ts';
import { EventStreams } from './http/event-stream.ts';
import { type ListenerLimits, NodeListener } from './http/node-listener.ts';
import type { ServerContext } from './route.ts';
import { ROUTES } from './route-table.ts';
import { checkServerOptions, defined, type ServerOptions } from './server-options.ts';
import { SessionPool } from './session-pool.ts';
import { StudioFiles } from './studio-files.ts';

/** Where and how `listen` listens. */
export interface ListenOptions extends Partial<ListenerLimits> {
  /** 0, any free port, unless given. */
  readonly port?: number;
  /** 127.0.0.1 unless given; any address but the loopback ones needs a token. */
  readonly host?: string;
}

/** A server that listens. */
export interface ListeningServer {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** Stops listening and closes the connections. The server itself stays usable. */
  close(): Promise<void>;
}

/** What a server holds at the moment. */
export interface ServerStats {
  readonly connections: number;
  readonly streams: number;
  /** Bytes that were written to clients and not taken by the system yet. */
  readonly bufferedBytes: number;
  /** Sessions that are open, for requests, streams and runners. */
  readonly sessions: number;
  readonly runners: number;
}

/**
 * Serves the sessions of a store over HTTP.
 *
 * Contract: `fetch` never rejects. `close` ends the streams, waits for runners up to `graceMs` (10 seconds), interrupts the rest so that
 * the next server resumes them, and leaves the store open.
 */
export interface HoldfastServer {
  /** Handles one request: mount it in any app that speaks the fetch API. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Listens with node:http, and starts the runners. */
  listen(options?: ListenOptions): Promise<ListeningServer>;
  /** Resumes what a crash left and looks for work from now on; `listen` does it, too. Without `agents` it does nothing. */
  start(): void;
  stats(): ServerStats;
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const LISTENER: ListenerLimits = {
  maxConnections: 20_000,
  maxHeaderBytes: 16 * 1024,
  requestTimeoutMs: 30_000,
  stallMs: 30_000,
};
const LISTEN: KnownOptions<ListenOptions> = {
  port: true,
  host: true,
  maxConnections: true,
  maxHeaderBytes: true,
  requestTimeoutMs: true,
  stallMs: true,
};
const GRACE_MS = 10_000;
const WORKER = {
  id: 'holdfast/server',
  clock: systemClock,
  isBackground: true,
  maxAttempts: 5,
  stuckAfterMs: 600_000,
  onStuck: () => undefined,
} as const;
/** Responses that are not streams end at once; a client that takes none of its response is not waited for. */
const CONNECTION_GRACE_MS = 1000;

/** Creates a server for the sessions of a store. */
export function createServer(options: ServerOptions): HoldfastServer {
  const limits = checkServerOptions(options);
  const { store, agents, studio, basePath = '' } = options;
  const report = contextReporter(options.onError);
  const access = new Access(options);
  const pool = new SessionPool(store, { ...options.session, onError: (error) => report(error) });
  const streams = new EventStreams(limits);
  const conversations = new ConversationCache();
  const runners =
    agents &&
    new SessionWorker({
      ...WORKER,
      store,
      agents,
      onEvent: options.onEvent,
      report,
      use: (id, body) => pool.use(id, {}, body),
      concurrency: { worker: limits.maxRunners },
      pollMs: limits.pollMs,
    });
  const { processes } = options;
  const context: ServerContext = { store, pool, conversations, streams, runners, agents, processes, limits, report };
  const handle = createApp(context, basePath);
  let files: Promise<StudioFiles> | undefined;
  const loadedStudio = (directory: true | string): Promise<StudioFiles> => {
    files ??= StudioFiles.load(directory, basePath);
    files.catch(() => {
      files = undefined;
    });
    return files;
  };
  const listeners = new Set<NodeListener>();
  let closing: Promise<void> | undefined;

  const fetch = async (request: Request): Promise<Response> => {
    try {
      if (studio && isStudioPath(request, basePath)) {
        access.checkSender(request);
        const { headers, status, body } = await (await loadedStudio(studio)).respond(request);
        return withHeaders(
          new Response(body, { status, headers: access.headers(request) }),
          Object.fromEntries(headers),
        );
      }
      await access.check(request, isStreamPath(request, basePath));
      const response = request.method === 'OPTIONS' ? new Response(null, { status: 204 }) : await handle(request);
      return withHeaders(response, access.headers(request));
    } catch (error) {
      return withHeaders(errorResponse(error, report), access.headers(request));
    }
  };

  const start = (): void => {
    if (!closing) runners?.start();
  };

  const closeAll = async (graceMs: number): Promise<void> => {
    streams.close();
    await Promise.all([...listeners].map((listener) => listener.close(CONNECTION_GRACE_MS)));
    listeners.clear();
    await runners?.close(graceMs);
    await pool.close();
  };

  return {
    fetch,
    start,
    async listen(given = {}) {
      const place = checkListen(options, given);
      if (closing) throw new HoldfastError('SESSION_CLOSED', 'the server was closed; create another one');
      if (studio) await loadedStudio(studio);
      const listener = await NodeListener.listen(fetch, place, place.limits, report);
      listeners.add(listener);
      start();
      return {
        url: `http://${listener.authority}${basePath}`,
        close: async () => {
          listeners.delete(listener);
          await listener.close(CONNECTION_GRACE_MS);
        },
      };
    },
    stats: () => ({
      connections: sum(listeners, ({ connections }) => connections),
      streams: streams.size,
      bufferedBytes: sum(listeners, ({ bufferedBytes }) => bufferedBytes),
      sessions: pool.size,
      runners: runners?.stats().running.length ?? 0,
    }),
    close({ graceMs = GRACE_MS } = {}) {
      closing ??= closeAll(graceMs);
      return closing;
    },
  };
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

const STREAM_PATHS = ROUTES.filter(({ isStream }) => isStream).map(
  ({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
);

/** Whether a request reads one of the streams, for which the token may be in the query. */
function isStreamPath({ url, method }: Request, basePath: string): boolean {
  const path = new URL(url).pathname.slice(basePath.length);
  return method === 'GET' && STREAM_PATHS.some((pattern) => pattern.test(path));
}

function isStudioPath({ url, method }: Request, basePath: string): boolean {
  return (method === 'GET' || method === 'HEAD') && StudioFiles.isPath(new URL(url).pathname, basePath);
}

function checkListen(
  { token, authorize }: ServerOptions,
  options: ListenOptions,
): { readonly port: number; readonly host: string; readonly limits: ListenerLimits } {
  refuseUnknownOptions('listen', options, LISTEN);
  const { port = 0, host = '127.0.0.1' } = options;
  const limits = checkNumbers('listen', { ...LISTENER, ...defined(options, LISTENER) });
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new HoldfastError('INVALID_ARGUMENT', `port is a number from 0 to 65535, not ${port}`);
  }
  if (!isLoopback(host) && token === undefined && !authorize) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `a server on ${host} can be reached by others: give createServer a token or authorize, or listen on 127.0.0.1`,
    );
  }
  return { port, host, limits };
}

function sum<T>(items: Iterable<T>, value: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += value(item);
  return total;
}
