/**
 * Reads a long line without the part of it that no conversion uses. A line with a result holds the result twice: in `message`, as text
 * for the model, and in `toolUseResult`, as the tool returned it. The latter is half of the parsed bytes of real sessions, and only a few
 * small fields of it are needed. The others are cut out before the line is decoded and parsed.
 *
 *     {"type":"user","message":{…},"toolUseResult":{"stdout":"…","agentId":"a1"},"uuid":"…"}
 *     {"type":"user","message":{…},"toolUseResult":{"(skimmed)":0,"agentId":"a1"},"uuid":"…"}
 *
 * `JSON.parse` checks everything that is left. Fields that are cut out only have to end where they should; a line that looks unusual
 * in any way is read as a whole.
 */
import {
  asObject,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  type Json,
  OPEN_BRACE,
  OPEN_BRACKET,
  parseJson,
  QUOTE,
} from '../json-access.ts';

/** The fields of `toolUseResult` that the conversion uses. */
const RESULT_FIELDS = [
  'agentId',
  'content',
  'harnessNoteCount',
  'harnessTailCount',
  'isAsync',
  'runId',
  'status',
  'task',
  'totalDurationMs',
] as const;

/** What a tool returned besides the text for the model, as far as it is read. Its shape depends on the tool. */
export type ReturnedFields = { readonly [K in (typeof RESULT_FIELDS)[number]]?: unknown };

/** Shorter lines are parsed faster than they are searched. */
export const MIN_SKIMMED_LENGTH = 1024;

/** What stands before the fields of a result. */
export const RESULT_START = ',"toolUseResult":{';
/** A field that stands for those that were cut out. It shows that the cut was made in the line's own field and not in a nested one. */
const MARK = '(skimmed)';
const READ: ReadonlySet<string> = new Set(RESULT_FIELDS);
/** Fewer characters are not worth a cut. The mark takes less. */
const MIN_CUT = 256;

/**
 * Cuts out the fields that no conversion uses. `rest` is a line from its `RESULT_START` on, as text or with one character for each byte; the
 * result is shorter and of the same kind. `undefined` when there is too little to cut out.
 */
export function skimResult(rest: string): string | undefined {
  let read = '';
  let end = RESULT_START.length;
  while (true) {
    const member = end;
    const colon = rest.charCodeAt(member) === QUOTE ? endOfString(rest, member + 1) : -1;
    if (colon < 0 || rest.charCodeAt(colon) !== COLON) return undefined;
    end = endOfValue(rest, colon + 1);
    if (end < 0) return undefined;
    if (isRead(rest, member, colon)) read += `,${rest.slice(member, end)}`;
    const after = rest.charCodeAt(end);
    if (after === CLOSE_BRACE) break;
    if (after !== COMMA) return undefined;
    end++;
  }
  if (end - RESULT_START.length - read.length < MIN_CUT) return undefined;
  return `${RESULT_START}"${MARK}":0${read}${rest.slice(end)}`;
}

/** Parses a line whose end `skimResult` returned; `undefined` when the whole line has to be read. */
export function parseSkimmed(text: string): Json | undefined {
  const line = asObject(parseJson(text));
  const isMessage = line?.type === 'user' && asObject(line.message) !== undefined;
  return isMessage && asObject(line.toolUseResult)?.[MARK] === 0 ? line : undefined;
}

/** Whether the field whose key is between two positions is used. The content of a file is a text, that of an agent's result a list. */
function isRead(line: string, member: number, colon: number): boolean {
  const key = line.slice(member + 1, colon - 1);
  return READ.has(key) && (key !== 'content' || line.charCodeAt(colon + 1) === OPEN_BRACKET);
}

/** The position after the string whose content starts at `start`; -1 when it does not end. */
function endOfString(line: string, start: number): number {
  for (let quote = line.indexOf('"', start); quote >= 0; quote = line.indexOf('"', quote + 1)) {
    let first = quote;
    while (line.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return -1;
}

/** The position after the value that starts at `start`; -1 when it does not end, or holds what no JSON has outside of strings. */
function endOfValue(line: string, start: number): number {
  let depth = 0;
  for (let i = start; i < line.length; ) {
    const code = line.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(line, i + 1);
      if (i < 0) return -1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth++;
      i++;
      continue;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) return i;
      depth--;
      i++;
    } else if (code === COMMA || code === COLON) {
      if (depth === 0) return code === COMMA ? i : -1;
      i++;
      continue;
    } else if (LITERAL.has(code)) {
      i++;
      continue;
    } else return -1;
    if (depth === 0) return i;
  }
  return -1;
}

/** The characters of numbers, `true`, `false` and `null`. */
const LITERAL: ReadonlySet<number> = new Set(
  [...'0123456789+-.Eaeflnrstu'].map((character) => character.charCodeAt(0)),
);
