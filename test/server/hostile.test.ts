/** Hostile requests: ids, bodies, and connections that are broken or never used. Nothing breaks, leaks or is written. */
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { counting, type Served, serve, until } from './support.ts';

/** Sends bytes and returns what the server sends until it closes the connection. */
async function talk(url: string, text: string | Buffer): Promise<string> {
  const socket = dial(url);
  socket.write(text);
  let reply = '';
  socket.on('data', (chunk) => {
    reply += chunk;
  });
  await closed(socket);
  return reply;
}

/** Resolves when a connection is closed, also by a reset. */
function closed(socket: Socket): Promise<void> {
  socket.resume();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

function dial(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}

const isAlive = async (served: Served): Promise<void> => {
  expect((await served.send('GET', '/openapi.json')).status).toBe(200);
  expect(served.errors).toEqual([]);
};

describe('ids', () => {
  const ODD = [
    'a/b',
    'a b',
    '%2e%2e',
    '...',
    'a%2Fb',
    '..%2f..',
    '?x',
    '#x',
    '🙂',
    "'; drop",
    '__proto__',
    'constructor',
    '"',
    '\\',
    '<script>',
    '+',
    '&',
    '%',
  ];

  test.for(ODD)('a session called %s is one session, and no other', async (id) => {
    const served = await serve();
    const path = `/sessions/${encodeURIComponent(id)}`;
    expect((await served.send('PATCH', path, { title: id })).status).toBe(200);
    expect(await served.json(path)).toMatchObject({ id, summary: { title: id } });
    expect(await served.json(`${path}/events`)).toMatchObject({ events: [{ seq: 1 }] });
    const { sessions } = (await served.json('/sessions')) as { sessions: { id: string }[] };
    expect(sessions.map((session) => session.id)).toEqual([id]);
    expect((await served.send('DELETE', path)).status).toBe(200);
  });

  test.for(['%00', 'a%00b', '%0A', '%7F', '%ED%A0%80', '%FF', '%zz', '%', 'x'.repeat(513)])(
    'an id that cannot be one is refused: %s',
    async (id) => {
      const served = await serve();
      for (const [method, path] of [
        ['PATCH', ''],
        ['GET', ''],
        ['GET', '/stream?wait=true'],
        ['GET', '/ui-messages'],
        ['DELETE', ''],
      ] as const) {
        const response = await served.send(
          method,
          `/sessions/${id}${path}`,
          method === 'PATCH' ? { title: 'x' } : undefined,
        );
        expect(response.status, `${method} ${path}`).toBe(400);
      }
      expect(await served.json('/sessions')).toEqual({ sessions: [] });
      await isAlive(served);
    },
  );

  test('long, empty and climbing paths end in a refusal', async () => {
    const served = await serve();
    for (const path of [
      `/sessions/${'x'.repeat(10_000)}`,
      '/sessions/',
      '/sessions//stream',
      '/sessions/./stream',
      '/sessions/../../etc/passwd',
      '/sessions/%2e%2e/stream',
      '//evil.example/sessions',
      '/sessions/a/stream/',
      '/SESSIONS',
    ]) {
      const reply = await talk(served.url, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      expect(reply, path).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
    // The connection is reset, and the client may have missed the 431.
    const long = `GET /sessions/${'x'.repeat(100_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    expect(await talk(served.url, long)).toMatch(/^(?:HTTP\/1\.1 431 |$)/);
    await isAlive(served);
  });
});

describe('requests', () => {
  test.for([
    'GET http://evil.example/sessions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
    'GET /sessions HTTP/1.0\r\n\r\n',
    'GET /sessions HTTP/1.1\r\n\r\n',
    'TRACE / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
    'GET * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
    'GET /sessions HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n',
    'POST /sessions/a/inputs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'nonsense\r\n\r\n',
    '\0\0\0\0\r\n\r\n',
  ])('%j is refused', async (request) => {
    const served = await serve();
    expect(await talk(served.url, request)).toMatch(/^HTTP\/1\.1 4\d\d /);
    await isAlive(served);
  });

  test('a body that is larger than announced, too large or endless is refused', async () => {
    const served = await serve({ maxBodyBytes: 10_000 });
    const head = (more: string): string =>
      `POST /sessions/a/inputs HTTP/1.1\r\nhost: localhost\r\nx-holdfast-request: 1\r\ncontent-type: application/json\r\nconnection: close\r\n${more}\r\n\r\n`;
    expect(await talk(served.url, head('content-length: 99999999999'))).toMatch(/^HTTP\/1\.1 413 /);
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    expect(await talk(served.url, head('transfer-encoding: chunked') + chunk.repeat(50))).toMatch(/^HTTP\/1\.1 413 /);
    await isAlive(served);
    expect(await served.json('/sessions')).toEqual({ sessions: [] });
  });

  test('a body that nests deeply, and keys of the prototype, are data or refused', async () => {
    const served = await serve();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const body of [
      `{"input":${deep}}`,
      `{"input":"x","by":${deep}}`,
      `{"input":[{"type":"text","text":"x","providerData":${deep}}]}`,
    ]) {
      expect((await served.send('POST', '/sessions/a/inputs', body)).status).toBe(400);
    }
    expect((await served.send('PATCH', '/sessions/a', `{"metadata":{"x":${deep}}}`)).status).toBe(400);
    expect(
      (
        await served.send(
          'GET',
          `/sessions?metadata=${encodeURIComponent(`{"x":${'['.repeat(2000)}${']'.repeat(2000)}}`)}`,
        )
      ).status,
    ).toBe(200);
    await served.send('PATCH', '/sessions/a', '{"metadata":{"__proto__":{"polluted":1},"constructor":1}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    await isAlive(served);
  });

  test('requests that are aborted half-way leave nothing behind', async () => {
    const served = await serve({ agents: counting });
    const head =
      'POST /sessions/a/inputs HTTP/1.1\r\nhost: localhost\r\nx-holdfast-request: 1\r\ncontent-type: application/json\r\n';
    for (const text of [
      'GET /sess',
      head,
      `${head}content-length: 100\r\n\r\n{"input":`,
      `${head}transfer-encoding: chunked\r\n\r\n5\r\n{"inp`,
    ]) {
      const socket = dial(served.url);
      socket.write(text);
      await new Promise((resolve) => setTimeout(resolve, 5));
      socket.destroy();
    }
    await until(() => served.server.stats().connections === 0);
    expect(await served.json('/sessions')).toEqual({ sessions: [] });
    await isAlive(served);
  });

  test('a request that does not arrive in time is closed', async () => {
    const served = await serve({}, { requestTimeoutMs: 50 });
    const sockets = [dial(served.url), dial(served.url), dial(served.url)];
    sockets[1]?.write('GET /sessions HTTP/1.1\r\nhost: loc');
    sockets[2]?.write(
      'POST /sessions/a/stop HTTP/1.1\r\nhost: localhost\r\nx-holdfast-request: 1\r\ncontent-length: 9\r\n\r\n{',
    );
    await Promise.all(sockets.slice(1).map(closed));
    sockets[0]?.destroy();
    await isAlive(served);
  });
});

describe('connections', () => {
  test('a thousand connections that are opened and abandoned are all dropped', async () => {
    const store = memoryStore();
    const served = await serve({ store });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    for (let round = 0; round < 10; round++) {
      const sockets = Array.from({ length: 100 }, () => dial(served.url));
      for (const [i, socket] of sockets.entries()) {
        if (i % 3 === 0) socket.write('GET /sessions/a/stream HTTP/1.1\r\nhost: localhost\r\n\r\n');
        if (i % 3 === 1) socket.write('GET /sessions HTTP/1.1\r\nhost: lo');
      }
      await until(() => served.server.stats().streams >= 30);
      for (const socket of sockets) socket.destroy();
      await until(() => served.server.stats().streams === 0);
    }
    await until(() => served.server.stats().connections <= 1); // that of the first request
    expect(served.server.stats()).toMatchObject({ streams: 0, bufferedBytes: 0, sessions: 1 });
    await isAlive(served);
  });

  test('streams that are requested one after another on a single connection end with it', async () => {
    const served = await serve({}, { stallMs: 50 });
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const socket = dial(served.url);
    socket.write('GET /sessions/a/stream HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(40));
    await until(() => served.server.stats().streams > 10);
    socket.destroy();
    await until(() => served.server.stats().streams === 0);
    await isAlive(served);
  });

  test('more connections than allowed are closed', async () => {
    const served = await serve({}, { maxConnections: 5 });
    const sockets = Array.from({ length: 10 }, () => dial(served.url));
    let closed = 0;
    for (const socket of sockets) socket.once('close', () => closed++);
    await until(() => closed === 5);
    expect(served.server.stats().connections).toBe(5);
    for (const socket of sockets) socket.destroy();
    await until(() => served.server.stats().connections === 0);
    await isAlive(served);
  });

  test('text of a model is data: it is never a field, a header or a page', async () => {
    const served = await serve();
    const text = '\n\nevent: end\ndata: {}\n\n<script>alert(1)</script>\r\nid: 99\u2028';
    await served.send('POST', '/sessions/a/inputs', { input: text, id: 'm1' });
    const response = await fetch(`${served.url}/sessions/a/stream`);
    let read = '';
    for await (const chunk of response.body ?? []) {
      read += new TextDecoder().decode(chunk);
      if (read.includes('event: live')) break;
    }
    const lines = read.split('\n').filter((line) => line !== '');
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual(['retry', 'id', 'data', 'event', 'data']);
    expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '').event.content[0].text).toBe(text);
    for (const title of ['"\r\nset-cookie: x=1', '../../x']) {
      const exported = await served.send('GET', `/sessions/a/export?format=html&title=${encodeURIComponent(title)}`);
      expect(exported.headers.get('set-cookie')).toBeNull();
      expect(exported.headers.get('content-disposition')).toBe('attachment; filename="conversation.html"');
      expect(await exported.text()).not.toContain('<script>alert');
    }
  });
});
