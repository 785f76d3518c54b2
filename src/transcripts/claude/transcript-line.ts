/** One line of a Claude Code file: parsed, repaired, or recognised as noise without parsing. */
import { asName, asObject, type Json, parseJson } from '../json-access.ts';

/** How many characters of a line decide whether it is noise. */
export const PREFIX_LENGTH = 1024;

const PROGRESS = '"type":"progress","data":{"type":"';
const FIRST_KEY = '{"parentUuid":"';

/**
 * Recognises lines of noise: progress without content for the conversation. They are two thirds of the lines of real sessions, so
 * not parsing them saves most of the time. The result is exact: the type counts only where it is certainly a key of the line itself,
 * and an agent's progress, which carries its conversation, is never noise.
 */
export class NoiseFilter {
  /** The text between the first value and the type of the last line of noise. The next one usually has the same. */
  #between = '';

  /** The kind of a line of noise, from its first `PREFIX_LENGTH` characters; `undefined` for any other line. */
  kindOf(prefix: string): string | undefined {
    const at = prefix.indexOf(PROGRESS);
    if (at < 0 || !this.#isTopLevelKey(prefix, at)) return undefined;
    const start = at + PROGRESS.length;
    const end = prefix.indexOf('"', start);
    const kind = end < 0 ? '' : prefix.slice(start, end);
    return kind === '' || kind === 'agent_progress' || kind.includes('\\') ? undefined : kind;
  }

  #isTopLevelKey(prefix: string, at: number): boolean {
    // After the quote that ends the first value, the position is in the outermost object, whatever that value is.
    const end = prefix.startsWith(FIRST_KEY) ? prefix.indexOf('"', FIRST_KEY.length) : -1;
    const isPlain = end > 0 && end < at && prefix.charCodeAt(end - 1) !== BACKSLASH;
    if (isPlain && prefix.slice(end, at) === this.#between) return true;
    if (!isTopLevelKey(prefix, at)) return false;
    this.#between = isPlain ? prefix.slice(end, at) : '';
    return true;
  }
}

/** Whether a key starts at `at` in the outermost object of a JSON text. */
function isTopLevelKey(text: string, at: number): boolean {
  if (text.charCodeAt(0) !== OPEN_BRACE) return false;
  let depth = 0;
  let inString = false;
  let last = 0;
  for (let i = 0; i < at; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
      continue;
    }
    if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    last = code;
  }
  return !inString && depth === 1 && (last === COMMA || last === OPEN_BRACE);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** The object in a line, and the repair that was needed to parse it. */
interface ParsedLine {
  readonly line: Json;
  readonly repaired?: 'nul-bytes' | 'glued-line';
}

/** Parses a line, with a repair if needed; `undefined` when it holds no object. */
export function parseLine(text: string): ParsedLine | undefined {
  const line = asObject(parseJson(text));
  if (line !== undefined) return { line };
  // A crash can leave zeros where the file was being extended.
  if (text.includes('\0')) {
    const parsed = parseLine(text.replaceAll('\0', ''));
    if (parsed) return { line: parsed.line, repaired: 'nul-bytes' };
  }
  return parseGlued(text);
}

const BEGINNINGS = ['{"parentUuid":', '{"type":"'] as const;

/** The whole line after one that a crash cut short: the next writer appended to the same line. */
function parseGlued(text: string): ParsedLine | undefined {
  for (const beginning of BEGINNINGS) {
    const at = text.lastIndexOf(beginning);
    const line = at > 0 ? asObject(parseJson(text.slice(at))) : undefined;
    if (asName(line?.sessionId) !== undefined && line) return { line, repaired: 'glued-line' };
  }
  return undefined;
}
