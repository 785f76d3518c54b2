import type { ListSessionsOptions, SearchHit, SessionInfo } from '../ports/store.ts';
import { type RequestOptions, read, withoutSlash } from './request.ts';
import { type Load, useResource } from './resource.ts';

/** Options of `useSessions`: which sessions. */
export interface UseSessionsOptions extends RequestOptions, Omit<ListSessionsOptions, 'cursor' | 'work'> {
  /** Words to search for in all messages: then `hits` has what was found, and `sessions` is empty. */
  readonly search?: string;
  /** Milliseconds between two refreshes while the tab is visible. Default: 0, none. */
  readonly refreshMs?: number;
}

/** A list of sessions, newest activity first, or the hits of a search. */
export interface Sessions {
  readonly sessions: readonly SessionInfo[];
  readonly hits: readonly SearchHit[];
  readonly isLoading: boolean;
  readonly error: Error | undefined;
  readonly hasMore: boolean;
  /** Adds the next page. */
  loadMore(): Promise<void>;
  /** Reads the pages that are shown again. */
  refresh(): Promise<void>;
}

export interface Listing {
  readonly sessions: readonly SessionInfo[];
  readonly hits: readonly SearchHit[];
  readonly next?: string | undefined;
}

const EMPTY: Listing = { sessions: [], hits: [] };
const PAGE = 50;
const MAX_PAGE = 500;

/** Lists the sessions of the server at `url` (what stands before `/sessions`), in pages, or searches them. */
export function useSessions(url: string, options: UseSessionsOptions = {}): Sessions {
  const { search, refreshMs = 0, status, tags: tag, idPrefix, metadata, limit = PAGE } = options;
  const filter = { status, tag, idPrefix, metadata };
  const load: Load<Listing> = (signal, { sessions }) =>
    search
      ? readList(url, 'search', { q: search, limit }, options, signal)
      : readList(
          url,
          'sessions',
          { ...filter, limit: Math.min(Math.max(limit, sessions.length), MAX_PAGE) },
          options,
          signal,
        );
  const loadNext: Load<Listing> = async (signal, last) => {
    if (!last.next) return last;
    const query = { ...filter, limit, cursor: last.next };
    const { sessions, next } = await readList(url, 'sessions', query, options, signal);
    // One that became active meanwhile is on two pages.
    const others = sessions.filter(({ id }) => !last.sessions.some((known) => known.id === id));
    return { ...last, sessions: [...last.sessions, ...others], next };
  };
  const key = JSON.stringify([url, search, filter, limit]);
  const { data, refresh, ...rest } = useResource(key, EMPTY, refreshMs, load);
  const { next, ...lists } = data;
  return {
    ...rest,
    ...lists,
    hasMore: Boolean(next),
    loadMore: () => refresh(loadNext),
    refresh: () => refresh(),
  };
}

/** Reads a list. Of the query, values that are not given are left out, a list is repeated, an object is JSON. */
export async function readList(
  url: string,
  route: 'sessions' | 'search',
  query: Readonly<Record<string, unknown>>,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<Listing> {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((each) => each !== undefined)
      .map((each) => `${name}=${encodeURIComponent(typeof each === 'object' ? JSON.stringify(each) : each)}`),
  );
  return { ...EMPTY, ...(await read<object>(`${withoutSlash(url)}/${route}?${pairs.join('&')}`, options, { signal })) };
}
