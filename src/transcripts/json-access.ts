/**
 * Reads values of other programs, whose shape is not known. Each function names the type that it accepts and returns `undefined`,
 * zero or an empty list for everything else.
 */

import { isRecord } from '../core/log/message-problem.ts';

/** An object parsed from JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** Values with deeper nesting are not kept: converting them to text would overflow the stack. */
const MAX_DEPTH = 200;

/** Replaces a value that is nested too deeply. */
export const TOO_DEEP = '[nested too deeply to be kept]';

export function asObject(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A text that is not empty: an id or a name. */
export function asName(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A count; zero for anything else. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A duration or a time in milliseconds. */
export function asMilliseconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Whether a value can be kept: its nesting is not too deep for `JSON.stringify`. */
export function isKeepable(value: unknown, depth: number = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isKeepable(item, depth - 1));
  for (const key in value) if (!isKeepable((value as Json)[key], depth - 1)) return false;
  return true;
}

/** The value, or `TOO_DEEP` when it is nested too deeply. */
export function keep(value: unknown): unknown {
  return isKeepable(value) ? value : TOO_DEEP;
}

/** Parses a JSON text; `undefined` when it is not valid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The characters that give JSON its structure, by their codes: scanning for them is faster than parsing. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
