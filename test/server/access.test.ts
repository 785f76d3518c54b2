/** Who may use the server: addresses, tokens, hosts, origins, and no action by a foreign page. */
import { request as httpRequest } from 'node:http';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { codeOf, JSON_HEADERS, readUntil, serve, sseMessages } from './support.ts';

const TOKEN = 'a-token-of-this-test-only';

interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A request with headers that `fetch` does not allow, such as `Host` and `Origin`. */
function raw(
  url: string,
  options: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: options.method ?? 'GET', headers: options.headers ?? {} }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on('error', reject);
    sent.end(options.body);
  });
}

const refused = ({ status, body }: RawResponse): string => `${status} ${JSON.parse(body).error.code}`;

describe('addresses', () => {
  test('it binds to loopback by default', async () => {
    const { url } = await serve();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  test.for(['0.0.0.0', '::', '192.168.1.1', 'example.com'])('on %s it needs a token', async (host) => {
    const server = createServer({ store: memoryStore() });
    await expect(server.listen({ host })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('token'),
    });
  });

  test.for(['::1', 'localhost', '127.0.0.1'])('on %s it needs none', async (host) => {
    const { url } = await serve({}, { host });
    expect((await fetch(`${url}/sessions`)).status).toBe(200);
  });

  test('with a token it serves the address that a client connects to, and no host name', async () => {
    const { url } = await serve({ token: TOKEN }, { host: '0.0.0.0' });
    const { port } = new URL(url);
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await raw(`${url}/sessions`, { headers })).status).toBe(200);
    for (const address of ['127.0.0.1', '127.0.0.2']) {
      expect((await raw(`http://${address}:${port}/sessions`, { headers })).status).toBe(200);
      expect(refused(await raw(`http://${address}:${port}/sessions`))).toBe('401 UNAUTHORIZED');
    }
    const named = { ...headers, host: 'rebound.example' };
    expect(refused(await raw(`http://127.0.0.1:${port}/sessions`, { headers: named }))).toBe('403 HOST_FORBIDDEN');
  });
});

describe('tokens', () => {
  test('no route works without the token, with a wrong one, or with one at the wrong place', async () => {
    const { url } = await serve({ token: TOKEN });
    const routes = ['/sessions', '/sessions/a', '/sessions/a/stream', '/openapi.json', '/nothing'];
    for (const route of routes) {
      for (const authorization of [
        '',
        `Bearer ${TOKEN}x`,
        'Bearer ',
        `Basic ${TOKEN}`,
        TOKEN,
        `Bearer ${TOKEN.slice(1)}`,
      ]) {
        const response = await fetch(`${url}${route}`, { headers: authorization ? { authorization } : {} });
        expect(await codeOf(response), `${route} ${authorization}`).toBe('401 UNAUTHORIZED');
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
      }
    }
    expect(await codeOf(await fetch(`${url}/sessions?token=${TOKEN}`))).toBe('401 UNAUTHORIZED');
    const posted = await fetch(`${url}/sessions/a/inputs?token=${TOKEN}`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: '{}',
    });
    expect(await codeOf(posted)).toBe('401 UNAUTHORIZED');
    expect((await fetch(`${url}/sessions`, { headers: { authorization: `bearer ${TOKEN}` } })).status).toBe(200);
  });

  test('a stream takes the token from its query, because EventSource sends no headers', async () => {
    const { url, server } = await serve({ token: TOKEN });
    const response = await fetch(`${url}/sessions/a/stream?wait=true&token=${TOKEN}`);
    expect(response.status).toBe(200);
    await readUntil(sseMessages(response), ({ event }) => event === 'live');
    expect(server.stats().streams).toBeLessThanOrEqual(1);
    expect(await codeOf(await fetch(`${url}/sessions/a/stream?wait=true&token=${TOKEN}x`))).toBe('401 UNAUTHORIZED');
  });

  test('authorize decides in the place of a token', async () => {
    const { url } = await serve({ authorize: async (request) => request.headers.get('cookie') === 'user=ada' });
    expect(await codeOf(await fetch(`${url}/sessions`))).toBe('401 UNAUTHORIZED');
    expect((await fetch(`${url}/sessions`, { headers: { cookie: 'user=ada' } })).status).toBe(200);
  });

  test('an authorize that throws refuses, and is reported', async () => {
    const { url, errors } = await serve({
      authorize: () => {
        throw new Error('the login is down');
      },
    });
    expect(await codeOf(await fetch(`${url}/sessions`))).toBe('500 INTERNAL');
    expect(errors).toMatchObject([{ message: 'the login is down' }]);
  });
});

describe('hosts', () => {
  test.for([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '[::2]',
  ])('a request that names the host %s is refused', async (host) => {
    const { url } = await serve();
    expect(refused(await raw(`${url}/sessions`, { headers: { host } }))).toBe('403 HOST_FORBIDDEN');
  });

  test.for(['a b', 'user@127.0.0.1', '127.0.0.1/path', '127.0.0.1?x', '%31', '127.0.0.1:99999'])(
    'a host that is none is refused: "%s"',
    async (host) => {
      const { url } = await serve();
      expect((await raw(`${url}/sessions`, { headers: { host } })).status).toBeGreaterThanOrEqual(400);
    },
  );

  test('loopback names and those of the option are served', async () => {
    const { url } = await serve({ hosts: ['app.example'] });
    for (const host of ['localhost', '127.0.0.1:1', '[::1]:9', 'app.example', 'APP.example:443']) {
      expect((await raw(`${url}/sessions`, { headers: { host } })).status, host).toBe(200);
    }
  });
});

