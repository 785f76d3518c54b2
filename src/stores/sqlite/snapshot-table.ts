import type { StoredSnapshot } from '../../ports/store.ts';
import { snapshotBeyondLog } from '../refusals.ts';
import type { Database, Statement } from './driver.ts';
import type { SessionTable } from './session-table.ts';

/** The newest snapshot of each session. */
export class SnapshotTable {
  readonly #sessions: SessionTable;
  readonly #write: Statement<[number, number, string]>;
  readonly #read: Statement<[string], StoredSnapshot>;
  readonly #drop: Statement<[number]>;

  constructor(database: Database, sessions: SessionTable) {
    this.#sessions = sessions;
    this.#write = database.prepare(
      `INSERT INTO snapshots (key, seq, data) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= snapshots.seq`,
    );
    this.#read = database.prepare(
      'SELECT snapshots.seq, data FROM snapshots JOIN sessions USING (key) WHERE sessions.id = ?',
    );
    this.#drop = database.prepare('DELETE FROM snapshots WHERE key = ?');
  }

  /** Refuses a snapshot beyond the log: after a deletion it would bring back what was deleted. */
  write(sessionId: string, { seq, data }: StoredSnapshot): void {
    const session = this.#sessions.find(sessionId);
    const head = session?.seq ?? 0;
    if (seq > head) throw snapshotBeyondLog(sessionId, seq, head);
    if (session && seq > 0) this.#write.run(session.key, seq, data);
  }

  read(sessionId: string): StoredSnapshot | undefined {
    const row = this.#read.get(sessionId);
    return row && { ...row };
  }

  drop(key: number): void {
    this.#drop.run(key);
  }
}
