/** Requests that get no response, a foreign one, or no token: nothing freezes, and everything recovers. */
import { describe, expect, test } from 'vitest';
import { ConversationClient, type RequestError } from '../../src/react.ts';
import { counting, refunding, serve } from '../server/support.ts';
import { follow, Network, shows, textsOf } from './support.ts';

const LOGIN_PAGE = '<!doctype html><title>Sign in to the network</title>';
const page = (status = 200): Response =>
  new Response(LOGIN_PAGE, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
const never = new Promise<never>(() => {});
/** Responses of the real server arrive earlier, also on a busy machine. */
const LIMIT_MS = 1000;

/** The first requests to a path get what `respond` returns, all others the server's response. */
function failing(path: RegExp, times: number, respond: () => Promise<Response> | Response): Network {
  const network = new Network();
  let left = times;
  network.before = (each) => (path.test(each) && left-- > 0 ? respond() : undefined);
  return network;
}

describe('a request without a response', () => {
  test.for(['queue', 'calls'])('%s is requested again after the time limit', async (route) => {
    const { url } = await serve({ agents: refunding });
    const network = failing(new RegExp(`/${route}$`), 1, () => never);
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch, timeoutMs: LIMIT_MS });
    await client.actions.send('Refund.');
    const { pending, queue } = await shows(client, (snapshot) => snapshot.pending.length === 1);
    expect(pending).toMatchObject([{ name: 'refund' }]);
    expect(queue).toEqual([]);
  });

  test('send is repeated with the same id, and the message is placed once', async () => {
    const { url } = await serve({ agents: counting });
    const network = failing(/inputs$/, 1, () => never);
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch, timeoutMs: LIMIT_MS });
    await client.actions.send('Hello');
    const done = await shows(client, ({ state }) => state.blocks.at(1)?.status === 'complete');
    expect(textsOf(done)).toEqual(['Hello', 'I have read 1 messages.']);
  });

  test('send whose response is lost places the message once', async () => {
    const { url } = await serve({ agents: counting });
    const network = new Network();
    let isLost = false;
    network.before = async (path, init) => {
      if (!path.endsWith('/inputs') || isLost) return undefined;
      isLost = true;
      await fetch(`${url}${path}`, init);
      return never;
    };
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch, timeoutMs: LIMIT_MS });
    await client.actions.send('Hello');
    const done = await shows(client, ({ state }) => state.blocks.at(1)?.status === 'complete');
    expect(textsOf(done)).toEqual(['Hello', 'I have read 1 messages.']);
  });

  test.for(['stop', 'resume', 'abandon', 'withdraw', 'approve'] as const)('%s throws UNREACHABLE', async (name) => {
    const { url } = await serve();
    const network = new Network();
    network.before = (_, { method }) => (method ? never : undefined);
    const { actions } = new ConversationClient(`${url}/sessions/ada`, { fetch: network.fetch, timeoutMs: 20 });
    const acts = {
      stop: () => actions.stop(),
      resume: () => actions.resume(),
      abandon: () => actions.abandon(),
      withdraw: () => actions.withdraw('m1'),
      approve: () => actions.approve({ evaluationId: 'e', turn: 1, callId: 'c' }),
    };
    const error = await acts[name]().catch((reason: RequestError) => reason);
    expect(error).toMatchObject({ name: 'RequestError', code: 'UNREACHABLE', status: 0, isTemporary: true });
    expect(network.sent.at(-1)?.isAborted()).toBe(true);
  });

  test('a body that never ends is a request without a response', async () => {
    const { url } = await serve();
    const network = new Network();
    network.before = () => new Response(new ReadableStream(), { headers: { 'content-type': 'application/json' } });
    const { actions } = new ConversationClient(`${url}/sessions/ada`, { fetch: network.fetch, timeoutMs: 20 });
    await expect(actions.stop()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  test('a stream without a response is replaced, also when fetch ignores its signal', async () => {
    const { url } = await serve();
    const network = failing(/stream$/, 2, () => never);
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch, silenceMs: LIMIT_MS });
    const { error } = await shows(client, (snapshot) => snapshot.error !== undefined);
    expect(error).toMatchObject({ name: 'RequestError', code: 'UNREACHABLE' });
    await shows(client, ({ status }) => status === 'live');
    expect(network.streams().length).toBeGreaterThan(2);
  });
});

