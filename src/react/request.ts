/** How requests are sent to a Holdfast server. */
export interface RequestOptions {
  /** The server's token, sent as `Authorization: Bearer …`. A function is called for every request, so that it can be renewed. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether cookies are sent to another origin, as in `fetch`. */
  readonly credentials?: 'omit' | 'same-origin' | 'include' | undefined;
  /** Replaces the global `fetch`; `server.fetch` of a server in the same process, for example. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/**
 * A request to a Holdfast server failed. `code` is the server's (a code of `HoldfastError`, or one of those in docs/server.md), or
 * `UNREACHABLE` when there was no response.
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
    return [0, 408, 429].includes(this.status) || this.status >= 500;
  }
}

/** Sends a request; throws `RequestError` unless it succeeded. */
export async function request(url: string, options: RequestOptions, init: RequestInit = {}): Promise<Response> {
  const { token, headers, credentials, fetch: send = fetch } = options;
  const bearer = typeof token === 'function' ? await token() : token;
  let response: Response;
  try {
    response = await send(url, {
      ...init,
      ...(credentials && { credentials }),
      headers: { ...headers, ...(bearer && { authorization: `Bearer ${bearer}` }), ...init.headers },
    });
  } catch (error) {
    init.signal?.throwIfAborted();
    throw new RequestError('UNREACHABLE', 0, `${url} did not respond`, error);
  }
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as ErrorBody;
  throw errorOf(error, response.status, `${url} returned ${response.status}`);
}

/** The body of a failed request. */
export interface ErrorBody {
  readonly error?: { readonly code?: string; readonly message?: string };
}

export function errorOf(error: ErrorBody['error'], status: number, otherwise: string): RequestError {
  return new RequestError(error?.code ?? 'INTERNAL', status, error?.message ?? otherwise);
}

/** Any thrown value as an error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The JSON of a response. */
export async function read<T>(url: string, options: RequestOptions, init?: RequestInit): Promise<T> {
  const response = await request(url, options, init);
  return (await response.json()) as T;
}

/** Changes something: the server requires its header of every such request. */
export function act<T>(url: string, options: RequestOptions, body?: object, method = 'POST'): Promise<T> {
  const headers = { 'x-holdfast-request': '1', ...(body && { 'content-type': 'application/json' }) };
  return read(url, options, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

/** A URL that paths are appended to. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
