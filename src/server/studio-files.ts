/**
 * Studio, the page for people: static files below `/studio/`, served beside the routes. The files hold no data of sessions, so a request for
 * them needs no token; the page sends it with every request for data.
 *
 *     /            ─▶ /studio/
 *     /studio/…    ─▶ index.html, whatever follows: the page has its own routes
 *     /studio/assets/…  hashed names, cached for ever
 */
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { HoldfastError } from '../core/errors.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing inline, nothing evaluated, nothing from elsewhere: what a model said cannot run, even if it became part of the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

interface StudioFile {
  readonly plain: Buffer<ArrayBuffer>;
  readonly gzipped: Buffer<ArrayBuffer>;
}

/** The files of one build of Studio. */
export class StudioFiles {
  readonly #directory: string;
  readonly #root: string;
  /** Every file, so that no path of a request reaches the file system. */
  readonly #names: ReadonlySet<string>;
  readonly #files = new Map<string, Promise<StudioFile>>();

  private constructor(directory: string, root: string) {
    this.#directory = directory;
    this.#root = root;
    const names = readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && TYPES[extname(entry.name)])
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
    this.#names = new Set(names.map((name) => name.replaceAll('\\', '/')));
  }

  /** `directory`: of a build, or true for the one of this package. */
  static async load(directory: true | string, basePath: string): Promise<StudioFiles> {
    const found = directory === true ? await ownStudio() : directory;
    if (!existsSync(join(found, 'index.html'))) {
      throw new HoldfastError('INVALID_ARGUMENT', `there is no Studio in ${found}: it has no index.html`);
    }
    return new StudioFiles(found, `${basePath}/studio`);
  }

  /** Whether a path is one of Studio's, so that its request needs no token. */
  static isPath(pathname: string, basePath: string): boolean {
    if (!pathname.startsWith(basePath)) return false;
    const path = pathname.slice(basePath.length);
    return path === '' || path === '/' || path === '/studio' || path.startsWith('/studio/');
  }

  /** The response to a request for one of Studio's paths. */
  async respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith(`${this.#root}/`)) {
      return new Response(null, { status: 302, headers: { location: `${this.#root}/` } });
    }
    const path = pathname.slice(this.#root.length + 1);
    const isAsset = path.startsWith('assets/');
    if (isAsset && !this.#names.has(path)) return new Response('There is no such file.', { status: 404 });
    const name = isAsset ? path : 'index.html';
    const { plain, gzipped } = await this.#file(name);
    const isGzipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
    return new Response(request.method === 'HEAD' ? null : isGzipped ? gzipped : plain, {
      headers: {
        'content-type': TYPES[extname(name)] ?? '',
        'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
        'content-security-policy': POLICY,
        'cross-origin-opener-policy': 'same-origin',
        vary: 'accept-encoding',
        ...(isGzipped && { 'content-encoding': 'gzip' }),
      },
    });
  }

  #file(name: string): Promise<StudioFile> {
    const known = this.#files.get(name);
    if (known) return known;
    const read = this.#read(name);
    this.#files.set(name, read);
    read.catch(() => this.#files.delete(name));
    return read;
  }

  async #read(name: string): Promise<StudioFile> {
    const content = await readFile(join(this.#directory, name));
    // The page is shown below any path, so it names its files from the root.
    const plain = name === 'index.html' ? Buffer.from(`${content}`.replaceAll('"./', `"${this.#root}/`)) : content;
    return { plain, gzipped: await promisify(gzip)(plain) };
  }
}

/** The build that is part of the package; from the sources of a clone, a build on demand. */
async function ownStudio(): Promise<string> {
  const { url, dirname } = import.meta;
  if (url.endsWith('.ts')) {
    const { studioOfSources } = (await import(new URL('../../studio/build.ts', url).href)) as {
      readonly studioOfSources: () => Promise<string>;
    };
    return studioOfSources();
  }
  return existsSync(join(dirname, 'studio')) ? join(dirname, 'studio') : join(dirname, '../studio');
}
