/**
 * Reading values that somebody else wrote. Nothing about them is sure: every access says what it accepts and gives `undefined`,
 * zero or an empty list for the rest.
 */

/** An object as it came out of JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** What is nested deeper than this is not kept: whoever turns it into text later would run out of stack. */
const MAX_DEPTH = 200;

/** What stands in the place of a value that was nested too deeply. */
export const TOO_DEEP = '[nested too deeply to be kept]';

export function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A text that names something: the empty one does not. */
export function asName(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A number that counts something, else zero. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A duration or a moment in milliseconds. */
export function asMilliseconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Whether a value can be kept as it is: not nested deeper than JSON's writer can follow. */
export function isKeepable(value: unknown, depth: number = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isKeepable(item, depth - 1));
  for (const key in value) if (!isKeepable((value as Json)[key], depth - 1)) return false;
  return true;
}

/** The value, or a note in its place when it is nested too deeply. */
export function keep(value: unknown): unknown {
  return isKeepable(value) ? value : TOO_DEEP;
}

/** JSON of a text, or `undefined`. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
