/** A server on loopback, an agent for it, and a small client of server-sent events. */
import { afterEach } from 'vitest';
import { z } from 'zod';
import { definePrompt, type Prompt } from '../../src/evaluate.ts';
import {
  type Agent,
  createAgent,
  defineTool,
  type Model,
  type ModelPart,
  type ModelRequest,
  memoryStore,
  type Store,
  scriptedModel,
} from '../../src/index.ts';
import { createServer, type HoldfastServer, type ListenOptions, type ServerOptions } from '../../src/server.ts';
import { chat } from './chat-prompt.ts';

export const JSON_HEADERS = { 'content-type': 'application/json', 'x-holdfast-request': '1' } as const;

export { chat };

/** Runs every session with a model that counts the messages. */
export function counting(): Agent {
  const model = scriptedModel(({ messages }) => `I have read ${messages.length - 1} messages.`);
  return createAgent({ model, prompt: chat });
}

const refund = defineTool({
  name: 'refund',
  description: 'Refunds',
  input: z.object({ euros: z.number() }),
  effect: 'once',
  needsApproval: true,
  execute: ({ euros }) => `refunded ${euros}`,
});
const refunds: Prompt = definePrompt({ ns: 'test', key: 'refund', instructions: 'Help.', tools: [refund] });

/** Runs every session with a model that wants to refund 80 euros, which a person approves. */
export function refunding(): Agent {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'refund', arguments: { euros: 80 } }] },
  );
  return createAgent({ model, prompt: refunds });
}

/** A model whose response is made piece by piece, as the test releases them. */
export class HeldModel implements Model {
  readonly provider = 'test';
  readonly modelId = 'held';
  readonly #waiting: ((piece: string | undefined) => void)[] = [];
  readonly #ready: (string | undefined)[] = [];

  /** Streams a piece; `undefined` ends the response. */
  say(piece: string | undefined): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(piece);
    else this.#ready.push(piece);
  }

  async *stream({ signal }: ModelRequest): AsyncIterable<ModelPart> {
    let text = '';
    for (;;) {
      const piece = await this.#next(signal);
      if (piece === undefined) break;
      text += piece;
      yield { type: 'text-delta', blockId: 't', delta: piece };
    }
    yield { type: 'finish', response: { content: [{ type: 'text', text }], toolCalls: [] } };
  }

  #next(signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#ready.length > 0) return Promise.resolve(this.#ready.shift());
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      signal?.addEventListener('abort', () => {
        this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
        reject(signal.reason);
      });
    });
  }
}

export interface Served {
  readonly server: HoldfastServer;
  readonly store: Store;
  readonly url: string;
  readonly errors: readonly unknown[];
  /** Sends a request; acting ones get their headers. */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** The JSON body of a `GET`. */
  json(path: string): Promise<Record<string, unknown>>;
}

const started = new Set<HoldfastServer>();
afterEach(async () => {
  await Promise.all([...started].map((server) => server.close({ graceMs: 0 })));
  started.clear();
});

/** Starts a server that is closed after the test. */
export async function serve(options: Partial<ServerOptions> = {}, listen: ListenOptions = {}): Promise<Served> {
  const store = options.store ?? memoryStore();
  const errors: unknown[] = [];
  const server = createServer({ onError: (error) => void errors.push(error), ...options, store });
  started.add(server);
  const { url } = await server.listen(listen);
  const send: Served['send'] = (method, path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { ...(method !== 'GET' && JSON_HEADERS), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    server,
    store,
    url,
    errors,
    send,
    json: async (path) => (await (await send('GET', path)).json()) as Record<string, unknown>,
  };
}

/** A message of a stream; comments are messages without data. */
export interface SseMessage {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly comment?: string;
  readonly retry?: string;
}

/** Parses a response of server-sent events, message by message. */
export async function* sseMessages(response: Response): AsyncGenerator<SseMessage, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) yield parseSse(block);
  }
}

function parseSse(block: string): SseMessage {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).replace(/^ /, '');
    return [colon === 0 ? 'comment' : line.slice(0, colon), value] as const;
  });
  return Object.fromEntries(fields);
}

/** Reads messages until one fits; returns all of them. */
export async function readUntil(
  messages: AsyncIterator<SseMessage, void>,
  fits: (message: SseMessage) => boolean,
): Promise<readonly SseMessage[]> {
  const read: SseMessage[] = [];
  for (;;) {
    const next = await messages.next();
    if (next.done) return read;
    read.push(next.value);
    if (fits(next.value)) return read;
  }
}

/** Waits until something holds, looking again after each turn of the event loop and a few milliseconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The code of a refused request. */
export async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { readonly error: { readonly code: string; readonly message: string } };
  if (typeof error.message !== 'string' || error.message === '') throw new Error('the error has no message');
  return `${response.status} ${error.code}`;
}
