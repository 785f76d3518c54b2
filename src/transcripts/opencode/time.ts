/** Times in OpenCode: milliseconds in its data, and the millisecond of creation inside its ids. */
import { asMilliseconds, asObject, type Json } from '../json-access.ts';

/** The last moment that JavaScript can name. */
const MAX_TIME = 8.64e15;
/** An id holds the lower 36 bits of its time. */
const ID_PERIOD = 2 ** 36;
/** How far a part may be from its message for its id to be believed. */
const MAX_DISTANCE = 30 * 24 * 60 * 60 * 1000;

/** ISO time of a moment; empty when there is none. */
export function isoTime(milliseconds: number | undefined): string {
  return milliseconds === undefined || milliseconds > MAX_TIME ? '' : new Date(milliseconds).toISOString();
}

/** One of the times of an object's `time` field. */
export function timeField(object: Json | undefined, field: string): number | undefined {
  return asMilliseconds(asObject(object?.time)?.[field]);
}

/**
 * When a part was created, in the stream and in the store alike. A text says so itself; a call does not, but its id begins with
 * that millisecond: `prt_` and twelve hex digits, nine of them time and three a counter.
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
