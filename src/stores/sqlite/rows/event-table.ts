import type { EncodedEvent } from '../../encoded-event.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';

/**
 * The rows of `events` and where they are. A session's events are found in two parts: those that have their `places`, and the
 * recent ones, after the position that `places` reaches to, which are few.
 *
 *     events    ■ □ ▪ ▪ ■ □ □ ■ ▪ ┆ □ ■ ▪ ■        by position: in the order they were committed
 *     places    ■ ■ ■ □ □ □ ▪ ▪ ▪ ┆ not yet         by session and seq
 *     sessions  seq, updated_at   ┆ not yet         as of the last event that has its place
 *
 * An append therefore writes its events, sometimes a summary, and nothing else: no index entry, not the row of its session.
 */

/** The greatest seq: half of a 64-bit id. The ids are computed in SQL, since a JavaScript number does not hold them all. */
export const MAX_SEQ = 0xffff_ffff;

/** How many rows may be recent: what a read may have to look through, and what one append in so many pays for. */
const PLACE_EVERY = 1024;
/** The position up to which rows have their places. */
export const PLACED = "(SELECT value FROM counters WHERE name = 'placed')";
/** The last recent row of each session that has any, and their number. SQLite takes `at` from the row that has the greatest seq. */
export const RECENT: string = `(SELECT key, max(seq) AS seq, count(*) AS count, at FROM events WHERE position > ${PLACED} GROUP BY key)`;

/** A row as it lies in the table, its payload unread. */
export type EventRow = readonly [seq: number, at: string, type: string, data: string, appendId: string | null];

/** A row that is about to be removed. */
export type RemainingRow = readonly [position: number, seq: number, at: string, type: string, data: string];

export class EventTable {
  readonly #database: Database;
  readonly #placeEvery: number;
  readonly #insert: Statement<[number, number, string | null, string, string, string]>;
  readonly #place: Statement<[]>;
  readonly #advanceSessions: Statement<[]>;
  readonly #placed: Statement<[]>;
  readonly #placeOf: ValueStatement<[number, number], number>;
  readonly #readStretch: Statement<[number, number], EventRow>;
  readonly #readPlaced: Statement<[number, number, number, number, number], EventRow>;
  readonly #readBehind: Statement<[number, number, number, number], EventRow>;
  readonly #lastAppend: ValueStatement<{ key: number }, string>;
  readonly #replace: Statement<{ key: number; seq: number; at: string; type: string; data: string }>;
  readonly #remaining: Statement<{ key: number; count: number }, RemainingRow>;
  readonly #delete: Statement<[number]>;
  readonly #deletePlace: Statement<[number, number]>;
  readonly #limitPlaced: Statement;

