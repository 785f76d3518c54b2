import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocksOf, checkAnthropic } from './anthropic-check.ts';
import { anthropicEvents } from './anthropic-events.ts';
import { checkOpenAIChat } from './openai-chat-check.ts';
import { openAIChatEvents } from './openai-chat-events.ts';
import { checkOpenAIResponses } from './openai-responses-check.ts';
import { openAIResponsesEvents } from './openai-responses-events.ts';
import {
  type Answer,
  type Api,
  type Body,
  isRecord,
  type Refusal,
  readTurn,
  type ServerRequest,
  type ServerScript,
} from './server-turn.ts';

/**
 * A model provider on this machine: OpenAI's chat completions and Responses API, Anthropic's Messages API, and an
 * OpenAI-compatible server, all streaming. It rejects what they reject, with their messages, and responds from a script.
 *
 *     /openai/v1/chat/completions   /openai/v1/responses   /anthropic/v1/messages   /compatible/v1/chat/completions
 */

/** A received request, and its outcome. */
export interface RecordedRequest {
  readonly api: Api;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Body;
  readonly turn: number;
  readonly attempt: number;
  /** 200 even if the response was cut. */
  readonly status: number;
  /** Why it was rejected as incoherent. */
  readonly refusal?: string;
}

/** The server's script, and its timing. */
export interface ProviderServerOptions {
  readonly script: ServerScript;
  /** Awaited before each event is sent, counted from 0 within a response: a gate for tests, instead of a timer. */
  readonly beforeEvent?: (n: number, request: ServerRequest) => Promise<void> | void;
}

/** A running server. */
export interface ProviderServer {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** Requests rejected as incoherent: empty if the client is correct. */
  readonly refusals: readonly string[];
  close(): Promise<void>;
}

interface Route {
  readonly api: Api;
  readonly compatible: boolean;
}

const ROUTES: Readonly<Record<string, Route>> = {
  '/openai/v1/chat/completions': { api: 'openai-chat', compatible: false },
  '/compatible/v1/chat/completions': { api: 'openai-chat', compatible: true },
  '/openai/v1/responses': { api: 'openai-responses', compatible: false },
  '/anthropic/v1/messages': { api: 'anthropic', compatible: false },
};

/** Starts a provider on a free port of this machine, for any process. */
export async function startProviderServer(options: ProviderServerOptions): Promise<ProviderServer> {
  const { script, beforeEvent } = options;
  const requests: RecordedRequest[] = [];
  const attempts = new Map<string, number>();
  const stored = new Set<string>();

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = incoming.url ?? '';
    const route = ROUTES[path];
    if (!route || incoming.method !== 'POST')
      return fail(response, 'openai-chat', { status: 404, message: `no ${path}` });
    const { api } = route;
    const body = await readBody(incoming);
    const turn = turnOf(api, body);
    const key = `${path} ${turn}`;
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    const request: ServerRequest = { api, turn, attempt, body };
    const record = (status: number, refusal?: string): void => {
      const { headers } = incoming;
      requests.push({ api, path, headers, body, turn, attempt, status, ...(refusal === undefined ? {} : { refusal }) });
    };

    if (!incoming.headers.authorization && !incoming.headers['x-api-key']) {
      record(401);
      return fail(response, api, { status: 401, message: 'invalid x-api-key' });
    }
    const refusal = check(route, body, stored);
    if (refusal) {
      record(400, refusal.message);
      return fail(response, api, { status: 400, ...refusal });
    }
    const said = typeof script === 'function' ? script(request) : script[turn - 1];
    if (said === undefined) {
      record(404);
      return fail(response, api, { status: 404, message: `the script has no turn ${turn}` });
    }
    const answer = readTurn(said, request);
    if (answer.error && !answer.text && !answer.reasoning) {
      record(answer.error.status);
      return fail(response, api, { ...answer.error, message: `scripted failure ${answer.error.status}` });
    }
    record(200);
    await send(response, eventsOf(route, answer, { body, stored }), {
      named: api === 'anthropic',
      cut: answer.cut,
      beforeEvent: (n) => beforeEvent?.(n, request),
    });
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  let closed: Promise<void> | undefined;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get refusals() {
      return requests.flatMap(({ refusal }) => refusal ?? []);
    },
    close: () => {
      closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return closed;
    },
  };
}

function check(route: Route, body: Body, stored: ReadonlySet<string>): Refusal | undefined {
  if (!wellFormed(body)) return { message: 'The request body is not valid JSON: no low surrogate in string' };
  if (route.api === 'anthropic') return checkAnthropic(body);
  if (route.api === 'openai-responses') return checkOpenAIResponses(body, stored);
  return checkOpenAIChat(body, route);
}

/** Half a surrogate pair is valid in JSON's grammar and in no provider's parser. */
function wellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  return typeof value !== 'object' || value === null || Object.values(value).every(wellFormed);
}

function eventsOf(route: Route, answer: Answer, context: { body: Body; stored: Set<string> }): Iterable<string> {
  if (route.api === 'anthropic') return anthropicEvents(answer, context.body);
  if (route.api === 'openai-responses') return openAIResponsesEvents(answer, context);
  return openAIChatEvents(answer, route);
}

/** The number of assistant turns: runs of assistant messages. */
function turnOf(api: Api, body: Body): number {
  const items = (api === 'openai-responses' ? body.input : body.messages) ?? [];
  let turns = 0;
  let speaking = false;
  for (const item of Array.isArray(items) ? items : []) {
    if (!isRecord(item)) continue;
    const isAssistant = item.role === undefined ? item.type !== 'function_call_output' : item.role === 'assistant';
    if (isAssistant && !speaking) turns++;
    speaking = isAssistant;
  }
  // A paused turn that is sent back to be continued is the same turn.
  const last: unknown = Array.isArray(items) ? items.at(-1) : undefined;
  const paused = api === 'anthropic' && isRecord(last) && last.role === 'assistant' && blocksOf(last).length > 0;
  return paused ? turns : turns + 1;
}

async function send(
  response: ServerResponse,
  events: Iterable<string>,
  options: {
    readonly named: boolean;
    readonly cut: Answer['cut'];
    readonly beforeEvent: (n: number) => Promise<void> | void;
  },
): Promise<void> {
  const { named, cut, beforeEvent } = options;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let n = 0;
  for (const data of events) {
    if (n === cut?.after) {
      if (cut.how === 'end') response.end();
      else response.destroy();
      return;
    }
    await beforeEvent(n++);
    if (response.destroyed) return;
    const name = named ? `event: ${(JSON.parse(data) as { type: string }).type}\n` : '';
    // Each event is flushed before the next, so that everything before a cut arrives.
    await new Promise<void>((resolve) => response.write(`${name}data: ${data}\n\n`, () => resolve()));
  }
  response.end();
}

function fail(
  response: ServerResponse,
  api: Api,
  error: { readonly status: number; readonly message: string; readonly param?: string; readonly retryAfterMs?: number },
): void {
  const { status, message, param = null, retryAfterMs } = error;
  const type =
    status === 429
      ? 'rate_limit_error'
      : status === 529
        ? 'overloaded_error'
        : status >= 500
          ? 'api_error'
          : 'invalid_request_error';
  const body =
    api === 'anthropic' ? { type: 'error', error: { type, message } } : { error: { message, type, param, code: null } };
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (retryAfterMs !== undefined) {
    headers['retry-after-ms'] = String(retryAfterMs);
    headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000));
  }
  response.writeHead(status, headers);
  response.end(JSON.stringify(body));
}

async function readBody(incoming: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
  return isRecord(body) ? body : {};
}
