import type { AppendOptions } from '../../ports/store.ts';
import { refuseStale } from '../append-rules.ts';
import { type EncodedEvent, sameEvents } from '../encoded-event.ts';
import { appendIdReused } from '../refusals.ts';
import type { PostgresDatabase, Statement } from './database.ts';
import type { SessionRow, SessionRows } from './session-rows.ts';

interface AppendedRow extends EncodedEvent {
  readonly append_id: string | null;
}

/** Finds out why an append was not written. */
export class AppendRefusals {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionRows;
  readonly #appended: Statement;

  constructor(database: PostgresDatabase, sessions: SessionRows) {
    this.#database = database;
    this.#sessions = sessions;
    this.#appended = {
      name: 'appended',
      text: `SELECT append_id, at, type, data FROM ${database.table('events')}
             WHERE key = $1 AND seq > $2 AND seq <= $3 ORDER BY seq`,
    };
  }

  /** The last seq of the append that this one repeats. Throws when it is stale; `repeated` is undefined if it can be tried again. */
  async explain(
    sessionId: string,
    events: readonly EncodedEvent[],
    options: AppendOptions,
  ): Promise<{ readonly repeated?: number }> {
    const session = await this.#sessions.findLiving(sessionId, options.incarnation);
    const repeated = session && (await this.#findRepeated(session, sessionId, events, options));
    if (repeated !== undefined) return { repeated };
    refuseStale(sessionId, { seq: session?.seq ?? 0, fence: session?.fence ?? undefined }, options);
    await this.#database.checkLayout();
    return {};
  }

  /** Where the append ended that this one repeats: the one at the same position, or the session's last. */
  async #findRepeated(
    { key, seq: head, last_append }: SessionRow,
    sessionId: string,
    events: readonly EncodedEvent[],
    { id, expectedSeq }: AppendOptions,
  ): Promise<number | undefined> {
    const { length } = events;
    const isLast = last_append === id;
    const starts = [...(expectedSeq < head ? [expectedSeq] : []), ...(isLast ? [head - length] : [])];
    for (const after of starts) {
      if (after < 0) continue;
      const rows = await this.#database.query<AppendedRow>(this.#appended, [key, after, after + length + 1]);
      const [first, ...rest] = rows;
      if (first?.append_id !== id) continue;
      const next = rest.findIndex((row) => row.append_id !== null);
      if (sameEvents([first, ...(next === -1 ? rest : rest.slice(0, next))], events)) return after + length;
      throw appendIdReused(sessionId, id);
    }
    if (isLast) throw appendIdReused(sessionId, id);
    return undefined;
  }
}
