import type { SessionEvent } from '../../core/log/events.ts';
import type { ReadOptions } from '../../ports/store.ts';
import { checkRead } from '../check-arguments.ts';
import { decodeEvent } from '../encoded-event.ts';
import { eventsFromPages } from '../event-pages.ts';
import { gap, sessionGone } from '../refusals.ts';
import type { EventTable } from './event-table.ts';
import type { SessionTable } from './session-table.ts';

const FIRST_PAGE = 128;
const MAX_PAGE = 512;
/** A long log is read in pages; after this long the event loop has its turn. */
const MAX_BLOCKING_MS = 8;
/** Large events make small pages: a session is never one array. */
const PAGE_CHARACTERS = 512 * 1024;

/** What reading needs of its store: to run a query when the database is free, and to refuse when it is closed. */
type RunQuery = <T>(work: () => T) => Promise<T>;

/** A session's events as they were when the first was asked for, page by page. */
export function readEvents(
  table: EventTable,
  sessions: SessionTable,
  query: RunQuery,
  sessionId: string,
  options: ReadOptions,
): AsyncIterable<SessionEvent> {
  let after = options.after ?? 0;
  let count = FIRST_PAGE;
  let began = performance.now();
  let range: { readonly key: number; readonly until: number } | undefined;

  return eventsFromPages(async () => {
    checkRead(sessionId, options);
    range ??= await query(() => {
      const { key = 0, seq = 0 } = sessions.findLivingAtHead(sessionId, options.incarnation) ?? {};
      return { key, until: Math.min(seq, after + (options.limit ?? seq)) };
    });
    const { key, until } = range;
    if (after >= until) return [];
    if (performance.now() - began > MAX_BLOCKING_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      began = performance.now();
    }
    const rows = await query(() => table.read(key, after, until, count));
    if (rows[0]?.[0] !== after + 1 || rows.at(-1)?.[0] !== after + rows.length) {
      // Deleted while it was read: keys are never used again, so what follows cannot be another session's.
      const isDeleted = (await query(() => sessions.find(sessionId)))?.key !== key;
      if (!isDeleted) throw gap(sessionId, after + 1);
      // A caller that names an incarnation must not take a part of it for the whole.
      if (options.incarnation !== undefined) throw sessionGone(sessionId);
      return [];
    }
    let characters = 0;
    const events = rows.map(([seq, at, type, data]) => {
      if (seq !== ++after) throw gap(sessionId, after);
      characters += data.length;
      return decodeEvent(sessionId, seq, at, type, data);
    });
    count = Math.min(MAX_PAGE, Math.max(1, Math.floor((PAGE_CHARACTERS * rows.length) / characters)));
    return events;
  });
}
