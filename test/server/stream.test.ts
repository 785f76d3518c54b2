/** The live stream: its format, its cursor, and readers that are slow, silent or gone (D74). */
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createAgent, memoryStore, openSession, type Store, type TailItem } from '../../src/index.ts';
import { withChanges } from '../session/stores.ts';
import { opened } from '../session/tail/draft-chunks.ts';
import { chat, codeOf, counting, HeldModel, readUntil, type SseMessage, serve, sseMessages, until } from './support.ts';

const isLive = ({ event }: SseMessage): boolean => event === 'live';
const itemsOf = (messages: readonly SseMessage[]): readonly TailItem[] =>
  messages.flatMap(({ event, data }) => (event === undefined && data !== undefined ? [JSON.parse(data)] : []));

async function follow(url: string, headers: Record<string, string> = {}) {
  const stop = new AbortController();
  const response = await fetch(url, { headers, signal: stop.signal });
  const messages = sseMessages(response);
  return {
    response,
    messages,
    read: (fits: (message: SseMessage) => boolean) => readUntil(messages, fits),
    stop: () => stop.abort(),
  };
}

/** A store that counts who watches it. */
function watchedStore(store: Store = memoryStore()): { readonly store: Store; readonly watched: { now: number } } {
  const watched = { now: 0 };
  const watch: Store['watch'] = (...args) => {
    watched.now++;
    const stop = store.watch(...args);
    return () => {
      watched.now--;
      stop();
    };
  };
  return { watched, store: withChanges(store, { watch }) };
}

describe('the format', () => {
  test('it begins with retry, then items with their cursors, then live; drafts follow as they are written', async () => {
    const model = new HeldModel();
    const served = await serve({ agents: () => createAgent({ model, prompt: chat }) });
    await served.send('POST', '/sessions/a/inputs', { input: 'Hello', id: 'm1' });
    model.say('One ');
    await until(async () => (await served.store.readDraft('a')).length > 0);
    const reader = await follow(`${served.url}/sessions/a/stream`);
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const caughtUp = await reader.read(isLive);
    expect(caughtUp[0]).toEqual({ retry: '1000' });
    expect(caughtUp.at(-1)).toEqual({ event: 'live', data: '{"seq":4}' });
    const items = itemsOf(caughtUp);
    expect(items.map(({ event }) => event.type)).toEqual([
      'input/queued',
      'evaluation/started',
      'message/recorded',
      'message/recorded',
    ]);
    for (const { id, data } of caughtUp) if (id !== undefined) expect(JSON.parse(data ?? '').cursor).toBe(id);
    const [draft] = itemsOf(await reader.read(({ id }) => id?.includes('.') === true));
    expect(draft?.event).toMatchObject({ type: 'message/delta', delta: 'One ', offset: 0 });
    model.say('two.');
    model.say(undefined);
    const rest = itemsOf(await reader.read(({ data }) => data?.includes('evaluation/completed') === true));
    expect(rest.at(-1)).toMatchObject({ cursor: '6', event: { type: 'evaluation/completed' } });
    reader.stop();
  });

  test('Last-Event-ID continues after an item and wins over after; a reader that has everything is live at once', async () => {
    const served = await serve({ agents: counting });
    await served.send('POST', '/sessions/a/inputs', { input: 'Hello' });
    await until(async () => (await served.json('/sessions/a')).seq === 6);
    const seqs = async (query: string, headers: Record<string, string> = {}): Promise<readonly string[]> => {
      const reader = await follow(`${served.url}/sessions/a/stream${query}`, headers);
      const messages = await reader.read(isLive);
      reader.stop();
      return messages.map(({ id, event, retry }) => id ?? event ?? `retry ${retry}`);
    };
    expect(await seqs('?after=4')).toEqual(['retry 1000', '5', '6', 'live']);
    expect(await seqs('?after=1', { 'last-event-id': '5' })).toEqual(['retry 1000', '6', 'live']);
    expect(await seqs('', { 'last-event-id': '6' })).toEqual(['retry 1000', 'live']);
    expect(await seqs('?after=0')).toHaveLength(8);
    const beyond = await follow(`${served.url}/sessions/a/stream?after=99`);
    expect(itemsOf(await beyond.read(isLive))[0]).toEqual({ cursor: '0', event: { type: 'session/reset' } });
    beyond.stop();
  });

  test('wait follows a session that does not exist yet; without it there is none', async () => {
    const served = await serve();
    expect(await codeOf(await fetch(`${served.url}/sessions/new/stream`))).toBe('404 SESSION_NOT_FOUND');
    const reader = await follow(`${served.url}/sessions/new/stream?wait=true`);
    await reader.read(isLive);
    await served.send('POST', '/sessions/new/inputs', { input: 'Hello' });
    expect(itemsOf(await reader.read(({ id }) => id === '1'))).toMatchObject([{ event: { type: 'input/queued' } }]);
    reader.stop();
  });

  test('a silent session has heartbeats, as comments', async () => {
    const served = await serve({ heartbeatMs: 5 });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const reader = await follow(`${served.url}/sessions/a/stream`);
    const messages = await reader.read(({ comment }) => comment !== undefined);
    expect(messages.at(-1)).toEqual({ comment: 'heartbeat' });
    reader.stop();
  });

  test('HEAD opens no stream', async () => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    expect((await fetch(`${served.url}/sessions/a/stream`, { method: 'HEAD' })).status).toBe(405);
    expect((await fetch(`${served.url}/sessions`, { method: 'HEAD' })).status).toBe(200);
    expect(served.server.stats().streams).toBe(0);
  });
});

