import { HoldfastError, messageOf } from '../core/errors.ts';
import { knownType, type NewEvent, type SessionEvent } from '../core/events.ts';

/**
 * An event as a store keeps it: its envelope in columns, the rest as JSON. Both stores keep text, not objects, so that what
 * is read is what a restart would read: no shared references, no values that JSON cannot carry.
 */
export interface EncodedEvent {
  readonly at: string;
  readonly type: string;
  /** Every other field, as a JSON object. */
  readonly data: string;
}

/** Turns an event into what is stored. Throws `EVENT_INVALID` when JSON cannot carry it. */
export function encodeEvent(event: NewEvent | SessionEvent): EncodedEvent {
  const { at, type } = event;
  // What is undefined is not written: less work than an object without these fields.
  const payload = { ...event, seq: undefined, at: undefined, type: undefined };
  if (!isText(type) || !isText(at)) throw refused(type, ': type and at must be text, not empty and well-formed');
  let data: string;
  try {
    data = JSON.stringify(payload);
  } catch (cause) {
    throw refused(type, ` is not JSON (${messageOf(cause)}); record plain data`, cause);
  }
  if (!data?.startsWith('{')) throw refused(type, ': its toJSON must give an object');
  return { at, type, data };
}

function refused(type: unknown, why: string, cause?: unknown): HoldfastError {
  const name = typeof type === 'string' ? `event ${JSON.stringify(type)}` : 'an event';
  return new HoldfastError('EVENT_INVALID', `${name}${why}`, { cause });
}

/** The event behind a stored row. Throws `STORE_CORRUPT` when its payload is no longer JSON. */
export function decodeEvent(sessionId: string, seq: number, at: string, type: string, data: string): SessionEvent {
  try {
    const event = JSON.parse(data) as { seq: number; at: string; type: string };
    // Assigning costs less than building a second object: this runs once for every event that is ever read.
    event.seq = seq;
    event.at = at;
    event.type = knownType(type);
    return event as SessionEvent;
  } catch (cause) {
    throw new HoldfastError(
      'STORE_CORRUPT',
      `event ${seq} of session ${sessionId} is not JSON; run check() and restore a backup`,
      { cause },
    );
  }
}

/** Whether a repeated append carries what the first one wrote. */
export function sameEvents(stored: readonly EncodedEvent[], events: readonly EncodedEvent[]): boolean {
  return (
    stored.length === events.length &&
    stored.every((row, i) => {
      const event = events[i];
      return event !== undefined && row.at === event.at && row.type === event.type && row.data === event.data;
    })
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed();
}
