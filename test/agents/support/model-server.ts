import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocksOf, checkAnthropic } from '../../support/provider-server/anthropic-check.ts';
import { anthropicEvents } from '../../support/provider-server/anthropic-events.ts';
import {
  type Answer,
  type Body,
  isRecord,
  readTurn,
  type ServerTurn,
} from '../../support/provider-server/server-turn.ts';

/**
 * The Messages API for real agents, scripted. Stores no conversation: the newest user text with `[[script:name]]`, not quoted, names the
 * script, and the number of responses since is the turn. So a resume, a fork and a retry need nothing from the server. Every request is
 * checked as the real API would; rejections are listed.
 */

/** What a script receives about the request. */
export interface Asked {
  /** Responses since the text that names the script, plus one. */
  readonly turn: number;
  readonly body: Body;
  /** The result of every call in the request, by call id. */
  readonly results: ReadonlyMap<string, { readonly text: string; readonly isError: boolean }>;
}

/**
 * A response. `hold` stops the stream before that event, the first time only, until the test releases it. With `streams: false` only
 * requests without streaming get the response.
 */
export type AgentTurn =
  | ServerTurn
  | { readonly said: ServerTurn; readonly hold: { readonly name: string; readonly at: number } }
  | { readonly said: ServerTurn; readonly streams: false };

export type AgentScript = (asked: Asked) => AgentTurn;

export interface SeenRequest {
  readonly script: string;
  readonly turn: number;
  readonly body: Body;
  /** The body as received, including messages with roles of their own. */
  readonly sent: Body;
  readonly results: Asked['results'];
}

export interface ModelServer {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Why requests were rejected as incoherent: empty if the agent's history was coherent. */
  readonly refusals: readonly string[];
  /** Resolves when a stream is held under this name. */
  held(name: string): Promise<void>;
  close(): Promise<void>;
}

const SCRIPT = /(?<!")\[\[script:([\w-]+)\]\]/;

/** Starts the server on a free port. */
export async function startModelServer(scripts: Readonly<Record<string, AgentScript>>): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  const refusals: string[] = [];
  const holds = new Map<string, () => void>();
  const heldNow = new Set<string>();
  let answers = 0;

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname;
    if (path.endsWith('/count_tokens')) return json(response, 200, { input_tokens: 100 });
    if (incoming.method !== 'POST' || !path.endsWith('/v1/messages'))
      return json(response, 404, error('not_found_error', path));
    const sent = await readBody(incoming);
    const body = withoutSystemRole(sent);
    const refusal = checkAnthropic({ ...body, stream: true });
    if (refusal) {
      refusals.push(refusal.message);
      return json(response, 400, error('invalid_request_error', refusal.message));
    }
    const asked = readRequest(body);
    const script = scripts[asked.script];
    if (!script) return json(response, 400, error('invalid_request_error', `no script "${asked.script}"`));
    requests.push({ ...asked, body, sent });
    const turn = script({ ...asked, body });
    const said = typeof turn === 'object' && 'said' in turn ? turn.said : turn;
    const hold = typeof turn === 'object' && 'hold' in turn ? turn.hold : undefined;
    const streams = !(typeof turn === 'object' && 'streams' in turn);
    const id = `msg_${Date.now().toString(36)}_${++answers}`;
    const answer = readTurn(said, { api: 'anthropic', turn: asked.turn, attempt: 1, body });
    if (answer.error) return json(response, answer.error.status, error('api_error', 'scripted failure'));
    if (body.stream !== true) return json(response, 200, { ...wholeAnswer(answer, body), id });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (!streams) return void response.end();
    let n = 0;
    for (const data of anthropicEvents(answer, body)) {
      if (hold && n === hold.at && !heldNow.has(hold.name)) {
        heldNow.add(hold.name);
        holds.get(hold.name)?.();
        await new Promise<void>((resolve) => response.once('close', resolve));
        return;
      }
      n++;
      const event = JSON.parse(data) as { readonly type: string; readonly message?: Body };
      const sent = event.message ? { ...event, message: { ...event.message, id } } : event;
      await new Promise<void>((resolve) =>
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(sent)}\n\n`, () => resolve()),
      );
    }
    response.end();
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((cause: unknown) => {
      response.destroy(cause instanceof Error ? cause : new Error(String(cause)));
    });
  });
  // An agent may reuse an idle connection: closing it at that moment would fail the request.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    held: (name) => (heldNow.has(name) ? Promise.resolve() : new Promise<void>((resolve) => holds.set(name, resolve))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A response without streaming: the sum of its stream. */
function wholeAnswer(answer: Answer, body: Body): Body {
  let message: Body = {};
  const content: { input?: unknown; text?: string; json?: string }[] = [];
  for (const data of anthropicEvents(answer, body)) {
    const event = JSON.parse(data) as {
      readonly type: string;
      readonly message?: Body;
      readonly content_block?: object;
      readonly delta?: { readonly text?: string; readonly partial_json?: string; readonly stop_reason?: string };
      readonly usage?: object;
    };
    const block = content.at(-1);
    if (event.type === 'message_start') message = { ...event.message };
    else if (event.type === 'content_block_start') content.push({ ...event.content_block });
    else if (event.type === 'content_block_delta' && block) {
      if (event.delta?.text !== undefined) block.text = (block.text ?? '') + event.delta.text;
      if (event.delta?.partial_json !== undefined) block.json = (block.json ?? '') + event.delta.partial_json;
    } else if (event.type === 'message_delta') {
      const usage = { ...(message.usage as object | undefined), ...event.usage };
      message = { ...message, stop_reason: event.delta?.stop_reason, usage };
    }
  }
  const blocks = content.map(({ json: input, ...block }) =>
    input === undefined ? block : { ...block, input: JSON.parse(input || '{}') as unknown },
  );
  return { ...message, content: blocks };
}

/** The script of the request, the turn in it, and the results of its calls. */
function readRequest(body: Body): {
  readonly script: string;
  readonly turn: number;
  readonly results: Asked['results'];
} {
  let script = '';
  let turn = 1;
  const results = new Map<string, { readonly text: string; readonly isError: boolean }>();
  for (const message of Array.isArray(body.messages) ? (body.messages as readonly Body[]) : []) {
    const blocks = blocksOf(message);
    const text = blocks.map((block) => (block.type === 'text' ? String(block.text) : '')).join('\n');
    if (message.role === 'assistant') {
      if (text.trim() !== 'No response requested.') turn++;
      continue;
    }
    const named = SCRIPT.exec(text)?.[1];
    if (named !== undefined) {
      script = named;
      turn = 1;
    }
    for (const block of blocks) {
      if (block.type === 'tool_result')
        results.set(String(block.tool_use_id), { text: resultText(block.content), isError: block.is_error === true });
    }
  }
  return { script, turn, results };
}

function resultText(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? '');
  return content.map((part) => (isRecord(part) && part.type === 'text' ? String(part.text) : '')).join('');
}

/** A beta of the API accepts instructions between messages, with their own role; the rest is checked as usual. */
function withoutSystemRole(body: Body): Body {
  if (!Array.isArray(body.messages)) return body;
  return { ...body, messages: body.messages.filter((message) => !isRecord(message) || message.role !== 'system') };
}

function error(type: string, message: string): Body {
  return { type: 'error', error: { type, message } };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function readBody(incoming: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
  return isRecord(body) ? body : {};
}
