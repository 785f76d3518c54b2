import type { PendingCall } from '../core/views/views.ts';
import type { SessionInfo } from '../ports/store.ts';
import type { ConversationActions } from './conversation-source.ts';
import { type RequestError, type RequestOptions, read, withoutSlash } from './request.ts';
import { useResource } from './resource.ts';
import { serverSource } from './server-source.ts';
import { type Listing, readList } from './use-sessions.ts';
import { waitsForPerson } from './waiting.ts';

/** Options of `useInbox`. */
export interface UseInboxOptions extends RequestOptions {
  /** The most sessions that are shown. Default: 50. */
  readonly limit?: number;
  /** Milliseconds between two refreshes while the tab is visible. Default: 5,000. */
  readonly refreshMs?: number;
}

/** A session that waits for a person: its calls, or, without calls, the evaluation that is suspended or has failed. */
export interface InboxEntry {
  readonly session: SessionInfo;
  /** The calls that wait for a person, with the arguments that they would run with. */
  readonly calls: readonly (PendingCall & { readonly exactArguments?: string })[];
  readonly actions: ConversationActions;
}

/** Everything that waits for a person, over all sessions of a server. */
export interface PersonInbox {
  readonly entries: readonly InboxEntry[];
  readonly isLoading: boolean;
  readonly error: Error | undefined;
  refresh(): Promise<void>;
}

const NONE: readonly InboxEntry[] = [];

/**
 * Lists what waits for a person on the server at `url` (what stands before `/sessions`): suspended evaluations that no runner continues by
 * itself, with their calls, and failed ones that hold up queued inputs.
 */
export function useInbox(url: string, options: UseInboxOptions = {}): PersonInbox {
  const { limit = 50, refreshMs = 5000 } = options;
  const load = async (signal: AbortSignal): Promise<readonly InboxEntry[]> => {
    const list = (status: string): Promise<Listing> => readList(url, 'sessions', { status, limit }, options, signal);
    const [suspended, failed] = await Promise.all([list('suspended'), list('failed')]);
    const waiting = [
      ...suspended.sessions.filter(({ work }) => !work),
      ...failed.sessions.filter(({ queued }) => queued),
    ];
    const entries = waiting.slice(0, limit).map((session) => entryOf(session, url, options, signal));
    return (await Promise.all(entries)).filter((entry) => entry !== undefined);
  };
  const { data, refresh, ...rest } = useResource(`${url} ${limit}`, NONE, refreshMs, load);
  return { ...rest, entries: data, refresh: () => refresh() };
}

/** Undefined for a session that was deleted meanwhile. */
async function entryOf(
  session: SessionInfo,
  url: string,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<InboxEntry | undefined> {
  const own = `${withoutSlash(url)}/sessions/${encodeURIComponent(session.id)}`;
  try {
    const { calls } = await read<Pick<InboxEntry, 'calls'>>(`${own}/calls`, options, { signal });
    const { actions } = serverSource(own, () => options);
    return { session, calls: calls.filter(waitsForPerson), actions };
  } catch (error) {
    if ((error as Partial<RequestError>).status === 404) return undefined;
    throw error;
  }
}
