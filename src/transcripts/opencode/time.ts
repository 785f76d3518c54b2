/** Times in OpenCode: milliseconds in its data, and the time of creation in its ids. */
import { asMilliseconds, asName, asObject, type Json } from '../json-access.ts';

/** The largest time of a JavaScript `Date`. */
const MAX_TIME = 8.64e15;
/** An id contains the lower 36 bits of its time. */
const ID_PERIOD = 2 ** 36;
/** The largest distance between a part and its message at which the time in the part's id is trusted. */
const MAX_DISTANCE = 30 * 24 * 60 * 60 * 1000;

/** Milliseconds as ISO time; empty when undefined. */
export function isoTime(milliseconds: number | undefined): string {
  return milliseconds === undefined || milliseconds > MAX_TIME ? '' : new Date(milliseconds).toISOString();
}

/** One of the times of an object's `time` field. */
export function timeField(object: Json | undefined, field: string): number | undefined {
  return asMilliseconds(asObject(object?.time)?.[field]);
}

/**
 * The time at which a part was created, the same in the stream and in the store. A text has it as a field; a call only in its id:
 * `prt_` and twelve hex digits, nine for the millisecond and three for a counter.
 */
export function partTime(part: Json, messageCreated: number | undefined): number | undefined {
  const start = timeField(part, 'start');
  if (start !== undefined) return start;
  const digits = typeof part.id === 'string' ? /^prt_([0-9a-f]{9})[0-9a-f]{3}/.exec(part.id)?.[1] : undefined;
  if (digits !== undefined && messageCreated !== undefined) {
    const low = Number.parseInt(digits, 16);
    const periods = Math.round((messageCreated - low) / ID_PERIOD);
    const time = low + periods * ID_PERIOD;
    if (Math.abs(time - messageCreated) <= MAX_DISTANCE && time >= 0) return time;
  }
  return timeField(asObject(part.state), 'start') ?? messageCreated;
}

/** The order of messages: by their time, then by their id. */
export function byCreation(a: Json, b: Json): number {
  const earlier = (timeField(a, 'created') ?? 0) - (timeField(b, 'created') ?? 0);
  return earlier || ((asName(a.id) ?? '') < (asName(b.id) ?? '') ? -1 : 1);
}
