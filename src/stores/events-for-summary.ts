import type { NewEvent, SessionEvent } from '../core/log/events.ts';
import { summaryFields } from '../core/summary/summary-fields.ts';
import type { EncodedEvent } from './encoded-event.ts';

/**
 * The events of an append after `seq`, with the fields that their session's summary reads: decoding whole events would cost more than
 * the rest of an append. They are copies: the caller may change its events while the append waits.
 */
export function eventsForSummary(
  events: readonly NewEvent[],
  encoded: readonly EncodedEvent[],
  seq: number,
): readonly SessionEvent[] {
  return encoded.map((each, i) => eventForSummary(events[i] as NewEvent, each, seq + i + 1));
}

function eventForSummary(event: NewEvent, { at, type, data }: EncodedEvent, seq: number): SessionEvent {
  const fields = summaryFields(type, Object.hasOwn(event, 'toJSON') ? (JSON.parse(data) as object) : event);
  return { ...fields, seq, at, type } as SessionEvent;
}
