import type { EventReading, ReadOptions } from '../../ports/store.ts';
import { checkRead } from '../check-arguments.ts';
import { decodeEvent, type EncodedEvent } from '../encoded-event.ts';
import { eventsFromPages } from '../event-pages.ts';
import { gap, sessionGone } from '../refusals.ts';
import type { PostgresDatabase, Statement } from './database.ts';
import type { SessionRows } from './session-rows.ts';

const FIRST_PAGE = 128;
const MAX_PAGE = 1024;
/** Large events make small pages: a session is never one array. */
const PAGE_CHARACTERS = 1024 * 1024;

/** An event's row. */
export interface EventRow extends EncodedEvent {
  readonly seq: number;
}

/** The statement that reads events: $1 key, $2 after, $3 until, $4 limit. */
export function readEventsStatement(database: PostgresDatabase): Statement {
  return {
    name: 'read-events',
    text: `SELECT seq, at, type, data FROM ${database.table('events')} WHERE key = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`,
  };
}

/** A session's events as they were when the first one was read, page by page. `enter` throws when the store is closed. */
export function readEvents(
  database: PostgresDatabase,
  sessions: SessionRows,
  enter: () => void,
  sessionId: string,
  options: ReadOptions,
): EventReading {
  const statement = readEventsStatement(database);
  let after = options.after ?? 0;
  let count = FIRST_PAGE;
  let range: { readonly key: string; readonly until: number } | undefined;

  return eventsFromPages(async () => {
    enter();
    checkRead(sessionId, options);
    if (!range) {
      const { key = '0', seq = 0 } = (await sessions.findLiving(sessionId, options.incarnation)) ?? {};
      range = { key, until: Math.min(seq, after + (options.limit ?? seq)) };
    }
    const { key, until } = range;
    if (after >= until) return [];
    const rows = await database.query<EventRow>(statement, [key, after, until, count]);
    if (rows[0]?.seq !== after + 1 || rows.at(-1)?.seq !== after + rows.length) {
      // Deleted while it was read: keys are never used again, so what follows cannot be another session's.
      const isDeleted = (await sessions.find(sessionId))?.key !== key;
      if (!isDeleted) throw gap(sessionId, after + 1);
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
