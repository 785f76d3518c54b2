import { type SessionSummary, summarizeSession } from '../core/summary/session-summary.ts';
import type { AppendOptions } from '../ports/store.ts';
import { decodeEvent, type EncodedEvent, sameEvents } from './encoded-event.ts';
import { appendIdReused, fenceConflict, incompleteEvent, sequenceConflict } from './refusals.ts';

/** The state of a session that an append is checked against. */
export interface SessionPosition {
  readonly seq: number;
  /** The fence of the newest lease, if there was one. */
  readonly fence?: number | undefined;
}

/** Rejects an append whose sequence or fence is stale (I6). A stale fence is reported first: the caller cannot recover from it. */
export function refuseStale(
  sessionId: string,
  session: SessionPosition,
  options: Pick<AppendOptions, 'fence' | 'expectedSeq'>,
): void {
  const { fence, expectedSeq } = options;
  if (fence !== undefined && fence !== session.fence) throw fenceConflict(sessionId, session.fence, fence);
  if (expectedSeq !== session.seq) throw sequenceConflict(sessionId, session.seq, expectedSeq);
}

/** An event of an in-memory log, with the append's id if it is the append's first event. */
export interface AppendedEvent extends EncodedEvent {
  readonly appendId?: string;
}

/**
 * The last seq of the append that this one repeats: the newest one, or one with the same `expectedSeq` (D51). Throws
 * `APPEND_ID_REUSED` when that append had other events.
 */
export function findRepeatedAppend(
  sessionId: string,
  log: readonly AppendedEvent[],
  events: readonly EncodedEvent[],
  { id, expectedSeq }: Pick<AppendOptions, 'id' | 'expectedSeq'>,
): number | undefined {
  const newest = log.findLastIndex((event) => event.appendId !== undefined);
  const start = [expectedSeq, newest].find((index) => log[index]?.appendId === id);
  if (start === undefined) return undefined;
  let end = start + 1;
  while (end < log.length && log[end]?.appendId === undefined) end++;
  if (!sameEvents(log.slice(start, end), events)) throw appendIdReused(sessionId, id);
  return end;
}

/** Folds the events after `seq` into the summary of their session. Throws `EVENT_INVALID` for one that lacks required fields. */
export function summarizeAppend(
  sessionId: string,
  before: SessionSummary | undefined,
  seq: number,
  events: readonly EncodedEvent[],
): SessionSummary | undefined {
  let summary = before;
  for (const [i, { at, type, data }] of events.entries()) {
    const event = decodeEvent(sessionId, seq + i + 1, at, type, data);
    try {
      summary = summarizeSession(summary, event);
    } catch (cause) {
      throw incompleteEvent(type, cause);
    }
  }
  return summary;
}
