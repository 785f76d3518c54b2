import type { DraftChunk, ReadDraftOptions } from '../../ports/store.ts';
import { boundedDrafts, excessProgress } from '../draft-rules.ts';
import type { Database, Statement, ValueStatement } from './driver.ts';

type DraftRow = readonly [fence: number, n: number, draftId: string, data: string];

const ALL = 0x7fff_ffff;

/** Chunks of responses and of progress that are not recorded yet (D53, D62). A delta is kept as JSON: it may end in half of a pair. */
export class DraftTable {
  readonly #insert: Statement<[number, number, number, string, number, string]>;
  readonly #read: Statement<[number, number, number, string | null, string | null, number], DraftRow>;
  readonly #last: ValueStatement<[number], string>;
  readonly #end: Statement<[number, string]>;
  readonly #lengths: ValueStatement<[number, string], number>;
  readonly #dropOldest: Statement<[number, number, string, number]>;

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
    this.#lengths = database.prepareValue('SELECT length FROM drafts WHERE key = ? AND draft_id = ? ORDER BY fence, n');
    this.#dropOldest = database.prepare(
      `DELETE FROM drafts WHERE key = ? AND (fence, n) IN
         (SELECT fence, n FROM drafts WHERE key = ? AND draft_id = ? ORDER BY fence, n LIMIT ?)`,
    );
  }

  append(key: number, chunks: readonly DraftChunk[]): void {
    for (const { fence, n, draftId, ...rest } of chunks) {
      this.#insert.run(key, fence, n, draftId, rest.delta.length, JSON.stringify(rest));
    }
    for (const draftId of boundedDrafts(chunks)) {
      const excess = excessProgress(this.#lengths.all(key, draftId));
      if (excess > 0) this.#dropOldest.run(key, key, draftId, excess);
    }
  }

  read(key: number, options: ReadDraftOptions): readonly DraftChunk[] {
    const { after: { fence, n } = { fence: -1, n: 0 }, limit = ALL } = options;
    const draftId = options.draftId ?? null;
    return this.#read.all(key, fence, n, draftId, draftId, limit).map(([rowFence, rowN, id, data]) => ({
      ...(JSON.parse(data) as Omit<DraftChunk, 'fence' | 'n' | 'draftId'>),
      fence: rowFence,
      n: rowN,
      draftId: id,
    }));
  }

  /** The position of the newest chunk, as text that changes with it. */
  last(key: number): string {
    return this.#last.get(key) ?? '';
  }

  end(key: number, draftIds: readonly string[]): void {
    for (const draftId of draftIds) this.#end.run(key, draftId);
  }
}