describe('the end', () => {
  test('a session that is deleted ends its streams with an error; a new one with its id resets the reader', async () => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const reader = await follow(`${served.url}/sessions/a/stream`);
    await reader.read(isLive);
    await served.send('DELETE', '/sessions/a');
    const [end] = await reader.read(({ event }) => event === 'end');
    expect(JSON.parse(end?.data ?? '')).toMatchObject({ error: { code: 'SESSION_NOT_FOUND' } });
    expect(await reader.messages.next()).toEqual({ done: true, value: undefined });
    await served.send('PATCH', '/sessions/a', { title: 'b' });
    const again = await follow(`${served.url}/sessions/a/stream?after=1`);
    expect(itemsOf(await again.read(isLive))).toMatchObject([
      { cursor: '2:0', event: { type: 'session/reset' } },
      { cursor: '2:1', event: { type: 'session/described', title: 'b' } },
    ]);
    again.stop();
    expect(served.errors).toEqual([]);
  });

  test('a session that is deleted and begins again at once ends its streams without an error, and resets the reader', async () => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const reader = await follow(`${served.url}/sessions/a/stream`);
    await reader.read(isLive);
    const { store } = served;
    const event = { type: 'session/described', at: new Date(0).toISOString(), title: 'b' } as never;
    await store.deleteSession('a');
    await store.append('a', [event], { id: 'begun', expectedSeq: 0 });
    expect(await reader.read(() => false)).toEqual([]);
    const again = await follow(`${served.url}/sessions/a/stream?after=1`);
    expect(itemsOf(await again.read(isLive))).toMatchObject([
      { cursor: '2:0', event: { type: 'session/reset' } },
      { cursor: '2:1', event: { type: 'session/described', title: 'b' } },
    ]);
    again.stop();
    expect(served.errors).toEqual([]);
  });

  test('a store that is closed ends the streams with an error', async () => {
    const served = await serve({ heartbeatMs: 20 });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const reader = await follow(`${served.url}/sessions/a/stream`);
    await reader.read(isLive);
    await served.store.close();
    const messages = await reader.read(({ event }) => event === 'end');
    expect(JSON.parse(messages.at(-1)?.data ?? '')).toMatchObject({ error: { code: 'SESSION_CLOSED' } });
    await until(() => served.server.stats().streams === 0);
  });

  test('a server that closes ends its streams without an error, so that readers reconnect', async () => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const reader = await follow(`${served.url}/sessions/a/stream`);
    await reader.read(isLive);
    await served.server.close();
    expect(await reader.read(() => false)).toEqual([]);
    expect(served.server.stats()).toEqual({ connections: 0, streams: 0, bufferedBytes: 0, sessions: 0, runners: 0 });
  });

  test('a reader that leaves ends its tail: its session is not kept, and nothing watches the store', async () => {
    const { store, watched } = watchedStore();
    const served = await serve({ store });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const readers = await Promise.all(Array.from({ length: 20 }, () => follow(`${served.url}/sessions/a/stream`)));
    await Promise.all(readers.map((reader) => reader.read(isLive)));
    expect(served.server.stats()).toMatchObject({ streams: 20, sessions: 1 });
    expect(watched.now).toBe(1);
    for (const reader of readers) reader.stop();
    await until(() => served.server.stats().streams === 0 && watched.now === 0);
  });

  test('no more streams than allowed are open', async () => {
    const served = await serve({ maxStreams: 2 });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const [first, second] = [
      await follow(`${served.url}/sessions/a/stream`),
      await follow(`${served.url}/sessions/a/stream`),
    ];
    const third = await fetch(`${served.url}/sessions/a/stream`);
    expect(third.headers.get('retry-after')).toBe('5');
    expect(await codeOf(third)).toBe('503 TOO_MANY_STREAMS');
    first.stop();
    second.stop();
    await until(() => served.server.stats().streams === 0);
    const fourth = await follow(`${served.url}/sessions/a/stream`);
    await fourth.read(isLive);
    fourth.stop();
  });
});

