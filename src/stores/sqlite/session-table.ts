import { createHash } from 'node:crypto';
import type { SessionSummary } from '../../core/session-summary.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AppendOptions, ListSessionsOptions, SessionHead, SessionInfo, SessionPage } from '../../ports/store.ts';
import { sessionGone } from '../refusals.ts';
import { checkListing, DEFAULT_PAGE, encodeCursor, matchesFilter } from '../session-listing.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';
import { type LeaseRow, leaseFromRow } from './lease-table.ts';

/** The rows of `sessions` and their summaries: finding, making, listing and removing sessions. */

export interface SessionRow {
  readonly key: number;
  readonly seq: number;
  readonly last_append: string | null;
  readonly fence: number | null;
  readonly incarnation: number;
  readonly revision: number;
}

/** A session in a list, with the columns of its lease: all of them are null when there is none. */
type ListRow = {
  readonly id: string;
  readonly seq: number;
  readonly updated_at: string;
  readonly data: string;
} & (LeaseRow | { readonly lease_holder: null });

type ListPage = [string | null, string | null, string | null, string | null, number];

/** What goes with a session's row. All else that belongs to it may be much, and is removed in slices. */
const GO_WITH_ROW = ['summaries', 'snapshots', 'sessions'] as const;
const LIST_COLUMNS = 'id, seq, updated_at, data, fence, lease_expires_at, lease_deadline, lease_holder, lease_renewals';
const LIST_PAGE = `(? IS NULL OR updated_at < ? OR (updated_at = ? AND id > ?)) ORDER BY updated_at DESC, id LIMIT ?`;

export class SessionTable {
  readonly #find: Statement<[string], SessionRow>;
  readonly #create: ValueStatement<[string, number], number>;
  readonly #deletedLives: ValueStatement<[string], number>;
  readonly #countDeleted: Statement<[string, number]>;
  readonly #doom: Statement<[number, number]>;
  readonly #doomedIndex: ValueStatement<[number], number>;
  readonly #revise: Statement<[string | null, number]>;
  readonly #advance: Statement<[number, string, string, number]>;
  readonly #advanceFrom: Statement<[number, string, string, number, number, string, number]>;
  readonly #advanceFenced: Statement<[number, string, string, number, number, string, number, number]>;
  readonly #readSummary: ValueStatement<[number], string>;
  readonly #writeSummary: Statement<[number, string, number]>;
  readonly #list: Statement<ListPage, ListRow>;
  readonly #listWork: Statement<ListPage, ListRow>;
  readonly #delete: readonly Statement<[number]>[];