describe('a page in the place of the server', () => {
  test('with status 200 it is an error that reconnecting overcomes', async () => {
    const { url } = await serve({ agents: counting });
    let isCaptive = true;
    const network = new Network();
    network.before = () => (isCaptive ? page() : undefined);
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch });
    const { status, error } = await shows(client, (snapshot) => snapshot.error !== undefined);
    expect(status).toBe('reconnecting');
    expect(error).toMatchObject({ code: 'UNREACHABLE', status: 200, isTemporary: true });
    expect(error?.message).toContain('returned 200, not from a Holdfast server');
    isCaptive = false;
    await shows(client, (snapshot) => snapshot.status === 'live' && snapshot.error === undefined);
  });

  test.for([200, 404, 405, 502, 511])('a message that is sent meanwhile (%i) is sent again', async (status) => {
    const { url } = await serve({ agents: counting });
    const network = failing(/inputs$/, 1, () => page(status));
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch });
    await client.actions.send('Hello');
    const done = await shows(client, ({ state }) => state.blocks.at(1)?.status === 'complete');
    expect(textsOf(done)).toEqual(['Hello', 'I have read 1 messages.']);
  });

  test.for([401, 403])('%i is a refusal: the conversation ends until it is reconnected', async (status) => {
    const { url } = await serve();
    const network = failing(/stream$/, 1, () => page(status));
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch });
    const { error } = await shows(client, (snapshot) => snapshot.status === 'ended');
    expect(error).toMatchObject({ status, isTemporary: false });
    client.actions.reconnect();
    await shows(client, (snapshot) => snapshot.status === 'live');
  });
});

describe('a token', () => {
  const token = 'a-token-of-twenty-characters';

  test('that never arrives is waited for no longer than a response, then requested again', async () => {
    const { url } = await serve({ token, agents: counting });
    let calls = 0;
    const client = follow(`${url}/sessions/ada`, {
      token: () => (++calls <= 2 ? never : token),
      silenceMs: LIMIT_MS,
      timeoutMs: LIMIT_MS,
    });
    await shows(client, ({ error }) => error !== undefined);
    await client.actions.send('Hello');
    const done = await shows(client, ({ state }) => state.blocks.at(1)?.status === 'complete');
    expect(done.error).toBeUndefined();
  });

  test('that arrives after the time limit sends nothing', async () => {
    const network = new Network();
    let give: (token: string) => void = () => {};
    const { actions } = new ConversationClient('http://localhost/sessions/ada', {
      fetch: network.fetch,
      timeoutMs: 20,
      token: () => new Promise((resolve) => (give = resolve)),
    });
    await expect(actions.stop()).rejects.toMatchObject({ code: 'UNREACHABLE' });
    give(token);
    await new Promise(setImmediate);
    expect(network.sent).toEqual([]);
  });

  test('that throws is an error, and the next attempt calls it again', async () => {
    const { url } = await serve({ token });
    let calls = 0;
    let renew: (token: string) => void = () => {};
    const renewed = new Promise<string>((resolve) => (renew = resolve));
    const client = follow(`${url}/sessions/ada`, {
      token: () => {
        if (++calls === 1) throw new Error('the login has expired');
        return renewed; // within the frame of the error, the next attempt would hide it
      },
    });
    const { error } = await shows(client, (snapshot) => snapshot.error !== undefined);
    expect(error?.message).toBe('the login has expired');
    renew(token);
    await shows(client, ({ status }) => status === 'live');
  });

  test('that throws is thrown to the caller of an action', async () => {
    const { actions } = new ConversationClient('http://localhost/sessions/ada', {
      token: () => Promise.reject(new Error('the login has expired')),
    });
    await expect(actions.send('Hello')).rejects.toThrow('the login has expired');
  });
});

describe('a stream of another kind', () => {
  /** The first stream has this text and stays open. */
  const first = (text: string): Network =>
    failing(/stream$/, 1, () => {
      const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(text)) });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });

  test.for([
    ['foreign events', 'event: ping\ndata: not JSON\n\nevent: retry\ndata: 5\n\nevent: live\ndata: {"seq":0}\n\n'],
    ['a retry that is no number', 'retry: soon\n\nevent: live\ndata: {"seq":0}\n\n'],
    ['CRLF, a byte order mark, comments', '\ufeff: hi\r\n\r\nevent: live\r\ndata: {"seq":0}\r\n\r\n'],
  ])('%s are no error', async ([, text]) => {
    const { url } = await serve();
    const network = first(text ?? '');
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch });
    const { error } = await shows(client, ({ status }) => status === 'live');
    expect(error).toBeUndefined();
    expect(network.streams()).toHaveLength(1);
  });

  test('retry: 0 does not spin', async () => {
    const network = new Network();
    const text = 'retry: 0\n\nevent: live\ndata: {"seq":0}\n\n';
    network.before = () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    const waits: number[] = [];
    const { setTimeout: original } = globalThis;
    globalThis.setTimeout = ((callback: () => void, ms = 0, ...rest: unknown[]) => {
      waits.push(ms);
      return original(callback, ms > 40 ? 0 : ms, ...(rest as []));
    }) as typeof setTimeout;
    try {
      const client = new ConversationClient('http://localhost/sessions/ada', { fetch: network.fetch });
      const end = client.subscribe(() => {});
      await network.streamed(4);
      end();
    } finally {
      globalThis.setTimeout = original;
    }
    // Frames are 16 ms, requests and silence far longer: what is left is the time between two connections.
    expect(waits.filter((ms) => ms < 16)).toEqual([]);
  });
});
