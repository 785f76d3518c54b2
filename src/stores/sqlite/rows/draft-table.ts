import type { DraftRow, StoreBackend } from '../../shell/backend.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';

type Row = readonly [fence: number, n: number, draftId: string, data: string];

const ALL = 0x7fff_ffff;

/** Chunks of responses and of progress that are not recorded yet (D53, D62). */
export class DraftTable {
  readonly #insert: Statement<[number, number, number, string, number, string]>;
  readonly #read: Statement<[number, number, number, string | null, string | null, number], Row>;
  readonly #last: ValueStatement<[number], string>;
  readonly #end: Statement<[number, string]>;
  readonly #dropOldest: Statement<{ key: number; draftId: string; maxLength: number }>;

  constructor(database: Database) {
    this.#insert = database.prepare(
      'INSERT INTO drafts (key, fence, n, draft_id, length, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#read = database.prepareRows(
      `SELECT fence, n, draft_id, data FROM drafts
       WHERE key = ? AND (fence, n) > (?, ?) AND (? IS NULL OR draft_id = ?)
       ORDER BY fence, n LIMIT ?`,
    );
    this.#last = database.prepareValue(
      `SELECT fence || '.' || n FROM drafts WHERE key = ? ORDER BY fence DESC, n DESC LIMIT 1`,
    );
    this.#end = database.prepare('DELETE FROM drafts WHERE key = ? AND draft_id = ?');
    this.#dropOldest = database.prepare(
      `DELETE FROM drafts WHERE key = @key AND (fence, n) IN (
         SELECT fence, n FROM (
           SELECT fence, n, sum(length) OVER newest AS total, row_number() OVER newest AS place
           FROM drafts WHERE key = @key AND draft_id = @draftId WINDOW newest AS (ORDER BY fence DESC, n DESC))
         WHERE total > @maxLength AND place > 1)`,
    );
  }

  append(
    key: number,
    chunks: readonly DraftRow[],
    { draftIds, maxLength }: Parameters<StoreBackend['writeDrafts']>[3],
  ): void {
    for (const { fence, n, draftId, length, data } of chunks) this.#insert.run(key, fence, n, draftId, length, data);
    for (const draftId of draftIds) this.#dropOldest.run({ key, draftId, maxLength });
  }

  read(key: number, options: Parameters<StoreBackend['readDrafts']>[1]): readonly Omit<DraftRow, 'length'>[] {
    const { after, limit = ALL } = options;
    const draftId = options.draftId ?? null;
    const rows = this.#read.all(key, after.fence, after.n, draftId, draftId, limit);
    return rows.map(([fence, n, id, data]) => ({ fence, n, draftId: id, data }));
  }

  /** The position of the newest chunk, as text that changes with it. */
  last(key: number): string {
    return this.#last.get(key) ?? '';
  }

  end(key: number, draftIds: readonly string[]): void {
    for (const draftId of draftIds) this.#end.run(key, draftId);
  }
}