test('D62: a reader that missed dropped progress gets a reset, although others at its cursor need none', async () => {
  const served = await serve();
  const { session, writer } = await opened(served.store);
  const path = `${served.url}/sessions/s/stream`;
  const steady = await follow(path);
  await steady.read(isLive);
  const cut = await follow(path);
  await cut.read(isLive);
  await writer.progress('a'.repeat(100), 0);
  const cursor = (await cut.read(({ id }) => id === '2.1.1')).at(-1)?.id ?? '';
  cut.stop();
  for (let i = 0; i < 4; i++) await writer.progress('b'.repeat(30_000), 100 + i * 30_000);
  await steady.read(({ id }) => id === '2.1.5');
  await session.append([{ type: 'note/added' }]);
  await writer.text('words');
  await writer.progress('c'.repeat(60_000), 120_100);
  await steady.read(({ id }) => id === '3.1.7');
  const back = await follow(path, { 'last-event-id': cursor });
  const items = itemsOf(await back.read(({ id }) => id === '3.1.7'));
  expect(items.map(({ event }) => event.type)).toEqual(['note/added', 'message/delta', 'draft/reset', 'tool/progress']);
  back.stop();
  steady.stop();
});

describe('slow, silent and half-open readers', () => {
  const EVENT = 10_000;
  const EVENTS = 3000;

  /** A session with a log that no socket buffer can hold, in a store that counts what is read of it. */
  async function longSession() {
    const memory = memoryStore();
    const read = { events: 0 };
    const store = withChanges(memory, {
      async *read(...args) {
        for await (const event of memory.read(...args)) {
          read.events++;
          yield event;
        }
      },
    });
    const session = await openSession({ store: memory, id: 'long' });
    const events = Array.from({ length: 300 }, (_, i) => ({ type: 'note/added', i, text: 'x'.repeat(EVENT) }));
    for (let i = 0; i < EVENTS / 300; i++) await session.append(events);
    await session.close();
    return { store, read };
  }

  /** A connection that asks for a stream and reads nothing. */
  function silent(url: string): Socket {
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.pause();
    socket.on('error', () => {});
    socket.write('GET /sessions/long/stream HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    return socket;
  }

  test('a reader that takes nothing is read for no further than its buffers, and is disconnected', async () => {
    const { store: long, read } = await longSession();
    let heads = 0;
    const head: Store['head'] = (id) => {
      heads++;
      return long.head(id);
    };
    const { store, watched } = watchedStore(withChanges(long, { head }));
    const served = await serve({ store }, { stallMs: 300 });
    await served.json('/sessions/long'); // opens the session: it is folded once
    read.events = 0;
    heads = 0;
    const sockets = Array.from({ length: 5 }, () => silent(served.url));
    let buffered = 0;
    await until(() => {
      buffered = Math.max(buffered, served.server.stats().bufferedBytes);
      // Each stream looks at the head three times: for its session, when it starts, and for its tail.
      return heads === 15 && served.server.stats().streams === 0;
    });
    // At most one page of events is read ahead for each reader, and a few messages wait in its buffer.
    expect(buffered).toBeLessThan(5 * 10 * EVENT);
    expect(read.events).toBeLessThan(5 * EVENTS);
    expect(served.server.stats().bufferedBytes).toBe(0);
    await until(() => watched.now === 0);
    for (const socket of sockets) socket.destroy();
  });

  test('a slow reader costs no memory while it reads, and gets everything', async () => {
    const { store } = await longSession();
    const served = await serve({ store });
    const reader = await follow(`${served.url}/sessions/long/stream`);
    let buffered = 0;
    let count = 0;
    for await (const { id, event } of { [Symbol.asyncIterator]: () => reader.messages }) {
      if (id !== undefined) count++;
      if (count % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      buffered = Math.max(buffered, served.server.stats().bufferedBytes);
      if (event === 'live') break;
    }
    expect(count).toBe(EVENTS);
    expect(buffered).toBeLessThan(10 * EVENT);
    reader.stop();
  });

  test('a reader that stops for a while loses its place among the others, and still gets everything, in order', async () => {
    const { store, watched } = watchedStore();
    const served = await serve({ store });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const session = await openSession({ store: served.store, id: 'a' });
    const [slow, fast] = [
      await follow(`${served.url}/sessions/a/stream`),
      await follow(`${served.url}/sessions/a/stream`),
    ];
    await Promise.all([slow.read(isLive), fast.read(isLive)]);
    const events = Array.from({ length: 100 }, () => ({ type: 'note/added', text: 'x'.repeat(EVENT) }));
    for (let i = 0; i < 20; i++) {
      await session.append(events);
      await fast.read(({ id }) => id === String(1 + (i + 1) * 100));
    }
    await session.append([{ type: 'note/last' }]);
    const read = itemsOf(await slow.read(({ data }) => data?.includes('note/last') === true));
    expect(read.map(({ cursor }) => cursor)).toEqual(Array.from({ length: 2001 }, (_, i) => String(i + 2)));
    expect(itemsOf(await fast.read(({ data }) => data?.includes('note/last') === true))).toHaveLength(1);
    // Both have caught up: they share one tail again.
    await session.append([{ type: 'note/more' }]);
    for (const reader of [slow, fast]) {
      expect(itemsOf(await reader.read(({ id }) => id !== undefined))).toMatchObject([
        { event: { type: 'note/more' } },
      ]);
    }
    expect(watched.now).toBe(1);
    for (const reader of [slow, fast]) reader.stop();
    await until(() => watched.now === 0);
  });

  test('a half-open reader of a busy session does not hold up the others', async () => {
    const { store } = await longSession();
    const model = new HeldModel();
    const served = await serve({ store, agents: () => createAgent({ model, prompt: chat }) }, { stallMs: 60_000 });
    const sockets = Array.from({ length: 20 }, () => silent(served.url));
    await until(() => served.server.stats().streams === 20);
    await served.send('POST', '/sessions/long/inputs', { input: 'Hello' });
    model.say('Done.');
    model.say(undefined);
    const reader = await follow(`${served.url}/sessions/long/stream?after=${EVENTS}`);
    const items = itemsOf(await reader.read(({ data }) => data?.includes('evaluation/completed') === true));
    expect(items.at(-1)?.event.type).toBe('evaluation/completed');
    reader.stop();
    for (const socket of sockets) socket.destroy();
    await until(() => served.server.stats().streams === 0);
  });
});