  constructor(database: Database, placeEvery: number = PLACE_EVERY) {
    this.#database = database;
    this.#placeEvery = placeEvery;
    this.#insert = database.prepare(
      'INSERT INTO events (key, seq, append_id, at, type, data) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#place = database.prepare(
      `INSERT INTO places (id, position)
       SELECT (key << 32) | seq, position FROM events WHERE position > ${PLACED} ORDER BY key, seq`,
    );
    this.#advanceSessions = database.prepare(
      `UPDATE sessions SET seq = recent.seq, updated_at = recent.at FROM ${RECENT} AS recent
       WHERE sessions.key = recent.key`,
    );
    this.#placed = database.prepare(
      "UPDATE counters SET value = (SELECT coalesce(max(position), 0) FROM events) WHERE name = 'placed'",
    );
    this.#placeOf = database.prepareValue('SELECT position FROM places WHERE id = ((? << 32) | ?)');
    this.#readStretch = database.prepareRows(
      'SELECT seq, at, type, data, append_id FROM events WHERE position >= ? AND position <= ?',
    );
    this.#readPlaced = database.prepareRows(
      `SELECT places.id & ${MAX_SEQ}, at, type, data, append_id FROM places CROSS JOIN events USING (position)
       WHERE places.id > ((? << 32) | ?) AND places.id <= ((? << 32) | ?) ORDER BY places.id LIMIT ?`,
    );
    this.#readBehind = database.prepareRows(
      `SELECT seq, at, type, data, append_id FROM events
       WHERE position > ${PLACED} AND key = ? AND seq > ? AND seq <= ? ORDER BY position LIMIT ?`,
    );
    this.#lastAppend = database.prepareValue(
      `SELECT coalesce(
         (SELECT append_id FROM events WHERE position > ${PLACED} AND key = @key AND append_id IS NOT NULL
          ORDER BY position DESC LIMIT 1),
         (SELECT append_id FROM places CROSS JOIN events USING (position)
          WHERE id > (@key << 32) AND id <= ((@key << 32) | ${MAX_SEQ}) AND append_id IS NOT NULL
          ORDER BY id DESC LIMIT 1))`,
    );
    this.#replace = database.prepare(
      `UPDATE events SET at = @at, type = @type, data = @data WHERE position = (
         SELECT position FROM places WHERE id = ((@key << 32) | @seq)
         UNION ALL
         SELECT position FROM events WHERE position > ${PLACED} AND key = @key AND seq = @seq)`,
    );
    this.#remaining = database.prepareRows(
      `SELECT position, seq, at, type, data FROM (
         SELECT position FROM (SELECT position FROM places WHERE id > (@key << 32) AND id <= ((@key << 32) | ${MAX_SEQ})
           ORDER BY id LIMIT @count)
         UNION ALL
         SELECT position FROM (SELECT position FROM events WHERE position > ${PLACED} AND key = @key LIMIT @count)
       ) JOIN events USING (position) LIMIT @count`,
    );
    this.#delete = database.prepare('DELETE FROM events WHERE position = ?');
    this.#deletePlace = database.prepare('DELETE FROM places WHERE id = ((? << 32) | ?)');
    // SQLite gives the greatest position again when its row is gone; the next row there has no place yet.
    this.#limitPlaced = database.prepare(
      `UPDATE counters SET value = (SELECT coalesce(max(position), 0) FROM events)
       WHERE name = 'placed' AND value > (SELECT coalesce(max(position), 0) FROM events)`,
    );
  }

  /** Writes the events of one append, the first of which has the seq `first`; returns the position of the last. */
  insert(key: number, first: number, appendId: string | undefined, events: readonly EncodedEvent[]): number {
    let last = 0;
    let seq = first;
    for (const { at, type, data } of events) {
      const { lastInsertRowid } = this.#insert.run(key, seq, seq === first ? (appendId ?? null) : null, at, type, data);
      last = Number(lastInsertRowid);
      seq++;
    }
    // The append that fills a stretch gives all recent rows their places: no counter, no background work.
    if (Math.floor(last / this.#placeEvery) !== Math.floor((last - events.length) / this.#placeEvery)) {
      this.#place.run();
      this.#advanceSessions.run();
      this.#placed.run();
    }
    return last;
  }

  /** Up to `count` rows after `after`, none beyond `until`, in order. */
  read(key: number, after: number, until: number, count: number): EventRow[] {
    // One snapshot: rows that get their places in between are neither missed nor read twice.
    if (!this.#database.isTransaction) {
      return this.#database.transaction('DEFERRED', () => this.read(key, after, until, count));
    }
    const rows =
      this.#readTogether(key, after + 1, Math.min(until, after + count)) ??
      this.#readPlaced.all(key, after, key, until, count);
    if (rows.length === count || after + rows.length >= until) return rows;
    return rows.concat(this.#readBehind.all(key, after + rows.length, until, count - rows.length));
  }

  /** The rows from `first` to `last` when no other session's are between them: one stretch of the table, no row looked up. */
  #readTogether(key: number, first: number, last: number): EventRow[] | undefined {
    const end = this.#placeOf.get(key, last);
    const start = end === undefined ? undefined : this.#placeOf.get(key, first);
    if (end === undefined || start === undefined || end - start !== last - first) return undefined;
    return this.#readStretch.all(start, end);
  }

  /** The id of the session's last append. */
  lastAppend(key: number): string | undefined {
    return this.#lastAppend.get({ key }) ?? undefined;
  }

  replace(key: number, seq: number, { at, type, data }: EncodedEvent): void {
    this.#replace.run({ key, seq, at, type, data });
  }

  /** Some of the rows that are left of a session that is being removed. */
  remaining(key: number, count: number): readonly RemainingRow[] {
    return this.#remaining.all({ key, count });
  }

  remove(key: number, [position, seq]: RemainingRow): void {
    this.#delete.run(position);
    this.#deletePlace.run(key, seq);
  }

  /** After rows were removed, in the same transaction. */
  removed(): void {
    this.#limitPlaced.run();
  }
}
