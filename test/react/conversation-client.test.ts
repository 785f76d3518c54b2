/** The client of one conversation, without React: following, reconnecting, ending (I7, D53, D74). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAdapter } from '../../src/evaluate.ts';
import { createAgent, memoryStore } from '../../src/index.ts';
import { ConversationClient, type RequestError } from '../../src/react.ts';
import { chat, counting, HeldModel, serve } from '../server/support.ts';
import { follow, Network, shows, textsOf } from './support.ts';

function held(): { readonly model: HeldModel; readonly agents: () => ReturnType<typeof counting> } {
  const model = new HeldModel();
  const adapter = createAdapter({ model });
  return { model, agents: () => createAgent({ adapter, prompt: chat }) };
}

test('a conversation that is sent to a session that does not exist yet is shown as it happens', async () => {
  const { model, agents } = held();
  const { url, json } = await serve({ agents });
  const client = follow(`${url}/sessions/ada`);
  await shows(client, ({ status }) => status === 'live');
  await client.actions.send('Hello');
  model.say('Good ');
  await shows(client, (snapshot) => textsOf(snapshot).at(-1) === 'Good ');
  model.say('day.');
  model.say(undefined);
  const done = await shows(
    client,
    ({ state }) => state.blocks.at(-1)?.status === 'complete' && state.blocks.length === 2,
  );
  expect(textsOf(done)).toEqual(['Hello', 'Good day.']);
  const { state } = await json('/sessions/ada/state');
  expect(JSON.parse(JSON.stringify(done.state))).toEqual(state);
});

test('connections that are cut at random while a response streams lose and double no character (I7)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.string({ minLength: 1, unit: 'grapheme' }), fc.constant('cut' as const)), { maxLength: 20 }),
      async (steps) => {
        const { model, agents } = held();
        const { url, json } = await serve({ agents, store: memoryStore(), retryMs: 1 });
        const network = new Network();
        const client = follow(`${url}/sessions/ada`, { fetch: network.fetch });
        await client.actions.send('Hello');
        for (const step of steps) {
          if (step === 'cut') {
            const { length } = network.streams();
            network.streams().at(-1)?.cut();
            await network.streamed(length + 1);
          } else model.say(step);
          await new Promise(setImmediate);
        }
        model.say('.');
        model.say(undefined);
        const done = await shows(client, ({ state }) => state.blocks.at(1)?.status === 'complete');
        expect(textsOf(done)[1]).toBe(`${steps.filter((step) => step !== 'cut').join('')}.`);
        expect(JSON.parse(JSON.stringify(done.state))).toEqual((await json('/sessions/ada/state')).state);
      },
    ),
    { numRuns: 10 },
  );
});

test('what arrives within a frame is one change', async () => {
  const { url } = await serve({ agents: counting });
  const writer = follow(`${url}/sessions/ada`);
  await writer.actions.send('Hello');
  await shows(writer, ({ state }) => state.blocks.length === 2 && state.blocks.at(-1)?.status === 'complete');
  const requested = new Map<number, () => void>();
  let requests = 0;
  const runFrame = (): void => {
    const callbacks = [...requested.values()];
    requested.clear();
    for (const callback of callbacks) callback();
  };
  const host = globalThis as { requestAnimationFrame?: unknown; cancelAnimationFrame?: unknown };
  host.requestAnimationFrame = (callback: () => void) => requested.set(++requests, callback) && requests;
  host.cancelAnimationFrame = (id: number) => requested.delete(id);
  try {
    let text = '';
    const client = new ConversationClient(`${url}/sessions/ada`, {
      fetch: async (...args) => {
        const response = await fetch(...args);
        const seen = new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk, controller) => {
            text += new TextDecoder().decode(chunk);
            controller.enqueue(chunk);
          },
        });
        return new Response(response.body?.pipeThrough(seen) ?? null, response);
      },
    });
    let changes = 0;
    const end = client.subscribe(() => changes++);
    while (!text.includes('event: live\n')) await new Promise(setImmediate);
    expect(text.split('\nid: ').length).toBeGreaterThan(4);
    expect(changes).toBeLessThanOrEqual(1); // it connects; everything that has arrived since waits for a frame
    while (textsOf(client.getSnapshot()).length < 2) {
      const before = changes;
      await new Promise(setImmediate);
      expect(changes).toBe(before);
      runFrame();
      expect(changes - before).toBeLessThanOrEqual(1);
    }
    expect(textsOf(client.getSnapshot())).toEqual(['Hello', 'I have read 1 messages.']);
    end();
  } finally {
    delete host.requestAnimationFrame;
    delete host.cancelAnimationFrame;
  }
});

describe('connections', () => {
  test('a listener that is removed and added in one task opens one connection', async () => {
    const { url } = await serve();
    const network = new Network();
    const client = new ConversationClient(`${url}/sessions/ada`, { fetch: network.fetch });
    client.subscribe(() => {})();
    const end = client.subscribe(() => {});
    await shows(client, ({ status }) => status === 'live');
    expect(network.streams()).toHaveLength(1);
    end();
    await Promise.resolve();
  });

  test('the last listener that is removed closes the connection, and a new one continues by the cursor', async () => {
    const { url } = await serve({ agents: counting });
    const network = new Network();
    const urls: string[] = [];
    const client = new ConversationClient(`${url}/sessions/ada`, {
      fetch: (address, init) => {
        urls.push(address);
        return network.fetch(address, init);
      },
    });
    const end = client.subscribe(() => {});
    await client.actions.send('Hello');
    const { cursor } = await shows(client, ({ state }) => state.blocks.at(-1)?.status === 'complete');
    end();
    await Promise.resolve();
    await Promise.resolve();
    expect(network.streams().map((sent) => sent.isAborted())).toEqual([true]);
    expect(client.getSnapshot()).toMatchObject({ status: 'reconnecting' });
    const before = client.getSnapshot();
    const again = client.subscribe(() => {});
    const live = await shows(client, ({ status }) => status === 'live');
    expect(urls.findLast((each) => each.includes('/stream'))).toContain(`after=${cursor}`);
    expect(textsOf(live)).toEqual(textsOf(before));
    again();
  });

  test('a client without listeners sends nothing', async () => {
    const network = new Network();
    const client = new ConversationClient('http://127.0.0.1:9/sessions/ada', { fetch: network.fetch });
    client.actions.reconnect();
    await new Promise(setImmediate);
    expect(network.sent).toEqual([]);
    expect(client.getSnapshot().status).toBe('connecting');
  });

  test('a connection that carries nothing, not even heartbeats, is replaced', async () => {
    const { url } = await serve({ heartbeatMs: 5, retryMs: 1 });
    const network = new Network();
    let isFirst = true;
    network.before = (path, init) => {
      if (!path.endsWith('/stream') || !isFirst) return undefined;
      isFirst = false;
      const body = new ReadableStream({
        start: (controller) => init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason)),
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    };
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch, silenceMs: 200 });
    await shows(client, ({ status }) => status === 'live');
    expect(network.streams().length).toBeGreaterThan(1); // more on a busy machine
    expect(network.streams()[0]?.isAborted()).toBe(true);
  });

  test('a server that is not there is tried again until it is', async () => {
    const { url } = await serve();
    const network = new Network();
    let failures = 0;
    network.before = () => {
      if (++failures <= 3) throw new TypeError('connection refused');
      return undefined;
    };
    const client = follow(`${url}/sessions/ada`, { fetch: network.fetch });
    const lost = await shows(client, ({ error }) => error !== undefined);
    expect(lost).toMatchObject({ status: 'reconnecting', error: { code: 'UNREACHABLE', status: 0 } });
    const live = await shows(client, ({ status }) => status === 'live');
    expect(live.error).toBeUndefined();
    expect(network.streams()).toHaveLength(4);
  });

  test.for([
    ['visibilitychange', 'document'],
    ['online', 'window'],
  ] as const)('%s connects at once when the next attempt is far away', async ([type, target]) => {
    const { url } = await serve();
    const events = {
      document: Object.assign(new EventTarget(), { visibilityState: 'visible' }),
      window: new EventTarget(),
    };
    const host = globalThis as { document?: unknown; addEventListener?: unknown };
    host.document = events.document;
    host.addEventListener = events.window.addEventListener.bind(events.window);
    try {
      const network = new Network();
      let isDown = true;
      network.before = () => {
        if (isDown) throw new TypeError('no network');
        return undefined;
      };
      const client = new ConversationClient(`${url}/sessions/ada`, { fetch: network.fetch });
      const end = client.subscribe(() => {});
      await shows(client, ({ error }) => error !== undefined);
      isDown = false;
      events[target].dispatchEvent(new Event(type));
      expect(network.streams()).toHaveLength(2); // without waiting for the timer
      await shows(client, ({ status }) => status === 'live');
      end();
      await new Promise(setImmediate);
      events[target].dispatchEvent(new Event(type));
      await new Promise(setImmediate);
      expect(network.streams()).toHaveLength(2);
    } finally {
      delete host.document;
      delete host.addEventListener;
    }
  });
});

describe('ends', () => {
  const token = 'a-token-of-twenty-characters';

  test('a refused token ends the conversation, and reconnecting with another one follows it', async () => {
    const { url } = await serve({ token });
    let current = 'wrong';
    const client = follow(`${url}/sessions/ada`, { token: () => current });
    const { error } = await shows(client, ({ status }) => status === 'ended');
    expect(error).toMatchObject({ name: 'RequestError', code: 'UNAUTHORIZED', status: 401 });
    current = token;
    client.actions.reconnect();
    expect((await shows(client, ({ status }) => status === 'live')).error).toBeUndefined();
  });

  test('a session that is deleted ends the conversation', async () => {
    const { url, send } = await serve({ heartbeatMs: 5, agents: counting });
    const client = follow(`${url}/sessions/ada`);
    await client.actions.send('Hello');
    await shows(client, ({ state }) => state.blocks.at(-1)?.status === 'complete');
    await send('DELETE', '/sessions/ada');
    const { error } = await shows(client, ({ status }) => status === 'ended');
    expect(error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('after a deletion, reconnecting drops what was shown', async () => {
    const { url, send } = await serve({ heartbeatMs: 5, agents: counting });
    const client = follow(`${url}/sessions/ada`);
    await client.actions.send('Hello');
    await shows(client, ({ state }) => state.blocks.length === 2);
    await send('DELETE', '/sessions/ada');
    await shows(client, ({ status }) => status === 'ended');
    client.actions.reconnect();
    await client.actions.send('Again');
    const again = await shows(
      client,
      (snapshot) => textsOf(snapshot)[0] === 'Again' && snapshot.state.blocks.length === 2,
    );
    expect(textsOf(again)).toEqual(['Again', 'I have read 1 messages.']);
  });

  test('a stream of something else is tried again, with an error', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    const client = follow('http://localhost/page', {
      fetch: async () => new Response('data: [DONE]\n\n', { headers }),
    });
    const { status } = await shows(client, ({ error }) => error !== undefined);
    expect(status).toBe('reconnecting');
  });
});

test('the initial state is shown until the log was read', async () => {
  const { url, json } = await serve({ agents: counting });
  const first = follow(`${url}/sessions/ada`);
  await first.actions.send('Hello');
  await shows(first, ({ state }) => state.blocks.at(-1)?.status === 'complete' && state.blocks.length === 2);
  const initial = (await json('/sessions/ada/state')) as { readonly state: unknown };
  const seen = new Set<string>();
  const client = new ConversationClient(`${url}/sessions/ada/`, { initial });
  const end = client.subscribe(() => seen.add(textsOf(client.getSnapshot()).join()));
  expect(textsOf(client.getServerSnapshot())).toEqual(['Hello', 'I have read 1 messages.']);
  await shows(client, ({ status }) => status === 'live');
  expect([...seen]).toEqual(['Hello,I have read 1 messages.']);
  end();
});

test('an error of an action is thrown to its caller and leaves the conversation as it is', async () => {
  const { url } = await serve({ agents: counting });
  const client = follow(`${url}/sessions/ada`);
  await client.actions.send('Hello', { id: 'm1' });
  await shows(client, ({ status }) => status === 'live');
  const failed = client.actions.send('Other', { id: 'm1' }).catch((error: RequestError) => error);
  expect(await failed).toMatchObject({ code: 'KEY_REUSED', status: 409, isTemporary: false });
  expect(client.getSnapshot()).toMatchObject({ status: 'live', error: undefined });
});
