/** The time of a batch: its newest timestamp. Listings show a session under the time of its last event, not of its import. */

const FIELD = '"timestamp":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/;
const LONGEST = 30;

/** The last timestamp in the bytes of a batch, unless it is invalid or in the future. */
export function timeIn(bytes: Buffer): string | undefined {
  const at = bytes.lastIndexOf(FIELD);
  if (at < 0) return undefined;
  const start = at + FIELD.length;
  const [text] = TIME.exec(bytes.toString('latin1', start, start + LONGEST)) ?? [];
  return validTime(text);
}

/** A time in the form of our own, unless it is invalid or in the future. */
export function validTime(text: string | undefined): string | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return time <= Date.now() ? new Date(time).toISOString() : undefined;
}
