/** The server that serves this page: where it is, and the token that it wants. */
import { RequestError, type RequestOptions } from 'holdfast/react';

/** Where Studio is: the folder above its scripts, such as `/studio/`. The development server has them elsewhere. */
export const STUDIO_PATH: string = import.meta.env.DEV
  ? import.meta.env.BASE_URL
  : new URL(/* @vite-ignore */ '..', import.meta.url).pathname;
/** The address of the server, without a slash at the end. */
export const SERVER_URL: string = import.meta.env.DEV
  ? location.origin
  : new URL(/* @vite-ignore */ '../..', import.meta.url).href.replace(/\/+$/, '');

const TOKEN = 'holdfast-token';

/** The token, as long as the tab is open. A link may bring it: `/studio/#token=…`. */
export function savedToken(): string {
  const [, given] = /^#token=(.+)$/.exec(location.hash) ?? [];
  if (given !== undefined) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(given));
    history.replaceState(null, '', location.pathname + location.search);
  }
  return sessionStorage.getItem(TOKEN) ?? '';
}

export function saveToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** Options of every hook and request. */
export const REQUEST: RequestOptions = { token: savedToken };

/** The address of a session. */
export function sessionUrl(id: string): string {
  return `${SERVER_URL}/sessions/${encodeURIComponent(id)}`;
}

/** The JSON of a route of the server, such as `sessions/ada/evaluations`. */
export async function readJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, signal ? { signal } : {});
  return (await response.json()) as T;
}

/** Changes something; throws `RequestError` with the server's sentence. */
export async function actJson<T>(path: string, body?: object, method = 'POST'): Promise<T> {
  const headers = { 'x-holdfast-request': '1', ...(body && { 'content-type': 'application/json' }) };
  const response = await send(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return (await response.json()) as T;
}

/** Any response of the server that is not an error. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const token = savedToken();
  let response: Response;
  try {
    response = await fetch(`${SERVER_URL}/${path}`, {
      ...init,
      headers: { ...init.headers, ...(token !== '' && { authorization: `Bearer ${token}` }) },
    });
  } catch (error) {
    init.signal?.throwIfAborted();
    throw new RequestError('UNREACHABLE', 0, 'the server did not respond', error);
  }
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } };
  const otherwise = `the server returned ${response.status}`;
  throw new RequestError(error?.code ?? 'INTERNAL', response.status, error?.message ?? otherwise);
}
