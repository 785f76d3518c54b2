import type { DraftChunk } from '../../ports/store.ts';
import type { Database, Statement } from './driver.ts';
import type { SessionTable } from './session-table.ts';

interface DraftRow {
  readonly turn: number;
  readonly attempt: number;
  readonly n: number;
  readonly block_id: string;
  readonly delta: string;
  readonly kind: NonNullable<DraftChunk['kind']> | null;
  readonly tool_name: string | null;
}

/** Chunks of answers that are being streamed (D53). A delta is kept as JSON: it may end in half of a surrogate pair. */
export class DraftTable {
  readonly #sessions: SessionTable;
  readonly #insert: Statement<[number, string, number, number, number, string, string, string | null, string | null]>;
  readonly #read: Statement<[string, string], DraftRow>;
  readonly #delete: Statement<[string, string]>;

  constructor(database: Database, sessions: SessionTable) {
    this.#sessions = sessions;
    this.#insert = database.prepare(
      `INSERT INTO drafts (key, evaluation_id, turn, attempt, n, block_id, delta, kind, tool_name)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    );
    this.#read = database.prepare(
      `SELECT turn, attempt, n, block_id, delta, kind, tool_name FROM drafts
       WHERE key = (SELECT key FROM sessions WHERE id = ?) AND evaluation_id = ? ORDER BY turn, attempt, n`,
    );
    this.#delete = database.prepare(
      'DELETE FROM drafts WHERE key = (SELECT key FROM sessions WHERE id = ?) AND evaluation_id = ?',
    );
  }

  append(sessionId: string, chunks: readonly DraftChunk[]): void {
    const key = this.#sessions.findOrCreate(sessionId);
    for (const { evaluationId, turn, attempt, n, blockId, delta, kind = null, toolName = null } of chunks) {
      this.#insert.run(key, evaluationId, turn, attempt, n, blockId, JSON.stringify(delta), kind, toolName);
    }
  }

  read(sessionId: string, evaluationId: string): readonly DraftChunk[] {
    return this.#read.all(sessionId, evaluationId).map(({ turn, attempt, n, block_id, delta, kind, tool_name }) => ({
      evaluationId,
      turn,
      attempt,
      n,
      blockId: block_id,
      delta: JSON.parse(delta) as string,
      ...(kind !== null && { kind }),
      ...(tool_name !== null && { toolName: tool_name }),
    }));
  }

  delete(sessionId: string, evaluationId: string): void {
    this.#delete.run(sessionId, evaluationId);
  }
}
