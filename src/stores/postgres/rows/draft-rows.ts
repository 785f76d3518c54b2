import type { DraftRow, StoreBackend } from '../../shell/backend.ts';
import type { PostgresDatabase, Statement } from '../connection/database.ts';
import { usable } from '../connection/layout.ts';

/**
 * Chunks of responses and of progress that are not recorded yet (D53, D62). Their commit does not wait for the disk: a crash of the
 * server may lose the newest ones, which no reader relies on.
 */
export class DraftRows {
  readonly #database: PostgresDatabase;
  readonly #append: Statement;
  readonly #read: Statement;
  readonly #dropOldest: Statement;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    const drafts = database.table('drafts');
    // The lock keeps a deletion of the session from leaving chunks behind; it does not wait for appends.
    this.#append = {
      name: 'append-draft',
      text: `WITH session AS MATERIALIZED (
               SELECT key, set_config('synchronous_commit', 'off', true) FROM ${database.table('sessions')}
               WHERE key = $1 AND fence = $2::bigint AND ${usable(database)}
               FOR KEY SHARE
             ), added AS (
               INSERT INTO ${drafts} (key, fence, n, draft_id, length, data)
               SELECT key, $2::bigint, n, draft_id, length, data
               FROM session CROSS JOIN unnest($3::int[], $4::text[], $5::int[], $6::text[]) AS c (n, draft_id, length, data)
               ON CONFLICT DO NOTHING
             )
             SELECT key::text AS key FROM session`,
    };
    this.#read = {
      name: 'read-draft',
      text: `SELECT fence::float8 AS fence, n, draft_id AS "draftId", data FROM ${drafts}
             WHERE key = $1 AND (fence, n) > ($2::bigint, $3::int) AND ($4::text IS NULL OR draft_id = $4)
             ORDER BY fence, n LIMIT $5`,
    };
    this.#dropOldest = {
      name: 'drop-drafts',
      text: `DELETE FROM ${drafts} WHERE key = $1 AND (fence, n) IN (
               SELECT fence, n FROM (
                 SELECT fence, n, sum(length) OVER newest AS total, row_number() OVER newest AS place
                 FROM ${drafts} WHERE key = $1 AND draft_id = $2 WINDOW newest AS (ORDER BY fence DESC, n DESC)) sized
               WHERE total > $3 AND place > 1)`,
    };
  }

  async append(
    ...[key, fence, chunks, { draftIds, maxLength }]: Parameters<StoreBackend<string>['writeDrafts']>
  ): Promise<boolean> {
    const values = [
      chunks.map(({ n }) => n),
      chunks.map(({ draftId }) => draftId),
      chunks.map(({ length }) => length),
      chunks.map(({ data }) => data),
    ];
    const [session] = await this.#database.query(this.#append, [key, fence, ...values]);
    if (!session) {
      await this.#database.checkLayout();
      return false;
    }
    for (const draftId of draftIds) await this.#database.query(this.#dropOldest, [key, draftId, maxLength]);
    return true;
  }

  async read(
    ...[key, options]: Parameters<StoreBackend<string>['readDrafts']>
  ): Promise<readonly Omit<DraftRow, 'length'>[]> {
    const { after, draftId = null, limit = null } = options;
    return this.#database.query(this.#read, [key, after.fence, after.n, draftId, limit]);
  }
}