describe('origins', () => {
  test('a foreign page can neither read nor act, whatever it sends', async () => {
    const served = await serve();
    await served.send('PATCH', '/sessions/a', { title: 'a' });
    const { host } = new URL(served.url);
    const foreign = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://${host}.evil.example` },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
    ];
    for (const headers of foreign) {
      for (const path of ['/sessions', '/sessions/a/stream', '/openapi.json']) {
        expect(refused(await raw(`${served.url}${path}`, { headers }))).toBe('403 ORIGIN_FORBIDDEN');
      }
      const posted = { method: 'POST', headers: { ...headers, ...JSON_HEADERS }, body: '{"input":"Hi"}' };
      const response = await raw(`${served.url}/sessions/a/inputs`, posted);
      expect(refused(response)).toBe('403 ORIGIN_FORBIDDEN');
      expect(response.headers['access-control-allow-origin']).toBeUndefined();
    }
    expect(await served.json('/sessions/a/queue')).toEqual({ inputs: [] });
  });

  test('no form of another site acts, even where the browser names no origin', async () => {
    const served = await serve();
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain', 'application/json']) {
      const options = { method: 'POST', headers: { 'content-type': type }, body: '{"input":"Hi"}' };
      expect(refused(await raw(`${served.url}/sessions/a/inputs`, options))).toBe('403 HEADER_MISSING');
    }
    expect(refused(await raw(`${served.url}/sessions/a`, { method: 'DELETE' }))).toBe('403 HEADER_MISSING');
    expect(await served.json('/sessions')).toEqual({ sessions: [] });
  });

  test('a preflight of a foreign page is refused, one of a listed origin is not', async () => {
    const { url } = await serve({ origins: ['http://localhost:5173'] });
    const preflight = (origin: string): Promise<RawResponse> =>
      raw(`${url}/sessions/a/inputs`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-holdfast-request,x-of-the-app',
        },
      });
    expect(refused(await preflight('https://evil.example'))).toBe('403 ORIGIN_FORBIDDEN');
    const allowed = await preflight('http://localhost:5173');
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': 'http://localhost:5173',
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers': 'x-holdfast-request,x-of-the-app',
      vary: 'origin',
    });
    const read = await raw(`${url}/sessions`, {
      headers: { origin: 'http://localhost:5173', 'sec-fetch-site': 'same-site' },
    });
    expect(read).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': 'http://localhost:5173' } });
    expect(read.headers['access-control-allow-credentials']).toBe('true');
  });

  test('cookies are allowed for listed origins only: no other response names them, and no origin is *', async () => {
    const { url } = await serve({ origins: ['http://localhost:5173'] });
    for (const headers of [{}, { origin: url }, { origin: 'https://evil.example' }, { origin: 'null' }]) {
      const { headers: received } = await raw(`${url}/sessions`, { headers });
      expect(received['access-control-allow-credentials']).toBeUndefined();
      expect(received['access-control-allow-origin']).toBeUndefined();
    }
    expect(() => createServer({ store: memoryStore(), origins: ['*'] })).toThrow('is not an origin');
  });

  test('a page of the same host, and a person who opens the address, may read', async () => {
    const { url } = await serve();
    const own = { origin: url, 'sec-fetch-site': 'same-origin' };
    expect((await raw(`${url}/sessions`, { headers: own })).status).toBe(200);
    const opened = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect((await raw(`${url}/sessions`, { headers: opened })).status).toBe(200);
  });
});

test('every response has the security headers, also an error', async () => {
  const { url } = await serve();
  for (const path of ['/sessions', '/nothing', '/sessions/none/stream']) {
    const { headers } = await fetch(`${url}${path}`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'content-type': expect.stringContaining('application/json'),
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
  }
});

test('options that cannot work are refused', () => {
  const store = memoryStore();
  for (const options of [
    { store: undefined },
    { store, token: 'short' },
    { store, token: TOKEN, authorize: () => true },
    { store, origins: ['localhost:5173'] },
    { store, origins: ['http://localhost:5173/'] },
    { store, hosts: ['http://app.example'] },
    { store, hosts: ['app.example:80'] },
    { store, basePath: 'holdfast' },
    { store, maxStreams: 0 },
    { store, heartbeatMs: -1 },
    { store, tokn: TOKEN },
  ]) {
    expect(() => createServer(options as never), JSON.stringify(options)).toThrowError(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  }
});

test('it is a part of an app: fetch handles whole paths below its base path', async () => {
  const server = createServer({ store: memoryStore(), basePath: '/api/holdfast' });
  const app = new Hono();
  app.get('/', (c) => c.text('the app'));
  app.all('/api/holdfast/*', (c) => server.fetch(c.req.raw));
  const patched = await app.request('/api/holdfast/sessions/a%2Fb', {
    method: 'PATCH',
    headers: JSON_HEADERS,
    body: '{"title":"T"}',
  });
  expect(patched.status).toBe(200);
  expect(await (await app.request('/api/holdfast/sessions/a%2Fb')).json()).toMatchObject({ id: 'a/b' });
  expect(await codeOf(await app.request('/api/holdfast/none'))).toBe('404 ROUTE_NOT_FOUND');
  expect(await (await app.request('/')).text()).toBe('the app');
  expect(await codeOf(await server.fetch(new Request('http://evil.example/api/holdfast/sessions')))).toBe(
    '403 HOST_FORBIDDEN',
  );
  await server.close();
});
