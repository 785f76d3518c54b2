/** Studio's files beside the routes: addresses, caching, the policy, and who may read them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { createServer, type HoldfastServer } from '../../src/server.ts';

const PAGE = '<!doctype html><script type="module" src="./assets/index-1.js"></script>';
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-studio-files-'));
  mkdirSync(join(directory, 'assets'));
  writeFileSync(join(directory, 'index.html'), PAGE);
  writeFileSync(join(directory, 'assets/index-1.js'), 'export {};');
  writeFileSync(join(directory, 'assets/secret.txt'), 'not a type that a page loads');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function withServer(
  options: { readonly token?: string; readonly basePath?: string },
  body: (get: (path: string, init?: RequestInit) => Promise<Response>, server: HoldfastServer) => Promise<void>,
): Promise<void> {
  const store = memoryStore();
  const server = createServer({ store, studio: directory, ...options });
  await body((path, init) => server.fetch(new Request(`http://127.0.0.1${path}`, init)), server);
  await server.close();
  await store.close();
}

describe('the addresses of Studio', () => {
  test('/ leads to /studio/, and every path below it that is no asset is the page', async () => {
    await withServer({}, async (get) => {
      for (const path of ['/', '/studio']) {
        const response = await get(path);
        expect([response.status, response.headers.get('location')]).toEqual([302, '/studio/']);
      }
      for (const path of ['/studio/', '/studio/inbox', '/studio/sessions/a%2Fb/record', '/studio/../studio/x']) {
        const response = await get(path);
        expect(response.status).toBe(200);
        expect(await response.text()).toContain('src="/studio/assets/index-1.js"');
        expect(response.headers.get('cache-control')).toBe('no-cache');
      }
    });
  });

  test('assets are cached for ever; files that do not exist, and paths out of the folder, are 404 or the page', async () => {
    await withServer({}, async (get) => {
      const asset = await get('/studio/assets/index-1.js');
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      for (const path of [
        'assets/other.js',
        'assets/secret.txt',
        'assets/..%2Findex.html',
        'assets/%2e%2e%2f%2e%2e%2fpackage.json',
      ]) {
        expect((await get(`/studio/${path}`)).status).toBe(404);
      }
    });
  });

  test('a base path stands before them', async () => {
    await withServer({ basePath: '/holdfast' }, async (get) => {
      expect((await get('/holdfast')).headers.get('location')).toBe('/holdfast/studio/');
      expect(await (await get('/holdfast/studio/inbox')).text()).toContain('src="/holdfast/studio/assets/index-1.js"');
      expect((await get('/studio/')).status).toBe(404);
    });
  });

  test('a client that accepts gzip gets gzip', async () => {
    await withServer({}, async (get) => {
      const response = await get('/studio/', { headers: { 'accept-encoding': 'br, gzip' } });
      expect(response.headers.get('content-encoding')).toBe('gzip');
      const stream = response.body?.pipeThrough(new DecompressionStream('gzip'));
      expect(await new Response(stream).text()).toContain('<!doctype html>');
    });
  });
});

describe('who may read them', () => {
  test('the files need no token, the data does', async () => {
    await withServer({ token: 'a token of sixteen' }, async (get) => {
      expect((await get('/studio/')).status).toBe(200);
      expect((await get('/sessions')).status).toBe(401);
    });
  });

  test('a host that is not served and a page of another origin are refused', async () => {
    await withServer({}, async (get, server) => {
      expect((await server.fetch(new Request('http://evil.example/studio/'))).status).toBe(403);
      expect((await get('/studio/assets/index-1.js', { headers: { origin: 'https://evil.example' } })).status).toBe(
        403,
      );
    });
  });

  test('the policy allows nothing inline, nothing evaluated and no other host, and no page may frame it', async () => {
    await withServer({}, async (get) => {
      const { headers } = await get('/studio/');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
      expect(policy).not.toContain('unsafe');
      expect(policy).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    });
  });

  test('without the option there is no Studio, and a folder without a build is refused when the server listens', async () => {
    const store = memoryStore();
    const without = createServer({ store });
    expect((await without.fetch(new Request('http://127.0.0.1/studio/'))).status).toBe(404);
    await without.close();
    const empty = createServer({ store, studio: join(directory, 'assets') });
    await expect(empty.listen()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await empty.close();
    await store.close();
  });
});
