import { isHoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import { changesSummary } from '../../core/summary/summary-change.ts';
import type { EventReading, ReadOptions, ReplaceEventOptions } from '../../ports/store.ts';
import { decodeEvent, encodeEvent } from '../encoded-event.ts';
import { eventNotFound, gap, incompleteEvent, sessionNotFound } from '../refusals.ts';
import type { PostgresDatabase, Sql, Statement } from './database.ts';
import { type EventRow, readEventsStatement } from './read-events.ts';
import type { SearchIndex } from './search-index.ts';
import type { SessionRow, SessionRows } from './session-rows.ts';

/** The summary of a log in which one event is replaced. */
interface Refolded {
  readonly revision: number;
  /** The last event that is folded in. */
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
}

interface Parts {
  readonly database: PostgresDatabase;
  readonly sessions: SessionRows;
  readonly index: SearchIndex;
  /** Reads a log in short queries. */
  read(sessionId: string, options: ReadOptions): EventReading;
}

/**
 * Replaces one event, with everything that was made from it, in one transaction. A summary that depends on the event is folded again
 * from the log before that transaction, in short reads; the transaction folds in what was appended since.
 */
export class EventReplacement {
  readonly #parts: Parts;
  readonly #events: Statement;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#events = readEventsStatement(parts.database);
  }

  async replace(sessionId: string, event: SessionEvent, options: ReplaceEventOptions): Promise<void> {
    const { at, type, data } = encodeEvent(event);
    // As it will be read, and as it is now: the caller may change its event meanwhile.
    const replacement = decodeEvent(sessionId, event.seq, at, type, data);
    let refolded: Refolded | undefined;
    for (;;) {
      const outdated = await this.#parts.database.transaction((sql) =>
        this.#attempt(sql, sessionId, replacement, options, refolded),
      );
      if (!outdated) return;
      refolded = await this.#refold(sessionId, outdated, replacement);
    }
  }

  /** Replaces the event; returns the session, and changes nothing, when its summary has to be folded first. */
  async #attempt(
    sql: Sql,
    sessionId: string,
    replacement: SessionEvent,
    { incarnation, contents: kept = [] }: ReplaceEventOptions,
    refolded: Refolded | undefined,
  ): Promise<SessionRow | undefined> {
    const { database, sessions, index } = this.#parts;
    const { seq } = replacement;
    const session = await sessions.lock(sessionId, incarnation, sql);
    if (!session?.seq) throw sessionNotFound(sessionId);
    if (seq > session.seq) throw eventNotFound(sessionId, seq);
    const { key } = session;
    const isChanged = await this.#changesSummary(sql, sessionId, key, replacement);
    if (isChanged && refolded?.revision !== session.revision) return session;
    const summary = isChanged ? await this.#foldRest(sql, sessionId, session, refolded) : undefined;
    const { at, type, data } = encodeEvent(replacement);
    const run = (name: string, text: string, ...values: readonly unknown[]) =>
      sql.query({ name: `replace-${name}`, text }, [key, ...values]);
    const table = (name: string): string => database.table(name);
    await run(
      'event',
      `UPDATE ${table('events')} SET at = $3, type = $4, data = $5 WHERE key = $1 AND seq = $2`,
      seq,
      at,
      type,
      data,
    );
    await run(
      'contents',
      `WITH ended AS (DELETE FROM ${table('event_contents')} WHERE key = $1 AND seq = $2 AND NOT hash = ANY ($3::text[]) RETURNING hash)
       DELETE FROM ${table('contents')} c USING ended WHERE c.key = $1 AND c.hash = ended.hash AND NOT EXISTS (
         SELECT 1 FROM ${table('event_contents')} r WHERE r.key = $1 AND r.hash = ended.hash AND r.seq <> $2)`,
      seq,
      kept,
    );
    await run('snapshot', `DELETE FROM ${table('snapshots')} WHERE key = $1`);
    await run('words', `DELETE FROM ${table('search')} WHERE key = $1 AND seq = $2`, seq);
    const words = await index.wordsIn(key, replacement, sql);
    if (words !== undefined) {
      const vector = `CASE WHEN $3::text IS NULL THEN NULL ELSE array_to_tsvector(string_to_array($3, ' ')) END`;
      await run('new-words', `INSERT INTO ${table('search')} (key, seq, words) VALUES ($1, $2, ${vector})`, seq, words);
    }
    await run(
      'session',
      `UPDATE ${table('sessions')} SET revision = revision + 1, updated_at = coalesce($2::text, updated_at),
         updated_hour = coalesce(left($2::text, 13), updated_hour) WHERE key = $1`,
      seq === session.seq ? at : null,
    );
    if (summary) {
      await run(
        'summary',
        `UPDATE ${table('sessions')} SET summary = $2, status = $3, work = $4, wake_at = $5 WHERE key = $1`,
        JSON.stringify(summary),
        summary.status ?? null,
        summary.work ?? null,
        summary.wakeAt ?? null,
      );
    }
    return undefined;
  }

  /** An event that cannot be read may be replaced, too; what its session's summary has of it stays. */
  async #changesSummary(sql: Sql, sessionId: string, key: string, replacement: SessionEvent): Promise<boolean> {
    try {
      return changesSummary(await this.#read(sql, sessionId, key, replacement.seq), replacement);
    } catch (error) {
      if (isHoldfastError(error, 'STORE_CORRUPT')) return false;
      throw error;
    }
  }

  async #read(sql: Sql, sessionId: string, key: string, seq: number): Promise<SessionEvent> {
    const [row] = await sql.query<EventRow>(this.#events, [key, seq - 1, seq, 1]);
    if (!row) throw gap(sessionId, seq);
    return decodeEvent(sessionId, seq, row.at, row.type, row.data);
  }

  async #refold(sessionId: string, session: SessionRow, replacement: SessionEvent): Promise<Refolded> {
    const { seq, revision, incarnation } = session;
    let summary: SessionSummary | undefined;
    for await (const event of this.#parts.read(sessionId, { incarnation, limit: seq })) {
      summary = summarize(summary, event.seq === replacement.seq ? replacement : event);
    }
    return { revision, seq, summary };
  }

  /** Folds in what was appended since the log was read. */
  async #foldRest(
    sql: Sql,
    sessionId: string,
    session: SessionRow,
    refolded: Refolded | undefined,
  ): Promise<SessionSummary | undefined> {
    let { seq = 0, summary } = refolded ?? {};
    while (seq < session.seq) summary = summarize(summary, await this.#read(sql, sessionId, session.key, ++seq));
    return summary;
  }
}

function summarize(summary: SessionSummary | undefined, event: SessionEvent): SessionSummary {
  try {
    return summarizeSession(summary, event);
  } catch (cause) {
    throw incompleteEvent(event.type, cause);
  }
}
