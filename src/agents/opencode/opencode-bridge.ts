import { randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../core/errors.ts';
import type { AnyTool } from '../../loop/define/define-tool.ts';
import type { ToolOutcome } from '../../loop/define/tool-result.ts';
import { lateModule } from '../../stores/late-module.ts';
import { type McpMessage, serveMcpRequest } from '../serve-mcp-request.ts';

/**
 * How OpenCode reaches us: its MCP client calls our tools here, and a plugin in its process asks here before any tool runs and any request to the model. On
 * this machine only, under an address that no other program knows.
 */
export interface OpenCodeBridge {
  readonly url: string;
  /** Resolves when OpenCode has loaded our plugin. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** The plugin's message before a tool runs. */
export interface BeforeTool {
  readonly tool: string;
  readonly sessionID: string;
  readonly callID: string;
  readonly args: unknown;
}

/** Starts listening. */
export async function openBridge(options: {
  readonly tools: readonly AnyTool[];
  readonly before: (call: BeforeTool) => Promise<void>;
  /** A session is about to ask its model. */
  readonly request: (sessionId: string) => Promise<void>;
  readonly call: (name: string, args: unknown) => Promise<ToolOutcome>;
}): Promise<OpenCodeBridge> {
  const secret = `/${randomUUID()}`;
  const ready = Promise.withResolvers<void>();
  const plugin: Readonly<Record<string, (asked: BeforeTool) => Promise<void> | void>> = {
    '/ready': () => ready.resolve(),
    '/before': options.before,
    '/request': ({ sessionID }) => options.request(sessionID),
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = pathBehind(secret, request.url ?? '');
    const asked = path === undefined || !Object.hasOwn(plugin, path) ? undefined : plugin[path];
    // Before the body is read: a caller that does not know the address must not make this process allocate memory.
    if (!asked && path !== '/mcp') return refuse(response, 404);
    if (request.method !== 'POST') return void response.writeHead(405).end(); // OpenCode keeps its connection
    const body = await readBody(request);
    if (body === undefined) return refuse(response, 413);
    if (asked) {
      await asked(JSON.parse(body) as BeforeTool);
      response.writeHead(200).end('{}');
      return;
    }
    const message = JSON.parse(body) as McpMessage;
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const result = serveMcpRequest(message, options.tools, ({ name = '', arguments: args }) =>
      options.call(name, args),
    );
    if (message.method === 'tools/call') return streamed(response, result);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(await result));
  };
  const server = lateModule('node:http').createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(messageOf(error));
    });
  });
  // A connection that we close while it rests may be one that OpenCode is just about to use again: its request would fail.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${secret}`,
    ready: ready.promise,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** How often a long call sends a sign of life: OpenCode gives up after minutes of silence. */
const ALIVE_MS = 15_000;

/** Sends a response that may take long. */
async function streamed(response: ServerResponse, result: Promise<unknown>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }).flushHeaders();
  const alive = setInterval(() => response.write(': still waiting\n\n'), ALIVE_MS);
  response.once('close', () => clearInterval(alive));
  response.end(`event: message\ndata: ${JSON.stringify(await result)}\n\n`);
}

/** What follows the secret in an address; undefined for an address without it. Takes as long for every guess. */
function pathBehind(secret: string, url: string): string | undefined {
  const [given, wanted] = [Buffer.from(url.slice(0, secret.length)), Buffer.from(secret)];
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? url.slice(secret.length) : undefined;
}

/** Responds without reading the rest of the request and ends the connection: Node would otherwise read on to reuse it. */
function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end(() => response.req.destroy());
}

/** Far more than a model writes in one call. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A request's body; undefined when it is larger than any that OpenCode sends. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.once('error', reject).once('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) return void chunks.push(chunk);
      request.pause();
      resolve(undefined);
    });
  });
}
