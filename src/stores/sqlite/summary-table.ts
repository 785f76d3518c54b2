import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import { decodeEvent } from '../encoded-event.ts';
import type { Database, Statement } from './driver.ts';
import { type EventRow, type EventTable, PLACED, RECENT } from './event-table.ts';

const MAX_KNOWN = 1024;
const ROWS = 128;

/** A log up to an event. A replaced event makes a new revision of it. */
export interface LogPosition {
  readonly key: number;
  readonly revision: number;
  readonly seq: number;
}

/** The end of a log whose last `count` events are recent; `at` is the time of the last. */
export interface RecentPosition extends LogPosition {
  readonly count: number;
  readonly at: string;
}

interface KnownSummary extends LogPosition {
  readonly summary: SessionSummary;
}

/** A summary and the last event that is folded in. */
interface Folded {
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
}

type RecentRow = readonly [key: number, ...row: EventRow];

/**
 * The rows of `summaries`. An append does not change them: a row is written when the session's events get their places, and what
 * recent events change is folded in when a summary is read. This process remembers the summaries that it folded, so that each
 * event is folded once. A row that cannot be read is folded again from the log.
 */
export class SummaryTable {
  readonly #events: EventTable;
  readonly #read: Statement<[number], { readonly seq: number; readonly data: string }>;
  readonly #write: Statement<[number, number, string, number]>;
  readonly #recent: Statement<[], RecentPosition>;
  readonly #recentRows: Statement<[string], RecentRow>;
  /** The summary at a seq and a revision never changes, and a key is never used again. */
  readonly #known = new Map<number, KnownSummary>();

  constructor(database: Database, events: EventTable) {
    this.#events = events;
    this.#read = database.prepare('SELECT seq, data FROM summaries WHERE key = ?');
    // Not REPLACE, which removes the row and its entry in the index first.
    this.#write = database.prepare(
      `INSERT INTO summaries (key, seq, data, has_work) VALUES (?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET seq = excluded.seq, data = excluded.data, has_work = excluded.has_work`,
    );
    // A fork that is being copied gets its summary when it is complete.
    this.#recent = database.prepare(
      `SELECT key, sessions.revision AS revision, recent.seq AS seq, count, at
       FROM ${RECENT} AS recent JOIN sessions USING (key) WHERE building_until IS NULL`,
    );
    this.#recentRows = database.prepareRows(
      `SELECT key, seq, at, type, data FROM events
       WHERE position > ${PLACED} AND key IN (SELECT value FROM json_each(?)) ORDER BY position`,
    );
  }

  /** The summary of one log up to a position, undefined before its first event. */
  read({ key, revision, seq }: LogPosition): SessionSummary | undefined {
    return this.#foldOn(key, this.#latest(key, revision, seq), seq).summary;
  }

  /** The summaries of many logs up to their ends, by key: the recent events of all sessions are read once. */
  readRecent(positions: readonly RecentPosition[]): ReadonlyMap<number, SessionSummary> {
    const folded = new Map<number, Folded>();
    const behind: number[] = [];
    for (const { key, revision, seq, count } of positions) {
      const start = this.#foldOn(key, this.#latest(key, revision, seq), seq - count);
      folded.set(key, start);
      if (start.seq < seq) behind.push(key);
    }
    if (behind.length > 0) {
      for (const [key, ...row] of this.#recentRows.iterate(JSON.stringify(behind))) {
        const before = folded.get(key);
        if (before && row[0] > before.seq) folded.set(key, { seq: row[0], summary: foldRow(before.summary, row) });
      }
    }
    return new Map(positions.map(({ key, at }) => [key, folded.get(key)?.summary ?? unreadable(at)]));
  }

  /** Keeps a summary that was read or folded from what is committed. */
  remember(known: KnownSummary): void {
    this.#known.set(known.key, known);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** Writes the summary of a log up to the event `seq`. */
  write(key: number, seq: number, summary: SessionSummary): void {
    const hasWork = summary.work !== undefined || summary.wakeAt !== undefined;
    this.#write.run(key, seq, JSON.stringify(summary), hasWork ? 1 : 0);
  }

  /** Writes the summaries of all sessions with recent events, in the transaction that gives those events their places. */
  writeRecent(): void {
    const positions = this.#recent.all();
    const summaries = this.readRecent(positions);
    for (const { key, seq } of positions) this.write(key, seq, summaries.get(key) as SessionSummary);
  }

  /** The latest summary that is at hand and not beyond `seq`. */
  #latest(key: number, revision: number, seq: number): Folded {
    const known = this.#known.get(key);
    return known?.revision === revision && known.seq <= seq ? known : this.#stored(key);
  }

  #stored(key: number): Folded {
    const row = this.#read.get(key);
    const summary = row && parseSummary(row.data);
    return row && summary ? { seq: row.seq, summary } : { seq: 0, summary: undefined };
  }

  /** Folds the events up to `until` that are not folded in yet. */
  #foldOn(key: number, from: Folded, until: number): Folded {
    let { seq, summary } = from;
    while (seq < until) {
      const rows = this.#events.read(key, seq, until, ROWS);
      if (rows.length === 0) break;
      for (const row of rows) {
        summary = foldRow(summary, row);
        [seq] = row;
      }
    }
    return { seq, summary };
  }
}

/**
 * The summary in a row. Undefined when it cannot be read, which `check` reports, or was written before turns were counted: it is folded
 * again from the log.
 */
export function parseSummary(data: string): SessionSummary | undefined {
  try {
    const summary = JSON.parse(data) as SessionSummary;
    return summary.turns === undefined ? undefined : summary;
  } catch {
    return undefined;
  }
}

/** An event that cannot be read changes no summary: `check` reports it. */
function foldRow(summary: SessionSummary | undefined, [seq, at, type, data]: EventRow): SessionSummary | undefined {
  try {
    return summarizeSession(summary, decodeEvent('', seq, at, type, data));
  } catch {
    return summary;
  }
}

/** The summary of a session none of whose events can be read: it is listed all the same. */
function unreadable(at: string): SessionSummary {
  return { tags: [], metadata: {}, createdAt: at };
}
