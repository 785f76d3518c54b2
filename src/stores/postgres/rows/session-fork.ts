import { randomUUID } from 'node:crypto';
import type { ForkRows } from '../../shell/backend.ts';
import type { PostgresDatabase, Sql, Statement } from '../connection/database.ts';
import { usable } from '../connection/layout.ts';
import { type SessionRemoval, SLICE_BYTES, SLICE_EVENTS } from './session-removal.ts';
import { idHash, type SessionRows } from './session-rows.ts';

/** A fork whose process has not copied anything for this long is removed. */
const ABANDONED_MS = 3_600_000;

/** Fields of the row that ends a fork. */
const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * Copies the beginning of a session into a new one, in short transactions.
 *
 *     a row under an id that no session can have ─▶ slice, slice, slice ─▶ end: the row gets its id, and is there
 *                                                              │ origin erased or deleted
 *                                                              └─▶ removed
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
               SELECT seq, octet_length(data) + coalesce((SELECT sum(octet_length(text)) FROM ${references} r
                 JOIN ${contents} c USING (key, hash) WHERE r.key = e.key AND r.seq = e.seq), 0) AS size
               FROM ${events} e WHERE key = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT ${SLICE_EVENTS}
             ), sized AS (SELECT *, sum(size) OVER (ORDER BY seq) AS total FROM part)
             SELECT max(seq) AS seq FROM sized WHERE total <= ${SLICE_BYTES} OR seq = $2 + 1`,
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

  /** False when the origin is not at the fork's revision, or the target has events. */
  async fork(origin: string, fork: ForkRows): Promise<boolean> {
    const key = await this.#begin();
    let isDone = false;
    try {
      let copied: number | undefined = 0;
      while (copied !== undefined && copied < fork.at) copied = await this.#slice(origin, key, fork, copied);
      isDone = copied !== undefined && (await this.#end(origin, key, fork));
      return isDone;
    } finally {
      // A store that cannot be written to removes it later: the row is invisible.
      if (!isDone) await this.#discard(key).catch(() => {});
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

  /** Copies some events; returns the last of them, or undefined when the origin was changed. */
  async #slice(origin: string, key: string, { revision, at }: ForkRows, after: number): Promise<number | undefined> {
    const [part] = await this.#database.query<{ readonly seq: number | null }>(this.#read, [origin, after, at]);
    const seq = part?.seq ?? undefined;
    if (seq === undefined) return undefined;
    const isCurrent = await this.#database.transaction(async (sql) => {
      if ((await this.#sessions.lock(sql, { key: origin }))?.revision !== revision) return false;
      const kept = await sql.query(
        {
          name: 'fork-keep',
          text: `UPDATE ${this.#database.table('sessions')} SET building_until = ${NOW} + ${ABANDONED_MS}
                 WHERE key = $1 AND building_until IS NOT NULL RETURNING 1 AS kept`,
        },
        [key],
      );
      if (kept.length === 0) return false;
      for (const copy of this.#copy) await sql.query(copy, [key, origin, after, seq]);
      return true;
    });
    return isCurrent ? seq : undefined;
  }

  #end(origin: string, key: string, { target, revision, at, events: closing, summary }: ForkRows): Promise<boolean> {
    const events = closing.map((event, i) => ({ ...event, seq: at + 1 + i }));
    return this.#database.transaction(async (sql) => {
      // A transaction whose commit was not acknowledged is run again: it finds its own work.
      if ((await this.#sessions.find(target, sql)).key === key) return true;
      if ((await this.#sessions.lock(sql, { key: origin }))?.revision !== revision) return false;
      const empty = await this.#sessions.lock(sql, { id: target });
      if ((empty?.seq ?? 0) > 0) return false;
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
                   summary_version = $10, summary_seq = $4,
                   unindexed = true, building_until = NULL
                 WHERE key = $1 AND building_until IS NOT NULL RETURNING 1 AS published`,
        },
        [
          key,
          target,
          incarnation,
          summary.seq,
          events.at(-1)?.at ?? '',
          summary.data,
          summary.status ?? null,
          summary.work ?? null,
          summary.wakeAt ?? null,
          summary.version,
        ],
      );
      return published.length > 0;
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