  constructor(database: Database) {
    this.#find = database.prepare(
      'SELECT key, seq, last_append, fence, incarnation, revision FROM sessions WHERE id = ?',
    );
    this.#create = database.prepareValue('INSERT INTO sessions (id, incarnation) VALUES (?, ?) RETURNING key');
    this.#deletedLives = database.prepareValue('SELECT incarnation FROM deleted_sessions WHERE id_hash = ?');
    this.#countDeleted = database.prepare(
      'INSERT OR REPLACE INTO deleted_sessions (id_hash, incarnation) VALUES (?, ?)',
    );
    this.#doom = database.prepare('INSERT INTO doomed (key, indexed_seq) VALUES (?, ?)');
    this.#doomedIndex = database.prepareValue('SELECT indexed_seq FROM doomed WHERE key = ?');
    this.#revise = database.prepare(
      'UPDATE sessions SET revision = revision + 1, updated_at = coalesce(?, updated_at) WHERE key = ?',
    );
    this.#advance = database.prepare('UPDATE sessions SET seq = ?, updated_at = ?, last_append = ? WHERE key = ?');
    const advanceFrom = `UPDATE sessions SET seq = ?, updated_at = ?, last_append = ?
       WHERE key = ? AND seq = ? AND last_append IS NOT ? AND revision = ?`;
    this.#advanceFrom = database.prepare(advanceFrom);
    this.#advanceFenced = database.prepare(`${advanceFrom} AND fence = ?`);
    this.#readSummary = database.prepareValue('SELECT data FROM summaries WHERE key = ?');
    // Not REPLACE, which removes the row and its entry in the index first: every input that is sent changes a summary.
    this.#writeSummary = database.prepare(
      `INSERT INTO summaries (key, data, has_work) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET data = excluded.data, has_work = excluded.has_work`,
    );
    // No index on updated_at: every append would have to move its entry. The table is small, reading it all is quick.
    this.#list = database.prepare(
      `SELECT ${LIST_COLUMNS} FROM sessions JOIN summaries USING (key) WHERE seq > 0 AND ${LIST_PAGE}`,
    );
    // Those with work are few, and have an index of their own.
    this.#listWork = database.prepare(
      `SELECT ${LIST_COLUMNS} FROM summaries INDEXED BY summaries_with_work CROSS JOIN sessions USING (key)
       WHERE has_work = 1 AND seq > 0 AND ${LIST_PAGE}`,
    );
    this.#delete = GO_WITH_ROW.map((table) => database.prepare(`DELETE FROM ${table} WHERE key = ?`));
  }

  find(sessionId: string): SessionRow | undefined {
    return this.#find.get(sessionId);
  }

  /** The key of a session that is not there yet. */
  create(sessionId: string): number {
    return this.#create.get(sessionId, this.nextIncarnation(sessionId)) as number;
  }

  /** Which life of a session begins when it is created now. */
  nextIncarnation(sessionId: string): number {
    return (this.#deletedLives.get(idHash(sessionId)) ?? 0) + 1;
  }

  /** The session in the life that the caller means; undefined when that life has no row yet. */
  findLiving(sessionId: string, incarnation: number | undefined): SessionRow | undefined {
    const session = this.find(sessionId);
    if (incarnation === undefined) return session;
    if (incarnation !== (session?.incarnation ?? this.nextIncarnation(sessionId))) throw sessionGone(sessionId);
    return session;
  }

  head(sessionId: string): SessionHead {
    const { incarnation, seq, revision } = this.find(sessionId) ?? {
      incarnation: this.nextIncarnation(sessionId),
      seq: 0,
      revision: 0,
    };
    return { incarnation, seq, revision };
  }

  /** Notes that an event was replaced; `at` is the new time of the last event, if it was that one. */
  revise(key: number, at: string | undefined): void {
    this.#revise.run(at ?? null, key);
  }

  /** The key of a session, made if need be: a lease may come before the first event. */
  findOrCreate(sessionId: string): number {
    return this.find(sessionId)?.key ?? this.create(sessionId);
  }

  /** Records the newest append. */
  advance(key: number, seq: number, at: string, appendId: string): void {
    this.#advance.run(seq, at, appendId, key);
  }

  /**
   * Records an append if it is a new one, the session stands where its writer thinks and no event was replaced that this process
   * does not know of, which is almost always so.
   */
  advanceFrom(
    { key, revision }: Pick<SessionRow, 'key' | 'revision'>,
    seq: number,
    at: string,
    { id, expectedSeq, fence }: AppendOptions,
  ): boolean {
    const { changes } =
      fence === undefined
        ? this.#advanceFrom.run(seq, at, id, key, expectedSeq, id, revision)
        : this.#advanceFenced.run(seq, at, id, key, expectedSeq, id, revision, fence);
    return changes === 1;
  }

  readSummary(key: number): SessionSummary | undefined {
    const data = this.#readSummary.get(key);
    return data === undefined ? undefined : (JSON.parse(data) as SessionSummary);
  }

  /** Returns the summary as it will be read. */
  writeSummary(key: number, summary: SessionSummary): SessionSummary {
    const data = JSON.stringify(summary);
    this.#writeSummary.run(key, data, summary.work !== undefined || summary.wakeAt !== undefined ? 1 : 0);
    return JSON.parse(data) as SessionSummary;
  }

  /** Ends a session's life: its row is gone at once, its events are removed in slices. */
  end(sessionId: string, { key, incarnation }: SessionRow, indexedSeq: number): void {
    this.#countDeleted.run(idHash(sessionId), incarnation);
    this.doom(key, indexedSeq);
  }

  /** Removes a row, and marks all else of the session for removal: events up to `indexedSeq` have words in the index. */
  doom(key: number, indexedSeq: number): void {
    for (const statement of this.#delete) statement.run(key);
    this.#doom.run(key, indexedSeq);
  }

  /** How far a doomed session was indexed; undefined when nothing is left of it. */
  doomedIndex(key: number): number | undefined {
    return this.#doomedIndex.get(key);
  }

  list(options: ListSessionsOptions, clock: Clock): SessionPage {
    const { limit = DEFAULT_PAGE } = options;
    let position = checkListing(options);
    const found: SessionInfo[] = [];
    // Each round looks at more rows, so that a filter that lets few through does not scan the table for every few of them.
    for (let rows = limit + 1; ; rows *= 8) {
      const { updatedAt = null, id = null } = position ?? {};
      const list = options.work ? this.#listWork : this.#list;
      const chunk = list.all(updatedAt, updatedAt, updatedAt, id, rows);
      for (const row of chunk) {
        const info = infoOf(row, clock);
        if (matchesFilter(info, options) && found.push(info) > limit) {
          const last = found[limit - 1] as SessionInfo;
          return { sessions: found.slice(0, limit), next: encodeCursor(last) };
        }
      }
      const last = chunk.at(-1);
      if (!last || chunk.length < rows) return { sessions: found };
      position = { updatedAt: last.updated_at, id: last.id };
    }
  }
}

function infoOf(row: ListRow, clock: Clock): SessionInfo {
  const { id, seq, updated_at: updatedAt } = row;
  const info = { ...JSON.parse(row.data), id, seq, updatedAt } as SessionInfo;
  return row.lease_holder === null ? info : { ...info, lease: leaseFromRow(row, clock) };
}

/** What stays of a deleted session's id. */
function idHash(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest('base64url');
}
