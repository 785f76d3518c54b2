import { lateModule } from '../../late-module.ts';
import type { Database, Statement, ValueStatement } from '../driver.ts';
import { PLACED, RECENT } from './event-table.ts';

/** The rows of `sessions`: finding, making and removing sessions. */

export interface SessionRow {
  readonly key: number;
  /** The seq of its last event that has its place. */
  readonly placed_seq: number;
  readonly fence: number | null;
  readonly incarnation: number;
  readonly revision: number;
}

/** A session and the seq of its last event. */
export interface SessionAtHead extends SessionRow {
  readonly id: string;
  readonly seq: number;
}

/** What goes with a session's row. All else that belongs to it may be much, and is removed in slices. */
const GO_WITH_ROW = ['summaries', 'snapshots', 'sessions'] as const;
const ROW_COLUMNS = 'key, seq AS placed_seq, fence, incarnation, revision';
/** The row of a session says where its log ended when its last events got their places; recent events say it better. */
const HEAD = `coalesce((SELECT seq FROM events WHERE position > ${PLACED} AND key = sessions.key ORDER BY position DESC LIMIT 1), seq)`;

export class SessionTable {
  readonly #find: Statement<[string], SessionRow>;
  readonly #findAtHead: Statement<[string], SessionAtHead>;
  readonly #readAtHead: Statement<[number], SessionAtHead>;
  readonly #recent: Statement<[], readonly [key: number, seq: number]>;
  readonly #create: ValueStatement<[string, number], number>;
  readonly #deletedIncarnations: ValueStatement<[string], number>;
  readonly #countDeleted: Statement<[string, number]>;
  readonly #doom: Statement<[number, number]>;
  readonly #doomedIndex: ValueStatement<[number], number>;
  readonly #revise: Statement<[string | null, number]>;
  readonly #isAt: ValueStatement<[number, number, number, number], number>;
  readonly #isAtFenced: ValueStatement<[number, number, number, number, number], number>;
  readonly #delete: readonly Statement<[number]>[];

  constructor(database: Database) {
    this.#find = database.prepare(`SELECT ${ROW_COLUMNS} FROM sessions WHERE id = ?`);
    const atHead = `SELECT ${ROW_COLUMNS}, id, ${HEAD} AS seq FROM sessions`;
    this.#findAtHead = database.prepare(`${atHead} WHERE id = ?`);
    this.#readAtHead = database.prepare(`${atHead} WHERE key = ? AND building_until IS NULL`);
    this.#recent = database.prepareRows(`SELECT key, seq FROM ${RECENT}`);
    this.#create = database.prepareValue('INSERT INTO sessions (id, incarnation) VALUES (?, ?) RETURNING key');
    this.#deletedIncarnations = database.prepareValue('SELECT incarnation FROM deleted_sessions WHERE id_hash = ?');
    this.#countDeleted = database.prepare(
      'INSERT OR REPLACE INTO deleted_sessions (id_hash, incarnation) VALUES (?, ?)',
    );
    this.#doom = database.prepare('INSERT INTO doomed (key, indexed_seq) VALUES (?, ?)');
    this.#doomedIndex = database.prepareValue('SELECT indexed_seq FROM doomed WHERE key = ?');
    this.#revise = database.prepare(
      'UPDATE sessions SET revision = revision + 1, updated_at = coalesce(?, updated_at) WHERE key = ?',
    );
    const isAt = `SELECT 1 FROM sessions WHERE key = ? AND revision = ? AND seq <= ?
       AND NOT EXISTS (SELECT 1 FROM events WHERE position > max(?, ${PLACED}) AND key = sessions.key)`;
    this.#isAt = database.prepareValue(isAt);
    this.#isAtFenced = database.prepareValue(`${isAt} AND fence = ?`);
    this.#delete = GO_WITH_ROW.map((table) => database.prepare(`DELETE FROM ${table} WHERE key = ?`));
  }

  find(sessionId: string): SessionRow | undefined {
    return this.#find.get(sessionId);
  }

  /** As `find`, with the seq of the last event, which costs a look at the recent events of all sessions. */
  findAtHead(sessionId: string): SessionAtHead | undefined {
    return this.#findAtHead.get(sessionId);
  }

  /** The seq of the last event of each session that has recent events, by key. */
  recentHeads(): ReadonlyMap<number, number> {
    return new Map(this.#recent.all());
  }

  /** The key of a session that is not there yet. */
  create(sessionId: string, incarnation: number = this.nextIncarnation(sessionId)): number {
    return this.#create.get(sessionId, incarnation) as number;
  }

  /** The incarnation that begins when the session is created now. */
  nextIncarnation(sessionId: string): number {
    return (this.#deletedIncarnations.get(idHash(sessionId)) ?? 0) + 1;
  }

  /** As `findAtHead`, by key; not a fork that is being copied. */
  readAtHead(key: number): SessionAtHead | undefined {
    return this.#readAtHead.get(key);
  }

  /** Notes that an event was replaced; `at` is the new time of the last event, if it was that one. */
  revise(key: number, at: string | undefined): void {
    this.#revise.run(at ?? null, key);
  }

  /** The key of a session, made if need be: a lease may come before the first event. */
  findOrCreate(sessionId: string): number {
    return this.find(sessionId)?.key ?? this.create(sessionId);
  }

  /**
   * Whether a session is where an earlier append of this process left it: no event was appended or replaced since, and the fence
   * is the caller's. `position` is that of its last event: events that were appended since have greater ones.
   */
  isAt(
    { key, revision, seq, position }: Pick<SessionRow, 'key' | 'revision'> & Record<'seq' | 'position', number>,
    fence: number | undefined,
  ): boolean {
    const found =
      fence === undefined
        ? this.#isAt.get(key, revision, seq, position)
        : this.#isAtFenced.get(key, revision, seq, position, fence);
    return found === 1;
  }

  /** Deletes a session: its row is gone at once, its events are removed in slices. */
  end(sessionId: string, { key, incarnation }: SessionRow, indexedSeq: number): void {
    this.#countDeleted.run(idHash(sessionId), incarnation);
    this.doom(key, indexedSeq);
  }

  /** Removes a row, and marks all else of the session for removal: events up to `indexedSeq` have words in the index. */
  doom(key: number, indexedSeq: number): void {
    for (const statement of this.#delete) statement.run(key);
    this.#doom.run(key, indexedSeq);
  }

  /** How far a doomed session was indexed; undefined when nothing is left of it. */
  doomedIndex(key: number): number | undefined {
    return this.#doomedIndex.get(key);
  }
}

/** What stays of a deleted session's id. */
function idHash(sessionId: string): string {
  return lateModule('node:crypto').createHash('sha256').update(sessionId).digest('base64url');
}
