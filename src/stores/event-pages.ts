import type { SessionEvent } from '../core/log/events.ts';
import type { EventReading } from '../ports/store.ts';

/**
 * Yields events one by one from pages that are fetched on demand. Not an async generator: that costs several microtasks per event, this
 * costs one resolved promise.
 *
 * Contract: `nextPage` is called again only after all events of its last page were yielded; an empty page is the end.
 */
export function eventsFromPages(
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
