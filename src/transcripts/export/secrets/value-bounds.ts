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
