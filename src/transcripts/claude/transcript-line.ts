/** One line of a Claude Code file, as text: parsed, mended, or recognised as noise without parsing. */
import { asName, asObject, type Json, parseJson } from '../json-access.ts';

/** How much of a line decides whether it is noise. */
export const PREFIX_LENGTH = 1024;

const PROGRESS = '"type":"progress","data":{"type":"';
const FIRST_KEY = '{"parentUuid":"';

/**
 * Tells lines of noise: progress that says nothing about the conversation. Two thirds of the lines of real sessions are such, so
 * they are worth not being parsed. The answer is exact: the type counts only where it provably is a key of the line itself, and an
 * agent's progress, which carries its conversation, is never noise.
 */
export class NoiseFilter {
  /** What stood between the first value and the type of the last line of noise: seldom anything else on the next one. */
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
    // Behind the quote that ends the first value we are in the outermost object, whatever that value is.
    const end = prefix.startsWith(FIRST_KEY) ? prefix.indexOf('"', FIRST_KEY.length) : -1;
    const isPlain = end > 0 && end < at && prefix.charCodeAt(end - 1) !== BACKSLASH;
    if (isPlain && prefix.slice(end, at) === this.#between) return true;
    if (!isTopLevelKey(prefix, at)) return false;
    this.#between = isPlain ? prefix.slice(end, at) : '';
    return true;
  }
}

/** Whether a key begins at `at` in the outermost object of a JSON text. */
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

/** What was read in a line, and how it had to be mended for that. */
interface ParsedLine {
  readonly line: Json;
  readonly mended?: 'nul-bytes' | 'glued-line';
}

/** The object in a line, or `undefined` when there is none to be had. */
export function parseLine(text: string): ParsedLine | undefined {
  const line = asObject(parseJson(text));
  if (line !== undefined) return { line };
  // A crash can leave a hole of zeros where the file was to be extended.
  if (text.includes('\0')) {
    const parsed = parseLine(text.replaceAll('\0', ''));
    if (parsed) return { line: parsed.line, mended: 'nul-bytes' };
  }
  return parseGlued(text);
}

const BEGINNINGS = ['{"parentUuid":', '{"type":"'] as const;

/** The whole line behind one that a crash cut short: the next writer did not know and wrote on behind it. */
function parseGlued(text: string): ParsedLine | undefined {
  for (const beginning of BEGINNINGS) {
    const at = text.lastIndexOf(beginning);
    const line = at > 0 ? asObject(parseJson(text.slice(at))) : undefined;
    if (asName(line?.sessionId) !== undefined && line) return { line, mended: 'glued-line' };
  }
  return undefined;
}
