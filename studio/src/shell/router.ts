/** Which view the address names, and how to go to another one. The address is the only place that holds it. */
import { useSyncExternalStore } from 'react';
import { STUDIO_PATH } from '../api/server.ts';

/** What the address names: the parts of its path below Studio, its query and its fragment. */
export interface Place {
  /** Decoded: `['sessions', 'ada', 'record']`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  /** Without `#`, decoded. */
  readonly fragment: string;
}

const listeners = new Set<() => void>();
let shown: { readonly address: string; readonly place: Place } | undefined;

function currentPlace(): Place {
  if (shown?.address !== location.href) shown = { address: location.href, place: placeOf(location) };
  return shown.place;
}

function placeOf({ pathname, search, hash }: Location): Place {
  const parts = pathname.slice(STUDIO_PATH.length).split('/').filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(search), fragment: decoded(hash.slice(1)) };
}

/** The address may be typed by hand: what is no percent encoding is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}

window.addEventListener('popstate', notify);
window.addEventListener('hashchange', notify);

/** The place that the address names; renders again when it changes. */
export function usePlace(): Place {
  return useSyncExternalStore(subscribe, currentPlace);
}

/** The address of a view: `addressOf('sessions', id)`. */
export function addressOf(...parts: readonly string[]): string {
  return STUDIO_PATH + parts.map(encodeURIComponent).join('/');
}

/** Shows another place. `replace`: without a new entry in the history, for what changes while a person types. */
export function navigate(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  notify();
}

/** Changes some parameters of the query; an empty value removes one. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(location.pathname + (text === '' ? '' : `?${text}`), { replace: true });
}
