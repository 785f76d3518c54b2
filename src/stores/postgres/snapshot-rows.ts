import type { IncarnationOption, StoredSnapshot, WriteSnapshotOptions } from '../../ports/store.ts';
import { fenceConflict, snapshotBeyondLog } from '../refusals.ts';
import type { PostgresDatabase, Statement } from './database.ts';
import type { SessionRows } from './session-rows.ts';

/** The newest snapshot of each session. */
export class SnapshotRows {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionRows;
  readonly #write: Statement;
  readonly #read: Statement;

  constructor(database: PostgresDatabase, sessions: SessionRows) {
    this.#database = database;
    this.#sessions = sessions;
    const snapshots = database.table('snapshots');
    this.#write = {
      name: 'write-snapshot',
      text: `INSERT INTO ${snapshots} (key, seq, data) VALUES ($1, $2, $3)
             ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= snapshots.seq`,
    };
    this.#read = { name: 'read-snapshot', text: `SELECT seq, data FROM ${snapshots} WHERE key = $1` };
  }

  async write(
    sessionId: string,
    { seq, data }: StoredSnapshot,
    { incarnation, revision, fence }: WriteSnapshotOptions,
  ): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const session = await this.#sessions.lock(sessionId, incarnation, sql);
      const head = session?.seq ?? 0;
      if (fence !== undefined && fence !== session?.fence) {
        throw fenceConflict(sessionId, session?.fence ?? undefined, fence);
      }
      if (seq > head) throw snapshotBeyondLog(sessionId, seq, head);
      if (!session || seq === 0 || (revision !== undefined && revision !== session.revision)) return;
      await sql.query(this.#write, [session.key, seq, data]);
    });
  }

  async read(sessionId: string, { incarnation }: IncarnationOption): Promise<StoredSnapshot | undefined> {
    const session = await this.#sessions.findLiving(sessionId, incarnation);
    if (!session) return undefined;
    return (await this.#database.query<StoredSnapshot>(this.#read, [session.key]))[0];
  }
}
