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
