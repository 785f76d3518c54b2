import type { SessionEvent } from '../../core/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/session-summary.ts';
import { decodeEvent } from '../encoded-event.ts';
import type { Database, Statement } from './driver.ts';
import { type EventTable, RECENT } from './event-table.ts';

const MAX_KNOWN = 1024;
const ROWS = 128;

/** A log up to an event. A replaced event makes a new revision of it. */
export interface LogPosition {
  readonly key: number;
  readonly revision: number;
  readonly seq: number;
}

interface KnownSummary extends LogPosition {
  readonly summary: SessionSummary;
}

interface SummaryRow {
  /** The last event that is folded in. */
  readonly seq: number;
  readonly data: string;
}

/**
 * The rows of `summaries`. An append does not change them: a row is written when the session's events get their places, and what
 * recent events change is folded in when a summary is read. This process remembers the summaries that it folded, so that each
 * event is folded once.
 */
export class SummaryTable {
  readonly #events: EventTable;
  readonly #read: Statement<[number], SummaryRow>;
  readonly #write: Statement<[number, number, string, number]>;
  readonly #recent: Statement<[], LogPosition>;
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
      `SELECT key, sessions.revision AS revision, recent.seq AS seq FROM ${RECENT} AS recent JOIN sessions USING (key)
       WHERE building_until IS NULL`,
    );
  }

  /** The summary of a log up to a position, undefined before its first event. */
  read({ key, revision, seq }: LogPosition): SessionSummary | undefined {
    const known = this.#known.get(key);
    const isKnown = known?.revision === revision && known.seq <= seq;
    return this.#foldOn(key, isKnown ? known : this.#stored(key), seq);
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
    for (const position of this.#recent.all()) {
      const summary = this.read(position);
      if (summary) this.write(position.key, position.seq, summary);
    }
  }

  #stored(key: number): { readonly seq: number; readonly summary: SessionSummary | undefined } {
    const row = this.#read.get(key);
    return row ? { seq: row.seq, summary: JSON.parse(row.data) as SessionSummary } : { seq: 0, summary: undefined };
  }

  #foldOn(
    key: number,
    from: { readonly seq: number; readonly summary: SessionSummary | undefined },
    until: number,
  ): SessionSummary | undefined {
    let { seq, summary } = from;
    while (seq < until) {
      const rows = this.#events.read(key, seq, until, ROWS);
      if (rows.length === 0) return summary;
      for (const row of rows) {
        summary = foldRow(summary, row);
        [seq] = row;
      }
    }
    return summary;
  }
}

/** An event that cannot be read changes no summary: `check` reports it. */
function foldRow(
  summary: SessionSummary | undefined,
  [seq, at, type, data]: readonly [number, string, string, string],
): SessionSummary | undefined {
  try {
    return summarizeSession(summary, decodeEvent('', seq, at, type, data) as SessionEvent);
  } catch {
    return summary;
  }
}
