import type { DraftChunk, ReadDraftOptions } from '../../ports/store.ts';
import { boundedDrafts, excessProgress } from '../draft-rules.ts';
import { fenceConflict } from '../refusals.ts';
import type { PostgresDatabase, Statement } from './database.ts';
import { usable } from './layout.ts';
import type { SessionRows } from './session-rows.ts';

interface DraftRow {
  readonly fence: number;
  readonly n: number;
  readonly draft_id: string;
  readonly data: string;
}

/**
 * Chunks of responses and of progress that are not recorded yet (D53, D62). Their commit does not wait for the disk: a crash of the
 * server may lose the newest ones, which no reader relies on.
 */
export class DraftRows {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionRows;
  readonly #append: Statement;
  readonly #read: Statement;
  readonly #lengths: Statement;
  readonly #dropOldest: Statement;

  constructor(database: PostgresDatabase, sessions: SessionRows) {
    this.#database = database;
    this.#sessions = sessions;
    const drafts = database.table('drafts');
    // The lock keeps a deletion of the session from leaving chunks behind; it does not wait for appends.
    this.#append = {
      name: 'append-draft',
      text: `WITH session AS MATERIALIZED (
               SELECT key, set_config('synchronous_commit', 'off', true) FROM ${database.table('sessions')}
               WHERE id = $1 AND fence = $2::bigint AND ($3::int IS NULL OR incarnation = $3) AND ${usable(database)}
               FOR KEY SHARE
             ), added AS (
               INSERT INTO ${drafts} (key, fence, n, draft_id, length, data)
               SELECT key, $2::bigint, n, draft_id, length, data
               FROM session CROSS JOIN unnest($4::int[], $5::text[], $6::int[], $7::text[]) AS c (n, draft_id, length, data)
               ON CONFLICT DO NOTHING
             )
             SELECT key::text AS key FROM session`,
    };
    this.#read = {
      name: 'read-draft',
      text: `SELECT fence::float8 AS fence, n, draft_id, data FROM ${drafts}
             WHERE key = $1 AND (fence, n) > ($2::bigint, $3::int) AND ($4::text IS NULL OR draft_id = $4)
             ORDER BY fence, n LIMIT $5`,
    };
    this.#lengths = {
      name: 'draft-lengths',
      text: `SELECT length FROM ${drafts} WHERE key = $1 AND draft_id = $2 ORDER BY drafts.fence, drafts.n`,
    };
    this.#dropOldest = {
      name: 'drop-drafts',
      text: `DELETE FROM ${drafts} WHERE key = $1 AND (fence, n) IN
               (SELECT fence, n FROM ${drafts} WHERE key = $1 AND draft_id = $2 ORDER BY fence, n LIMIT $3)`,
    };
  }

  async append(
    sessionId: string,
    chunks: readonly DraftChunk[],
    { incarnation, fence }: { readonly incarnation?: number | undefined; readonly fence: number },
  ): Promise<void> {
    const encoded = chunks.map(({ fence: _, n, draftId, ...rest }) => [
      n,
      draftId,
      rest.delta.length,
      JSON.stringify(rest),
    ]);
    const column = (i: number): readonly unknown[] => encoded.map((row) => row[i]);
    const values = [sessionId, fence, incarnation ?? null, column(0), column(1), column(2), column(3)];
    const [session] = await this.#database.query<{ readonly key: string }>(this.#append, values);
    if (!session) {
      await this.#database.checkLayout();
      const row = await this.#sessions.findLiving(sessionId, incarnation);
      throw fenceConflict(sessionId, row?.fence ?? undefined, fence);
    }
    for (const draftId of boundedDrafts(chunks)) await this.#limit(session.key, draftId);
  }

  /** Drops the oldest chunks of a draft whose length is limited. */
  async #limit(key: string, draftId: string): Promise<void> {
    const rows = await this.#database.query<{ readonly length: number }>(this.#lengths, [key, draftId]);
    const excess = excessProgress(rows.map(({ length }) => length));
    if (excess > 0) await this.#database.query(this.#dropOldest, [key, draftId, excess]);
  }

  async read(sessionId: string, options: ReadDraftOptions): Promise<readonly DraftChunk[]> {
    const session = await this.#sessions.findLiving(sessionId, options.incarnation);
    if (!session) return [];
    const { after: { fence, n } = { fence: -1, n: 0 }, draftId = null, limit = null } = options;
    const rows = await this.#database.query<DraftRow>(this.#read, [session.key, fence, n, draftId, limit]);
    return rows.map((row) => ({
      ...(JSON.parse(row.data) as Omit<DraftChunk, 'fence' | 'n' | 'draftId'>),
      fence: row.fence,
      n: row.n,
      draftId: row.draft_id,
    }));
  }
}
