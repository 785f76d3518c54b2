/** One line of a Claude Code file: parsed, repaired, or recognised as noise without parsing. */
import { type LineRepair, parseDamaged } from '../glued-records.ts';
import {
  asObject,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  type Json,
  OPEN_BRACE,
  OPEN_BRACKET,
  parseJson,
  QUOTE,
} from '../json-access.ts';

/** How many characters of a line decide whether it is noise. A line with longer keys before its type is parsed. */
export const PREFIX_LENGTH = 640;
/** How many characters at the end of a line name the agent of an agent's progress. */
export const TAIL_LENGTH = 400;

const PROGRESS = '"type":"progress","data":{';
const KIND = '"type":"';
const MESSAGE = '"message":';
const FIRST_KEY = '{"parentUuid":"';
const AGENT_TAIL =
  /"agentId":"([\w-]+)"\},"toolUseID":"[\w-]+","parentToolUseID":"([\w-]+)","uuid":"[\w-]+","timestamp":"[\w:.-]+"\}\r?$/;

/**
 * Recognises lines of noise: progress without content for the conversation. They are two thirds of the lines of real sessions, so
 * not parsing them saves most of the time. The result is exact: the type counts only where it is certainly a key of the line itself,
 * and an agent's progress, which carries its conversation, is never noise.
 */
export class NoiseFilter {
  /** The text between the first value and the type of the last line of noise. The next one usually has the same. */
  #between = '';

  /**
   * The kind of a line of noise, from its first `PREFIX_LENGTH` characters; `agent` for one that may be an agent's progress, which
   * `progressAgent` recognises by the end of the line; `undefined` for any other line.
   */
  kindOf(prefix: string): { readonly noise: string } | 'agent' | undefined {
    const at = prefix.indexOf(PROGRESS);
    if (at < 0 || !this.#isTopLevelKey(prefix, at)) return undefined;
    const data = at + PROGRESS.length;
    if (prefix.startsWith(MESSAGE, data)) return 'agent';
    if (!prefix.startsWith(KIND, data)) return undefined;
    const start = data + KIND.length;
    const end = prefix.indexOf('"', start);
    const noise = end < 0 ? '' : prefix.slice(start, end);
    return noise === '' || noise === 'agent_progress' || noise.includes('\\') ? undefined : { noise };
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

/**
 * What a line of noise contains, after its first character, when another record follows on it: a whole line, or one that a crash cut short,
 * ended without a newline. Such a line has to be read. No other line contains these texts: in strings, quotes are escaped.
 */
export const GLUED = ['}{"', '{"parentUuid":'] as const;

/**
 * The agent and the call of an agent's progress, from the last characters of its line: only the outermost object ends after them.
 * `undefined` when they are elsewhere, and the line has to be parsed.
 */
export function progressAgent(tail: string): { readonly agentId: string; readonly toolUseId: string } | undefined {
  const [, agentId, toolUseId] = AGENT_TAIL.exec(tail) ?? [];
  return agentId === undefined || toolUseId === undefined ? undefined : { agentId, toolUseId };
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

/** The objects in a line, and the repair that was needed to parse them. */
interface ParsedLine {
  /** One object, or several that were written without a newline between them. */
  readonly lines: readonly Json[];
  readonly repaired?: LineRepair;
}

/** Parses a line, with a repair if needed; `undefined` when it holds no object. */
export function parseLine(text: string): ParsedLine | undefined {
  const line = asObject(parseJson(text));
  if (line !== undefined) return { lines: [line] };
  const damaged = parseDamaged(text);
  return damaged && { lines: damaged.records, repaired: damaged.repaired };
}
