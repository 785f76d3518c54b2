import { HoldfastError, messageOf } from '../core/errors.ts';
import { knownType, type NewEvent, type SessionEvent } from '../core/log/events.ts';

/**
 * An event as a store holds it: its envelope in columns, the rest as JSON. Both stores hold text, not objects, so that a read returns
 * the same as after a restart: no shared references, no values that JSON cannot represent.
 */
export interface EncodedEvent {
  readonly at: string;
  readonly type: string;
  /** Every other field, as a JSON object. */
  readonly data: string;
}

/** Encodes an event for storing. Throws `EVENT_INVALID` when JSON cannot represent it. */
export function encodeEvent(event: NewEvent | SessionEvent): EncodedEvent {
  const { at, type } = event;
  // Undefined fields are not serialised; setting them is faster than building an object without them.
  const payload = { ...event, seq: undefined, at: undefined, type: undefined };
  if (!isText(type) || !isText(at)) throw refused(type, ': type and at must be text, not empty and well-formed');
  let data: string;
  try {
    data = JSON.stringify(payload);
  } catch (cause) {
    throw refused(type, ` is not JSON (${messageOf(cause)}); record plain data`, cause);
  }
  if (!data?.startsWith('{')) throw refused(type, ': its toJSON must return an object');
  return { at, type, data };
}

function refused(type: unknown, why: string, cause?: unknown): HoldfastError {
  const name = typeof type === 'string' ? `event ${JSON.stringify(type)}` : 'an event';
  return new HoldfastError('EVENT_INVALID', `${name}${why}`, { cause });
}

/** Decodes a stored event. Throws `STORE_CORRUPT` when its payload is not JSON. */
export function decodeEvent(sessionId: string, seq: number, at: string, type: string, data: string): SessionEvent {
  try {
    const event = JSON.parse(data) as { seq: number; at: string; type: string };
    // Assigning is faster than building a second object, and this runs for every event that is read.
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

/** Whether a repeated append has the same events as the first one. */
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
