import type { SessionEvent } from '../../core/log/events.ts';
import type { EventReading, ReadOptions } from '../../ports/store.ts';
import { decodeEvent } from '../encoded-event.ts';
import { gap, sessionGone } from '../refusals.ts';
import type { SessionKey, SessionRow, StoreBackend } from './backend.ts';

const FIRST_PAGE = 128;
const MAX_PAGE = 512;
/** Large events make small pages: a session is never one array. */
const PAGE_CHARACTERS = 512 * 1024;
/** A long log is read in pages; after this long the event loop has its turn. */
const MAX_BLOCKING_MS = 8;

/** What a backend knows of a session id. Throws when the caller names another incarnation. */
export async function findLiving<Key extends SessionKey>(
  backend: Pick<StoreBackend<Key>, 'find'>,
  sessionId: string,
  incarnation: number | undefined,
): Promise<SessionRow<Key>> {
  const session = await backend.find(sessionId);
  if (incarnation !== undefined && incarnation !== session.incarnation) throw sessionGone(sessionId);
  return session;
}

/** A session's events as they were when the first one was read, page by page. `find` checks the arguments, and that the store is open. */
export function readEvents<Key extends SessionKey>(
  backend: Pick<StoreBackend<Key>, 'events'>,
  find: () => Promise<SessionRow<Key>>,
  sessionId: string,
  options: ReadOptions,
): EventReading & AsyncIterableIterator<SessionEvent> {
  let after = options.after ?? 0;
  let count = FIRST_PAGE;
  let began = performance.now();
  let range: { readonly key: Key | undefined; readonly until: number } | undefined;

  return eventsFromPages(async () => {
    if (!range) {
      const { key, seq } = await find();
      range = { key, until: Math.min(seq, after + (options.limit ?? seq)) };
    }
    const { key, until } = range;
    if (key === undefined || after >= until) return [];
    if (performance.now() - began > MAX_BLOCKING_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      began = performance.now();
    }
    const rows = await backend.events(key, { after, until, limit: count });
    if (rows[0]?.seq !== after + 1 || rows.at(-1)?.seq !== after + rows.length) {
      // Deleted while it was read: keys are never used again, so what follows cannot be another session's.
      if ((await find()).key === key) throw gap(sessionId, after + 1);
      // A caller that names an incarnation must not take a part of it for the whole.
      if (options.incarnation !== undefined) throw sessionGone(sessionId);
      return [];
    }
    let characters = 0;
    const events = rows.map(({ seq, at, type, data }) => {
      if (seq !== ++after) throw gap(sessionId, after);
      characters += data.length;
      return decodeEvent(sessionId, seq, at, type, data);
    });
    count = Math.min(MAX_PAGE, Math.max(1, Math.floor((PAGE_CHARACTERS * rows.length) / characters)));
    return events;
  });
}

/**
 * Yields events one by one from pages that are fetched on demand. Not an async generator: that costs several microtasks per event, this
 * costs one resolved promise.
 *
 * Contract: `nextPage` is called again only after all events of its last page were yielded; an empty page is the end.
 */
function eventsFromPages(
  nextPage: () => Promise<readonly SessionEvent[]>,
): EventReading & AsyncIterableIterator<SessionEvent> {
  let page: readonly SessionEvent[] = [];
  let position = 0;
  let ended = false;
  let fetching: Promise<IteratorResult<SessionEvent>> | undefined;

  async function fetch(): Promise<IteratorResult<SessionEvent>> {
    try {
      page = await nextPage();
      position = 0;
      if (page.length === 0) ended = true;
    } catch (error) {
      ended = true;
      throw error;
    } finally {
      fetching = undefined;
    }
    return take();
  }

  function take(): IteratorResult<SessionEvent> {
    const value = ended ? undefined : page[position++];
    return value === undefined ? { value: undefined, done: true } : { value, done: false };
  }

  return {
    next() {
      if (fetching) return fetching.then(() => this.next());
      if (ended || position < page.length) return Promise.resolve(take());
      fetching = fetch();
      return fetching;
    },
    return() {
      ended = true;
      page = [];
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async *pages() {
      for (let whole = await nextPage(); whole.length > 0; whole = await nextPage()) yield whole;
    },
  };
}
