/**
 * Serves a fetch handler with node:http. Request bodies are read when the handler reads them, response bodies when the client takes
 * them; a client that takes nothing for `stallMs` is disconnected.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { lateModule } from '../../stores/late-module.ts';
import { noteLocalAddress } from '../access.ts';

/** How a listener treats its connections. */
export interface ListenerLimits {
  /** The most connections at a time; further ones are closed. */
  readonly maxConnections: number;
  readonly maxHeaderBytes: number;
  /** Milliseconds in which a whole request must arrive. */
  readonly requestTimeoutMs: number;
  /** Milliseconds in which a client must take some of what was written to it. */
  readonly stallMs: number;
}

type Fetch = (request: Request) => Promise<Response>;

const MAX_HEADERS = 100;
const KEEP_ALIVE_MS = 5000;
const PROBE_MS = 30_000;
const LINGER_MS = 1000;

/** A server that listens. */
export class NodeListener {
  readonly #fetch: Fetch;
  readonly #limits: ListenerLimits;
  readonly #report: (error: unknown) => void;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isClosing = false;

  static async listen(
    fetch: Fetch,
    place: { readonly port: number; readonly host: string },
    limits: ListenerLimits,
    report: (error: unknown) => void,
  ): Promise<NodeListener> {
    const listener = new NodeListener(fetch, limits, report);
    await new Promise<void>((resolve, reject) => {
      listener.#server.once('error', reject);
      listener.#server.listen(place.port, place.host, () => {
        listener.#server.off('error', reject);
        listener.#server.on('error', report);
        resolve();
      });
    });
    return listener;
  }

  private constructor(fetch: Fetch, limits: ListenerLimits, report: (error: unknown) => void) {
    this.#fetch = fetch;
    this.#limits = limits;
    this.#report = report;
    const { maxHeaderBytes, requestTimeoutMs, maxConnections } = limits;
    this.#server = lateModule('node:http').createServer({
      maxHeaderSize: maxHeaderBytes,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 1000),
      keepAlive: true,
      keepAliveInitialDelay: PROBE_MS,
    });
    this.#server.maxHeadersCount = MAX_HEADERS;
    this.#server.maxConnections = maxConnections;
    this.#server.on('connection', (socket) => this.#noteSocket(socket));
    this.#server.on('request', (request, response) => void this.#serve(request, response));
  }

  /** Where this machine reaches it, as the authority of a URL: an address that stands for all of them is none to connect to. */
  get authority(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    if (address === '0.0.0.0') return `127.0.0.1:${port}`;
    if (address === '::') return `[::1]:${port}`;
    return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Bytes that were written to clients and that the system has not taken yet. */
  get bufferedBytes(): number {
    let sum = 0;
    for (const socket of this.#sockets) sum += socket.writableLength;
    return sum;
  }

  /** Accepts nothing more, lets responses under way end within `graceMs`, and closes every connection. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  #noteSocket(socket: Socket): void {
    socket.setMaxListeners(0); // each pipelined response has one
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    outgoing.on('error', () => {}); // the connection broke: `close` follows
    try {
      const request = requestOf(incoming);
      if (!request) {
        outgoing.writeHead(400, { connection: 'close' }).end();
        return;
      }
      await this.#send(await this.#fetch(request), outgoing);
      if (this.#isClosing) outgoing.once('finish', () => incoming.socket.end());
      if (!incoming.complete) dropRest(incoming);
    } catch (error) {
      outgoing.destroy();
      if (!incoming.destroyed) this.#report(error);
    }
  }

  async #send(response: Response, outgoing: ServerResponse): Promise<void> {
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (!response.body || isGone(outgoing)) {
      await response.body?.cancel();
      outgoing.end();
      return;
    }
    const reader = response.body.getReader();
    const gone = goneOf(outgoing);
    void gone.then(() => reader.cancel()).catch(() => {});
    outgoing.flushHeaders();
    for (;;) {
      const next = await reader.read();
      if (next.done || isGone(outgoing)) break;
      if (!outgoing.write(next.value)) await this.#drained(outgoing, gone);
    }
    outgoing.end();
  }

  /** Waits until the client has taken what was written; disconnects one that does not. */
  async #drained(outgoing: ServerResponse, gone: Promise<void>): Promise<void> {
    const timer = setTimeout(() => outgoing.req.socket.destroy(), this.#limits.stallMs);
    const drained = new Promise<void>((resolve) => outgoing.once('drain', resolve));
    await Promise.race([drained, gone]);
    clearTimeout(timer);
  }
}

/**
 * Resolves when a response has ended or its connection is lost. Node 22 closes only the first response of a lost connection: those that
 * wait behind it (pipelining) emit nothing.
 */
function goneOf(outgoing: ServerResponse): Promise<void> {
  const { socket } = outgoing.req;
  return new Promise((resolve) => {
    const gone = (): void => {
      socket.off('close', gone);
      resolve();
    };
    socket.once('close', gone);
    outgoing.once('close', gone);
  });
}

function isGone(outgoing: ServerResponse): boolean {
  return outgoing.destroyed || outgoing.req.socket.destroyed;
}

/**
 * Drops the rest of a body that no handler wanted, for a moment: closing the connection at once would discard the response, too.
 */
function dropRest(incoming: IncomingMessage): void {
  const timer = setTimeout(() => incoming.destroy(), LINGER_MS);
  incoming.once('close', () => clearTimeout(timer));
  incoming.on('error', () => {});
  incoming.resume();
}

/** The request as the fetch API has it; undefined when its target or host cannot be one. */
function requestOf(incoming: IncomingMessage): Request | undefined {
  const { method = 'GET', url = '', headers } = incoming;
  const { host = '' } = headers;
  const address = `http://${host}${url}`;
  if (!url.startsWith('/') || !/^[\w.:[\]-]+$/.test(host) || !URL.canParse(address)) return undefined;
  if (method === 'CONNECT' || method === 'TRACE') return undefined;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const request = new Request(address, {
    method,
    headers: headersOf(incoming),
    ...(hasBody && { body: bodyOf(incoming), duplex: 'half' }),
  });
  noteLocalAddress(request, incoming.socket.localAddress);
  return request;
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  return headers;
}

/** The body, read as the handler asks for it. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(new Uint8Array(next.value as Buffer));
      },
      cancel() {
        // The rest is dropped when the response was sent.
      },
    },
    { highWaterMark: 0 },
  );
}
