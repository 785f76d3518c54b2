/** A client of a server, requests that a test can count and cut, and waiting for what a client shows. */
import { afterEach } from 'vitest';
import type { ConversationBlock } from '../../src/conversation.ts';
import { ConversationClient, type ConversationOptions, type ConversationSnapshot } from '../../src/react.ts';

/** One request of a client, and its connection. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  /** Whether the client has aborted it. */
  readonly isAborted: () => boolean;
  /** Breaks the response's body, as a lost connection does. */
  readonly cut: () => void;
}

/** `fetch` that records requests, and lets a test cut the bodies of streams. */
export class Network {
  readonly sent: Sent[] = [];
  /** Called before each request; what it returns is the response, what it throws the failure. */
  before: (path: string, init: RequestInit) => Promise<Response | undefined> | Response | undefined = () => undefined;
  readonly #waiting = new Set<() => void>();

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    const broken = new AbortController();
    this.sent.push({
      method: init.method ?? 'GET',
      path: pathname,
      isAborted: () => init.signal?.aborted === true,
      cut: () => broken.abort(new TypeError('the connection was lost')),
    });
    for (const wake of this.#waiting) wake();
    const given = await this.before(pathname, init);
    if (given) return given;
    const response = await fetch(url, init);
    if (!pathname.endsWith('/stream') || !response.body) return response;
    const body = response.body.pipeThrough(new TransformStream(), { signal: broken.signal });
    return new Response(body, { status: response.status, headers: response.headers });
  };

  streams(): readonly Sent[] {
    return this.sent.filter(({ path }) => path.endsWith('/stream'));
  }

  /** Resolves when so many streams were requested. */
  async streamed(count: number): Promise<void> {
    while (this.streams().length < count) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }
}

const ends = new Set<() => void>();
afterEach(() => {
  for (const end of ends) end();
  ends.clear();
});

/** A client that is followed until the test ends. */
export function follow(url: string, options: ConversationOptions = {}): ConversationClient {
  const client = new ConversationClient(url, { maxRetryMs: 20, ...options });
  ends.add(client.subscribe(() => {}));
  return client;
}

/** Resolves with the first snapshot that fits. */
export function shows(
  client: Pick<ConversationClient, 'subscribe' | 'getSnapshot'>,
  fits: (snapshot: ConversationSnapshot) => boolean,
): Promise<ConversationSnapshot> {
  return new Promise((resolve) => {
    const look = (): void => {
      const snapshot = client.getSnapshot();
      if (!fits(snapshot)) return;
      end();
      ends.delete(end);
      resolve(snapshot);
    };
    const end = client.subscribe(look);
    ends.add(end);
    look();
  });
}

/** The texts of a conversation, one for each block. */
export function textsOf({ state }: Pick<ConversationSnapshot, 'state'>): readonly string[] {
  return state.blocks.map((block: ConversationBlock) => ('content' in block ? block.content : block.type));
}
