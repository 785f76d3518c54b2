/**
 * Which requests the server accepts, before any route sees them: the host that they name, the page that they come from, the token.
 *
 *     host ─▶ origin ─▶ (preflight) ─▶ token ─▶ header of acting requests ─▶ the route
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { HttpError } from './http/http-error.ts';
import type { ServerOptions } from './server-options.ts';

/** The header that every acting request carries: a browser does not send it across sites without a preflight. */
export const ACTING_HEADER = 'x-holdfast-request';

/** The local address of the connection that a request came on, if this server listens itself. */
const CONNECTIONS = new WeakMap<Request, string>();

/** Notes the address that a client connected to: requests may name it as their host. */
export function noteLocalAddress(request: Request, address: string | undefined): void {
  if (address !== undefined) CONNECTIONS.set(request, address.replace(/^::ffff:/, ''));
}

const KNOWN_HEADERS = `authorization, content-type, last-event-id, ${ACTING_HEADER}`;
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Decides about requests. */
export class Access {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #token: Buffer | undefined;
  readonly #authorize: ServerOptions['authorize'];

  constructor({ hosts = [], origins = [], token, authorize }: ServerOptions) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(origins);
    this.#token = token === undefined ? undefined : digest(token);
    this.#authorize = authorize;
  }

  /** Throws an `HttpError` unless the request may pass. `takesQueryToken`: its route is one that `EventSource` reads. */
  async check(request: Request, takesQueryToken: boolean): Promise<void> {
    this.checkSender(request);
    if (request.method === 'OPTIONS') return; // a preflight carries no token; no route has this method
    await this.#checkToken(request, takesQueryToken);
    if (!READS.has(request.method) && request.headers.get(ACTING_HEADER) !== '1') {
      throw new HttpError('HEADER_MISSING', `an acting request needs the header ${ACTING_HEADER}: 1; add it`);
    }
  }

  /** The host and the page of a request alone, for files that hold no data. */
  checkSender(request: Request): void {
    this.#checkHost(request);
    this.#checkOrigin(request);
  }

  /** The headers of every response to this request. */
  headers(request: Request): Readonly<Record<string, string>> {
    const origin = request.headers.get('origin');
    const always = { ...SECURITY_HEADERS, ...(this.#origins.size > 0 && { vary: 'origin' }) };
    if (origin === null || !this.#origins.has(origin)) return always;
    return {
      ...always,
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true', // for cookies that `authorize` reads
      'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? KNOWN_HEADERS,
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-max-age': '600',
    };
  }

  #checkHost(request: Request): void {
    const named = [new URL(request.url).host, request.headers.get('host')].filter((host) => host !== null);
    for (const host of named) {
      const name = hostNameOf(host);
      if (name !== undefined && this.#isServed(name, CONNECTIONS.get(request))) continue;
      throw new HttpError(
        'HOST_FORBIDDEN',
        'this server does not serve the host that the request names; add it to hosts',
      );
    }
  }

  #isServed(name: string, localAddress: string | undefined): boolean {
    return isLoopback(name) || name === localAddress || this.#hosts.has(name);
  }

  /** Pages of the same host and of the listed origins may use the server; a browser names the page of a request. */
  #checkOrigin(request: Request): void {
    const { headers } = request;
    const origin = headers.get('origin');
    if (origin !== null) {
      if (this.#origins.has(origin)) return;
      const host = headers.get('host') ?? new URL(request.url).host;
      if (URL.canParse(origin) && new URL(origin).host === host.toLowerCase()) return;
      throw foreignOrigin();
    }
    // A browser sends no origin with some reads. Opening the address itself is harmless: no other page can read the response.
    const site = headers.get('sec-fetch-site');
    const isForeign = site === 'cross-site' || site === 'same-site';
    if (isForeign && headers.get('sec-fetch-mode') !== 'navigate') throw foreignOrigin();
  }

  async #checkToken(request: Request, takesQueryToken: boolean): Promise<void> {
    if (this.#authorize) {
      if ((await this.#authorize(request)) === true) return;
      throw unauthorized('this request is not authorized');
    }
    if (!this.#token) return;
    const [, bearer] = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    const given = bearer ?? (takesQueryToken ? new URL(request.url).searchParams.get('token') : null);
    if (given === null || given === undefined || !timingSafeEqual(digest(given), this.#token)) {
      throw unauthorized('send the token of this server as Authorization: Bearer <token>');
    }
  }
}

/** Hashes have one length, so that the comparison takes the same time for every token. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function unauthorized(message: string): HttpError {
  return new HttpError('UNAUTHORIZED', message, { 'www-authenticate': 'Bearer' });
}

function foreignOrigin(): HttpError {
  return new HttpError('ORIGIN_FORBIDDEN', 'pages of this origin may not use this server; add it to origins');
}

/** The host name of a `Host` header or a URL's host, without port and brackets; undefined when it is none. */
function hostNameOf(host: string): string | undefined {
  if (!URL.canParse(`http://${host}`)) return undefined;
  const { hostname, username, pathname, search } = new URL(`http://${host}`);
  if (username !== '' || pathname !== '/' || search !== '') return undefined;
  return hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

/** Whether a host name or address reaches only this machine. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
