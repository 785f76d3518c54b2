/** How requests are sent to a Holdfast server. */
export interface RequestOptions {
  /** The server's token, sent as `Authorization: Bearer …`. A function is called for every request, so that it can be renewed. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether cookies are sent to another origin, as in `fetch`. */
  readonly credentials?: 'omit' | 'same-origin' | 'include' | undefined;
  /** Milliseconds in which a response must be complete. Default: 30,000. Streams have `silenceMs` instead. */
  readonly timeoutMs?: number | undefined;
  /** Replaces the global `fetch`; `server.fetch` of a server in the same process, for example. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/**
 * A request to a Holdfast server failed. `code` is the server's (a code of `HoldfastError`, or one of those in docs/server.md), or
 * `UNREACHABLE`: there was no response in time, or it was not the server's, such as a proxy's login page.
 */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: string;
  /** The HTTP status; 0 without a response. */
  readonly status: number;

  constructor(code: string, status: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.status = status;
  }

  /** Whether the same request may succeed later: the server is not reachable, overloaded or restarting. */
  get isTemporary(): boolean {
    const { code, status } = this;
    if (code === UNREACHABLE) return ![401, 403].includes(status); // or a proxy requires a login
    return status < 400 || status > 499 || [408, 429].includes(status);
  }
}

const UNREACHABLE = 'UNREACHABLE';
const TIMEOUT_MS = 30_000;
const MAX_PAUSE_MS = 15_000;

/**
 * Sends a request and resolves with what `use` makes of the response; throws `RequestError` unless it succeeded. Rejects with the signal's
 * reason as soon as it is aborted: neither a token nor a `fetch` needs to obey it.
 */
export function request<T>(
  url: string,
  options: RequestOptions,
  init: RequestInit & { readonly signal: AbortSignal },
  use: (response: Response) => T | Promise<T>,
): Promise<T> {
  const { signal } = init;
  const exchange = async (): Promise<T> => {
    const { token, headers, credentials, fetch: send = fetch } = options;
    const bearer = typeof token === 'function' ? await token() : token;
    signal.throwIfAborted(); // the token came too late
    const response = await send(url, {
      ...init,
      ...(credentials && { credentials }),
      headers: { ...headers, ...(bearer && { authorization: `Bearer ${bearer}` }), ...init.headers },
    }).catch((error) => {
      throw unreachable(url, error);
    });
    if (response.ok) return use(response);
    const body = (await response.json().catch(() => undefined)) as ErrorBody | undefined;
    throw errorOf(url, response.status, body?.error);
  };
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    exchange().then(resolve, reject);
  });
}

/** The body of a failed request. */
export interface ErrorBody {
  readonly error?: { readonly code?: string; readonly message?: string };
}

/** The error that a response holds; without one it is not the response of a Holdfast server. */
export function errorOf(url: string, status: number, error?: ErrorBody['error']): RequestError {
  const foreign = `${url} returned ${status}, not from a Holdfast server; check the address and the network`;
  return new RequestError(error?.code ?? UNREACHABLE, status, error?.message ?? foreign);
}

export function unreachable(url: string, cause?: unknown): RequestError {
  return new RequestError(UNREACHABLE, 0, `${url} did not respond`, cause);
}

/** Any thrown value as an error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The JSON of a response, which must be complete within the time limit. */
export async function read<T>(url: string, options: RequestOptions, init: RequestInit = {}): Promise<T> {
  const { timeoutMs = TIMEOUT_MS } = options;
  const limit = new AbortController();
  const { signal } = limit;
  init.signal?.addEventListener('abort', () => limit.abort());
  const timer = setTimeout(() => limit.abort(unreachable(url)), timeoutMs);
  try {
    return await request(url, options, { ...init, signal }, (response) =>
      (response.json() as Promise<T>).catch(() => {
        throw errorOf(url, response.status);
      }),
    );
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds before the next attempt: the double after each failure, with jitter. */
export function pauseAfter(failures: number, firstMs = 1000, mostMs: number = MAX_PAUSE_MS): number {
  return Math.min(mostMs, firstMs * 2 ** failures) * (0.5 + Math.random() / 2);
}

/** Waits as long as `pauseAfter` returns. */
export function pause(failures: number, firstMs?: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseAfter(failures, firstMs)));
}

/** Changes something: the server requires its header of every such request. */
export function act<T>(url: string, options: RequestOptions, body?: object, method = 'POST'): Promise<T> {
  const headers = { 'x-holdfast-request': '1', 'content-type': 'application/json' };
  return read(url, options, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

/** A URL that paths are appended to. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
