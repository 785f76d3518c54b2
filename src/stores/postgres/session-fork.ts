import { randomUUID } from 'node:crypto';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import type { ForkOptions } from '../../ports/store.ts';
import { checkFork } from '../check-arguments.ts';
import { decodeEvent, type EncodedEvent, encodeEvent } from '../encoded-event.ts';
import { forkTargetExists, gap, incompleteEvent, sessionGone, sessionNotFound } from '../refusals.ts';
import type { PostgresDatabase, Sql, Statement } from './database.ts';
import { usable } from './layout.ts';
import type { EventRow } from './read-events.ts';
import type { SessionRemoval } from './session-removal.ts';
import { idHash, type SessionRow, type SessionRows } from './session-rows.ts';
import { SLICE_BYTES, SLICE_EVENTS } from './slice.ts';

/** A fork whose process has not copied anything for this long is removed. */
const ABANDONED_MS = 3_600_000;

interface Copied {
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
}

/** Fields of the row that ends a fork. */
const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * Copies the beginning of a session into a new one, in short transactions.
 *
 *     a row under an id that no session can have ─▶ slice, slice, slice ─▶ end: the row gets its id, and is there
 *                                  ▲                          │ origin erased       │ origin deleted
 *                                  └──────── from the start ──┘                     └─▶ removed, SESSION_NOT_FOUND
 */
export class SessionFork {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionRows;
  readonly #removal: SessionRemoval;
  readonly #read: Statement;
  readonly #copy: readonly Statement[];

