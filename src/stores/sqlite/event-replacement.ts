import { isHoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import { changesSummary } from '../../core/summary/summary-change.ts';
import type { EventReading, ReadOptions, ReplaceEventOptions } from '../../ports/store.ts';
import { decodeEvent, encodeEvent } from '../encoded-event.ts';
import { eventNotFound, gap, incompleteEvent, sessionNotFound } from '../refusals.ts';
import type { ContentTable } from './content-table.ts';
import type { EventTable } from './event-table.ts';
import type { SearchIndex } from './search-index.ts';
import type { SessionAtHead, SessionTable } from './session-table.ts';
import type { SnapshotTable } from './snapshot-table.ts';
import type { SummaryTable } from './summary-table.ts';

/** The summary of a log in which one event is replaced. */
interface Refolded {
  readonly revision: number;
  /** The last event that is folded in. */
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
}

interface Parts {
  readonly sessions: SessionTable;
  readonly events: EventTable;
  readonly contents: ContentTable;
  readonly snapshots: SnapshotTable;
  readonly summaries: SummaryTable;
  readonly index: SearchIndex;
  /** Reads a log in short queries. */
  read(sessionId: string, options: ReadOptions): EventReading;
  /** Runs work in a write transaction. */
  write<T>(work: () => T): Promise<T>;
}

/**
 * Replaces one event, with everything that was made from it, in one transaction. A summary that depends on the event is folded again
 * from the log before that transaction, in short reads; the transaction folds in what was appended since.
 *
 *     transaction ─▶ replaced
 *          │ the summary depends on it        ▲
 *          └─▶ fold the log ─▶ transaction ───┘
 *                    ▲              │ another event was replaced meanwhile
 *                    └──────────────┘
 */
export class EventReplacement {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async replace(sessionId: string, event: SessionEvent, options: ReplaceEventOptions): Promise<void> {
    const { at, type, data } = encodeEvent(event);
    // As it will be read, and as it is now: the caller may change its event meanwhile.
    const replacement = decodeEvent(sessionId, event.seq, at, type, data);
    let refolded: Refolded | undefined;
    for (;;) {
      const outdated = await this.#parts.write(() => this.#attempt(sessionId, replacement, options, refolded));
      if (!outdated) return;
      refolded = await this.#refold(sessionId, outdated, replacement);
    }
  }

  /** Replaces the event; returns the session, and changes nothing, when its summary has to be folded first. */
  #attempt(
    sessionId: string,
    replacement: SessionEvent,
    { incarnation, contents: kept }: ReplaceEventOptions,
    refolded: Refolded | undefined,
  ): SessionAtHead | undefined {
    const { sessions, events, contents, snapshots, summaries, index } = this.#parts;
    const { seq } = replacement;
    const session = sessions.findLivingAtHead(sessionId, incarnation);
    if (!session?.seq) throw sessionNotFound(sessionId);
    if (seq > session.seq) throw eventNotFound(sessionId, seq);
    const { key, revision } = session;
    const isChanged = this.#changesSummary(sessionId, key, replacement);
    if (isChanged && refolded?.revision !== revision) return session;
    const summary = isChanged ? this.#foldRest(sessionId, session, refolded) : undefined;
    const encoded = encodeEvent(replacement);
    index.replace(key, sessionId, replacement);
    events.replace(key, seq, encoded);
    contents.drop(key, seq, contents.referredBy(key, seq), kept);
    snapshots.drop(key);
    sessions.revise(key, seq === session.seq ? encoded.at : undefined);
    if (summary) summaries.write(key, session.seq, summary);
    return undefined;
  }

  /** An event that cannot be read may be replaced, too; what its session's summary has of it stays. */
  #changesSummary(sessionId: string, key: number, replacement: SessionEvent): boolean {
    try {
      return changesSummary(this.#read(sessionId, key, replacement.seq), replacement);
    } catch (error) {
      if (isHoldfastError(error, 'STORE_CORRUPT')) return false;
      throw error;
    }
  }

  #read(sessionId: string, key: number, seq: number): SessionEvent {
    const [row] = this.#parts.events.read(key, seq - 1, seq, 1);
    if (!row) throw gap(sessionId, seq);
    const [, at, type, data] = row;
    return decodeEvent(sessionId, seq, at, type, data);
  }

  async #refold(sessionId: string, session: SessionAtHead, replacement: SessionEvent): Promise<Refolded> {
    const { seq, revision, incarnation } = session;
    let summary: SessionSummary | undefined;
    for await (const event of this.#parts.read(sessionId, { incarnation, limit: seq })) {
      summary = summarize(summary, event.seq === replacement.seq ? replacement : event);
    }
    return { revision, seq, summary };
  }

  /** Folds in what was appended since the log was read. */
  #foldRest(sessionId: string, session: SessionAtHead, refolded: Refolded | undefined): SessionSummary | undefined {
    let { seq = 0, summary } = refolded ?? {};
    while (seq < session.seq) summary = summarize(summary, this.#read(sessionId, session.key, ++seq));
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
