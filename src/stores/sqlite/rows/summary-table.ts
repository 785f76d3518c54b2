import type { StoredSummary } from '../../shell/backend.ts';
import type { Database, Statement } from '../driver.ts';

/** The columns of a stored summary. */
export type SummaryRow = Pick<StoredSummary, 'seq' | 'revision' | 'version' | 'data'>;

/** The stored summaries, and which sessions have work by them. */
export class SummaryTable {
  readonly #read: Statement<[number], SummaryRow>;
  readonly #write: Statement<[number, number, number, number, string, number]>;

  constructor(database: Database) {
    this.#read = database.prepare('SELECT seq, revision, version, data FROM summaries WHERE key = ?');
    // Not REPLACE, which removes the row and its entry in the index first.
    this.#write = database.prepare(
      `INSERT INTO summaries (key, seq, revision, version, data, has_work) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, revision = excluded.revision, version = excluded.version,
         data = excluded.data, has_work = excluded.has_work`,
    );
  }

  read(key: number): SummaryRow | undefined {
    return this.#read.get(key);
  }

  write(key: number, { seq, revision, version, data, work, wakeAt }: StoredSummary): void {
    this.#write.run(key, seq, revision, version, data, work === undefined && wakeAt === undefined ? 0 : 1);
  }
}
