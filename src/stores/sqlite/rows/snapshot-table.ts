import type { StoredSnapshot } from '../../../ports/store.ts';
import type { Database, Statement } from '../driver.ts';

/** The newest snapshot of each session. */
export class SnapshotTable {
  readonly #write: Statement<[number, number, string]>;
  readonly #read: Statement<[number], StoredSnapshot>;
  readonly #drop: Statement<[number]>;

  constructor(database: Database) {
    this.#write = database.prepare(
      `INSERT INTO snapshots (key, seq, data) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= snapshots.seq`,
    );
    this.#read = database.prepare('SELECT seq, data FROM snapshots WHERE key = ?');
    this.#drop = database.prepare('DELETE FROM snapshots WHERE key = ?');
  }

  write(key: number, { seq, data }: StoredSnapshot): void {
    this.#write.run(key, seq, data);
  }

  read(key: number): StoredSnapshot | undefined {
    const row = this.#read.get(key);
    return row && { ...row };
  }

  drop(key: number): void {
    this.#drop.run(key);
  }
}
