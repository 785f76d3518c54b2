/** The server that serves this page: where it is, the token that it wants, and requests to it by the client of `holdfast/react`. */

import { ConversationClient } from 'holdfast/react';
import type { ClientActions } from '../../../src/react/conversation-client.ts';
import type { RequestOptions } from '../../../src/react/request.ts';
import { act, read, request } from '../../../src/react/request.ts';

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

/** Options of every hook. */
export const REQUEST: RequestOptions = { token: savedToken };
/** Views of a long session, such as the replay of a strategy, may take the server longer than a hook waits. */
const PATIENT: RequestOptions = { ...REQUEST, timeoutMs: 300_000 };

/** The route of a session, such as `sessions/ada/evaluations`. */
export function sessionPath(id: string, ...rest: readonly string[]): string {
  return ['sessions', id, ...rest].map(encodeURIComponent).join('/');
}

/** The address of a session. */
export function sessionUrl(id: string): string {
  return `${SERVER_URL}/${sessionPath(id)}`;
}

/** What people can do with a session that is not shown here: the client of a conversation connects only once it is followed. */
export function sessionActions(id: string): ClientActions {
  return new ConversationClient(sessionUrl(id), REQUEST).actions;
}

/** The JSON of a route of the server. */
export function readJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return read(`${SERVER_URL}/${path}`, PATIENT, signal ? { signal } : {});
}

/** Changes something; throws `RequestError` with the server's sentence. */
export function actJson<T>(path: string, body?: object, method = 'POST'): Promise<T> {
  return act(`${SERVER_URL}/${path}`, PATIENT, body, method);
}

/** A file that the server makes. */
export function readFile(path: string): Promise<{ readonly content: Blob; readonly extension: string }> {
  const { signal } = new AbortController();
  return request(`${SERVER_URL}/${path}`, PATIENT, { signal }, async (response) => ({
    content: await response.blob(),
    extension: /\.(\w+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'txt',
  }));
}
