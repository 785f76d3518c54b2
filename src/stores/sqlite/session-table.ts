import type { SessionSummary } from '../../core/session-summary.ts';
import type { AppendOptions, ListSessionsOptions, SessionInfo, SessionPage } from '../../ports/store.ts';
import { checkListing, DEFAULT_PAGE, encodeCursor, matchesFilter } from '../session-listing.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';

/** The rows of `sessions` and their summaries: finding, making, listing and removing sessions. */

export interface SessionRow {
  readonly key: number;
  readonly seq: number;
  readonly last_append: string | null;
  readonly fence: number | null;
}

interface ListRow {
  readonly id: string;
  readonly seq: number;
  readonly updated_at: string;
  readonly data: string;
}

/** What belongs to a session apart from its row, its events, its contents and its index. */
const BELONGINGS = ['summaries', 'snapshots', 'drafts', 'content_refs'] as const;

export class SessionTable {
  readonly #find: Statement<[string], SessionRow>;
  readonly #create: ValueStatement<[string], number>;
  readonly #advance: Statement<[number, string, string, number]>;
  readonly #advanceFrom: Statement<[number, string, string, number, number, string]>;
  readonly #advanceFenced: Statement<[number, string, string, number, number, string, number]>;
  readonly #readSummary: ValueStatement<[number], string>;
  readonly #writeSummary: Statement<[number, string]>;
  readonly #list: Statement<[string | null, string | null, string | null, string | null, number], ListRow>;
  readonly #delete: readonly Statement<[number]>[];

  constructor(database: Database) {
    this.#find = database.prepare('SELECT key, seq, last_append, fence FROM sessions WHERE id = ?');
    this.#create = database.prepareValue('INSERT INTO sessions (id) VALUES (?) RETURNING key');
    this.#advance = database.prepare('UPDATE sessions SET seq = ?, updated_at = ?, last_append = ? WHERE key = ?');
    const advanceFrom =
      'UPDATE sessions SET seq = ?, updated_at = ?, last_append = ? WHERE key = ? AND seq = ? AND last_append IS NOT ?';
    this.#advanceFrom = database.prepare(advanceFrom);
    this.#advanceFenced = database.prepare(`${advanceFrom} AND fence = ?`);
    this.#readSummary = database.prepareValue('SELECT data FROM summaries WHERE key = ?');
    this.#writeSummary = database.prepare('INSERT OR REPLACE INTO summaries (key, data) VALUES (?, ?)');
    // No index on updated_at: every append would have to move its entry. The table is small, reading it all is quick.
    this.#list = database.prepare(
      `SELECT id, seq, updated_at, data FROM sessions JOIN summaries USING (key)
       WHERE seq > 0 AND (? IS NULL OR updated_at < ? OR (updated_at = ? AND id > ?))
       ORDER BY updated_at DESC, id LIMIT ?`,
    );
    this.#delete = [...BELONGINGS, 'sessions'].map((table) => database.prepare(`DELETE FROM ${table} WHERE key = ?`));
  }

  find(sessionId: string): SessionRow | undefined {
    return this.#find.get(sessionId);
  }

  /** The key of a session that is not there yet. */
  create(sessionId: string): number {
    return this.#create.get(sessionId) as number;
  }

  /** The key of a session, made if need be: a lease, a draft or a content may come before the first event. */
  findOrCreate(sessionId: string): number {
    return this.find(sessionId)?.key ?? this.create(sessionId);
  }

  /** Records the newest append. */
  advance(key: number, seq: number, at: string, appendId: string): void {
    this.#advance.run(seq, at, appendId, key);
  }

  /** Records an append if it is a new one and the session stands where its writer thinks, which is almost always so. */
  advanceFrom(key: number, seq: number, at: string, { id, expectedSeq, fence }: AppendOptions): boolean {
    const { changes } =
      fence === undefined
        ? this.#advanceFrom.run(seq, at, id, key, expectedSeq, id)
        : this.#advanceFenced.run(seq, at, id, key, expectedSeq, id, fence);
    return changes === 1;
  }

  readSummary(key: number): SessionSummary | undefined {
    const data = this.#readSummary.get(key);
    return data === undefined ? undefined : (JSON.parse(data) as SessionSummary);
  }

  /** Returns the summary as it will be read. */
  writeSummary(key: number, summary: SessionSummary): SessionSummary {
    const data = JSON.stringify(summary);
    this.#writeSummary.run(key, data);
    return JSON.parse(data) as SessionSummary;
  }

  /** Removes the row and what hangs on it, but for its events and their index. */
  delete(key: number): void {
    for (const statement of this.#delete) statement.run(key);
  }

  list(options: ListSessionsOptions): SessionPage {
    const { limit = DEFAULT_PAGE } = options;
    let position = checkListing(options);
    const found: SessionInfo[] = [];
    // Each round looks at more rows, so that a filter that lets few through does not scan the table for every few of them.
    for (let rows = limit + 1; ; rows *= 8) {
      const { updatedAt = null, id = null } = position ?? {};
      const chunk = this.#list.all(updatedAt, updatedAt, updatedAt, id, rows);
      for (const row of chunk) {
        const info = { ...JSON.parse(row.data), id: row.id, seq: row.seq, updatedAt: row.updated_at } as SessionInfo;
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