  constructor(database: PostgresDatabase, sessions: SessionRows, removal: SessionRemoval) {
    this.#database = database;
    this.#sessions = sessions;
    this.#removal = removal;
    const [events, contents, references] = ['events', 'contents', 'event_contents'].map((name) => database.table(name));
    // As many events as fit into a slice with the contents that they refer to; the first always does.
    this.#read = {
      name: 'fork-read',
      text: `WITH part AS (
               SELECT seq, at, type, data, octet_length(data) + coalesce((SELECT sum(octet_length(text)) FROM ${references} r
                 JOIN ${contents} c USING (key, hash) WHERE r.key = e.key AND r.seq = e.seq), 0) AS size
               FROM ${events} e WHERE key = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT ${SLICE_EVENTS}
             ), sized AS (SELECT *, sum(size) OVER (ORDER BY seq) AS total FROM part)
             SELECT seq, at, type, data FROM sized WHERE total <= ${SLICE_BYTES} OR seq = $2 + 1 ORDER BY seq`,
    };
    const range = 'key = $2 AND seq > $3 AND seq <= $4';
    this.#copy = [
      {
        name: 'fork-events',
        text: `INSERT INTO ${events} (key, seq, append_id, at, type, data)
               SELECT $1::bigint, seq, CASE seq WHEN 1 THEN 'fork' END, at, type, data FROM ${events} WHERE ${range}
               ON CONFLICT DO NOTHING`,
      },
      {
        name: 'fork-contents',
        text: `INSERT INTO ${contents} (key, hash, text) SELECT DISTINCT ON (hash) $1::bigint, hash, text
               FROM ${contents} JOIN ${references} USING (key, hash) WHERE ${range} ON CONFLICT DO NOTHING`,
      },
      {
        name: 'fork-references',
        text: `INSERT INTO ${references} (key, seq, hash) SELECT $1::bigint, seq, hash FROM ${references} WHERE ${range}
               ON CONFLICT DO NOTHING`,
      },
    ];
  }

  async fork(sessionId: string, target: string, options: ForkOptions): Promise<{ readonly seq: number }> {
    // As they are now: the caller may change its events while the copy is made.
    const closing = options.events.map(encodeEvent);
    for (;;) {
      const done = await this.#attempt(sessionId, target, options, closing);
      if (done) return done;
    }
  }

  /** One copy from the start; undefined when the origin was erased meanwhile. */
  async #attempt(
    sessionId: string,
    target: string,
    options: ForkOptions,
    closing: readonly EncodedEvent[],
  ): Promise<{ readonly seq: number } | undefined> {
    const origin = await this.#sessions.findLiving(sessionId, options.incarnation);
    if (!origin) throw sessionNotFound(sessionId);
    checkFork({ id: sessionId, seq: origin.seq }, target, options);
    if (((await this.#sessions.find(target))?.seq ?? 0) > 0) throw forkTargetExists(target);
    const key = await this.#begin();
    try {
      let copied: Copied | undefined = { seq: 0, summary: undefined };
      while (copied && copied.seq < options.at) copied = await this.#slice(sessionId, origin, key, copied, options.at);
      const all = copied;
      const end = all && (await this.#end(sessionId, target, origin, key, all, closing));
      if (!end) await this.#discard(key);
      return end;
    } catch (error) {
      // A store that cannot be written to removes it later: the row is invisible.
      await this.#discard(key).catch(() => {});
      throw error;
    }
  }

  /** No session id has a control character: this row is found by its key alone. */
  async #begin(): Promise<string> {
    const id = `\u0001fork:${randomUUID()}`;
    const [row] = await this.#database.query<{ readonly key: string }>(
      {
        name: 'fork-begin',
        text: `INSERT INTO ${this.#database.table('sessions')} (id, incarnation, building_until)
               SELECT $1, 1, ${NOW} + ${ABANDONED_MS} WHERE ${usable(this.#database)}
               ON CONFLICT (id) DO UPDATE SET building_until = excluded.building_until RETURNING key::text AS key`,
      },
      [id],
    );
    if (!row) await this.#database.checkLayout();
    return row?.key ?? this.#begin();
  }

  /** Whether the origin is as it was. Throws when it was deleted. */
  async #isCurrent(sessionId: string, origin: SessionRow, sql: Sql): Promise<boolean> {
    const now = await this.#sessions.lock(sessionId, undefined, sql);
    if (now?.key !== origin.key) throw sessionGone(sessionId);
    return now.revision === origin.revision;
  }

  async #slice(
    sessionId: string,
    origin: SessionRow,
    key: string,
    from: Copied,
    until: number,
  ): Promise<Copied | undefined> {
    const rows = await this.#database.query<EventRow>(this.#read, [origin.key, from.seq, until]);
    let { seq, summary } = from;
    const now = await this.#sessions.find(sessionId);
    if (now?.key !== origin.key) throw sessionGone(sessionId);
    if (now.revision !== origin.revision) return undefined;
    for (const { seq: row, at, type, data } of rows) {
      if (row !== seq + 1) throw gap(sessionId, seq + 1);
      summary = summarize(summary, sessionId, row, { at, type, data });
      seq = row;
    }
    if (seq === from.seq) throw gap(sessionId, seq + 1);
    const isBuilding = await this.#database.transaction(async (sql) => {
      const kept = await sql.query(
        {
          name: 'fork-keep',
          text: `UPDATE ${this.#database.table('sessions')} SET building_until = ${NOW} + ${ABANDONED_MS}
                 WHERE key = $1 AND building_until IS NOT NULL RETURNING 1 AS kept`,
        },
        [key],
      );
      if (kept.length === 0) return false;
      for (const copy of this.#copy) await sql.query(copy, [key, origin.key, from.seq, seq]);
      return true;
    });
    return isBuilding ? { seq, summary } : undefined;
  }

  #end(
    sessionId: string,
    target: string,
    origin: SessionRow,
    key: string,
    copied: Copied,
    closing: readonly EncodedEvent[],
  ): Promise<{ readonly seq: number } | undefined> {
    const events = closing.map((event, i) => ({ ...event, seq: copied.seq + 1 + i }));
    let summary = copied.summary;
    for (const event of events) summary = summarize(summary, target, event.seq, event);
    const seq = copied.seq + events.length;
    return this.#database.transaction(async (sql) => {
      // A transaction whose commit was not acknowledged is run again: it finds its own work.
      if ((await this.#sessions.find(target, sql))?.key === key) return { seq };
      if (!(await this.#isCurrent(sessionId, origin, sql))) return undefined;
      const empty = await this.#sessions.lock(target, undefined, sql);
      if ((empty?.seq ?? 0) > 0) throw forkTargetExists(target);
      const incarnation = empty?.incarnation ?? (await this.#start(target, sql));
      // It may hold a lease, and no event: the fork takes its place.
      if (empty) await this.#removal.doom(empty.key, sql);
      await sql.query(
        {
          name: 'fork-close',
          text: `INSERT INTO ${this.#database.table('events')} (key, seq, append_id, at, type, data)
                 SELECT $1, * FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[])`,
        },
        [
          key,
          events.map((event) => event.seq),
          events.map((_, i) => (i === 0 ? 'fork:end' : null)),
          events.map(({ at }) => at),
          events.map(({ type }) => type),
          events.map(({ data }) => data),
        ],
      );
      const published = await sql.query(
        {
          name: 'fork-publish',
          text: `UPDATE ${this.#database.table('sessions')} SET id = $2, incarnation = $3, seq = $4, updated_at = $5::text,
                   updated_hour = left($5::text, 13), last_append = 'fork:end', summary = $6, status = $7, work = $8, wake_at = $9,
                   unindexed = true, building_until = NULL
                 WHERE key = $1 AND building_until IS NOT NULL RETURNING 1 AS published`,
        },
        [
          key,
          target,
          incarnation,
          seq,
          events.at(-1)?.at ?? '',
          JSON.stringify(summary),
          summary?.status ?? null,
          summary?.work ?? null,
          summary?.wakeAt ?? null,
        ],
      );
      return published.length > 0 ? { seq } : undefined;
    });
  }

  /** Counts the incarnation that the fork starts. */
  async #start(target: string, sql: Sql): Promise<number> {
    const lives = this.#database.table('lives');
    const [row] = await sql.query<{ readonly incarnation: number }>(
      {
        name: 'fork-life',
        text: `INSERT INTO ${lives} (id_hash, incarnation)
               SELECT $1::text, 1 + coalesce((SELECT max(incarnation) FROM ${lives} WHERE id_hash = $1), 0) RETURNING incarnation`,
      },
      [idHash(target)],
    );
    return row?.incarnation ?? 1;
  }

  async #discard(key: string): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const text = `SELECT 1 FROM ${this.#database.table('sessions')} WHERE key = $1 AND building_until IS NOT NULL FOR UPDATE`;
      if ((await sql.query({ name: 'fork-left', text }, [key])).length > 0) await this.#removal.doom(key, sql);
    });
    await this.#removal.removeAll(key);
  }
}

/** Folds one event into the summary of the fork. */
function summarize(
  summary: SessionSummary | undefined,
  sessionId: string,
  seq: number,
  { at, type, data }: EncodedEvent,
): SessionSummary {
  const event = decodeEvent(sessionId, seq, at, type, data);
  try {
    return summarizeSession(summary, event);
  } catch (cause) {
    throw incompleteEvent(type, cause);
  }
}
