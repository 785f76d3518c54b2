/** A secret in a text: where it starts, where it ends, and what it is. */
export interface Finding {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** Starts every mark that stands for a secret. */
export const MARK = '[redacted';

/** Colour codes of a terminal. */
export const COLOUR = '\\u001b\\[[0-9;]{0,20}m';

const LAST_OF_ESCAPE = /(?:\\[nrt]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]{1,12}m)$/;

/**
 * Whether a word can start here: not in the middle of a longer one (`task-…` contains no `sk-…`). The letter before may be the last
 * of an escape: `\n` in JSON, `%3D` in a URL, a colour code of a terminal.
 */
export function startsWord(text: string, index: number): boolean {
  if (index === 0 || !/[A-Za-z0-9_-]/.test(text[index - 1] as string)) return true;
  return LAST_OF_ESCAPE.test(text.slice(Math.max(0, index - 14), index));
}

/** A place that shows that what stands there is a secret: the group called `secret`. */
export interface Place {
  readonly kind: string;
  readonly pattern: RegExp;
  /** A text without it has no such place. */
  readonly hint: string;
  /** Whether this is a secret, where the place alone does not show it. */
  readonly isSecret?: (value: string) => boolean;
}

/** Where a value starts and ends in a text. */

/** The longest value that is read. */
export const MAX_VALUE = 10_000;

/** Without white space around it, and without the signs that end a sentence or close what was opened before. */
export function trimmed(text: string, from: number, to: number): { readonly start: number; readonly end: number } {
  let [start, end] = [from, to];
  while (start < end && /\s/.test(text[start] as string)) start++;
  while (end > start && /[\s,;]/.test(text[end - 1] as string)) end--;
  if (end > start && text[end - 1] === '.' && text[end - 2] !== '.') end--;
  const value = text.slice(start, Math.min(end, start + 300));
  // The end of a parameter: `secret: Secret): Result`.
  const closing = /^[^([{]*?(?=[)\]}](?:[:;,{]|$))/.exec(value)?.[0].length;
  if (closing !== undefined && closing > 0) return { start, end: start + closing };
  if (end > start && ')]}'.includes(text[end - 1] as string) && !/[([{]/.test(value)) {
    while (end > start && ')]};'.includes(text[end - 1] as string)) end--;
  }
  return { start, end };
}

/** Where the sign is next, or where a value ends at the latest. */
export function endOf(text: string, sign: string, from: number): number {
  const end = text.slice(from, from + MAX_VALUE).indexOf(sign);
  return end < 0 ? Math.min(text.length, from + MAX_VALUE) : from + end;
}

/** What a sticky pattern matches at this place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

export function place(kind: string, hint: string, pattern: RegExp, isSecret?: Place['isSecret']): Place {
  return { kind, hint, pattern, ...(isSecret && { isSecret }) };
}

/** Places of one kind: the pattern of each, by its hint. */
export function places(kind: string, patterns: Readonly<Record<string, RegExp>>): readonly Place[] {
  return Object.entries(patterns).map(([hint, pattern]) => place(kind, hint, pattern));
}
