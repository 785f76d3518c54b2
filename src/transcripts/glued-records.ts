/**
 * Lines that are not JSON although they hold whole records: writers that do not wait for each other leave several records on one line, a
 * crash cuts a record short and the next writer appends to it, or leaves zeros where the file was being extended.
 */
import {
  asName,
  asObject,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  type Json,
  OPEN_BRACE,
  OPEN_BRACKET,
  parseJson,
  QUOTE,
} from './json-access.ts';

/** Writers glue a few records; a line of millions of objects is hostile. */
const MAX_GLUED = 1000;
/** After so many torn objects the rest of the line is not read: each may be searched for its end up to the end of the line. */
const MAX_TORN = 12;
/** How the agents' records start. */
const BEGINNING = /\{"(?:parentUuid":|type":"|timestamp":")/g;

/** What was wrong with a line. */
export type LineRepair = 'nul-bytes' | 'glued-line';

/** The whole records of a line that is not JSON; `undefined` when it holds none. */
export function parseDamaged(
  line: string,
): { readonly records: readonly Json[]; readonly repaired: LineRepair } | undefined {
  if (line.includes('\0')) {
    const text = line.replaceAll('\0', '');
    const record = asObject(parseJson(text));
    const records = record ? [record] : parseGlued(text);
    if (records.length > 0) return { records, repaired: 'nul-bytes' };
  }
  const records = parseGlued(line);
  return records.length === 0 ? undefined : { records, repaired: 'glued-line' };
}

/** The objects at the start of a line and directly behind another one, and the records behind a torn one. */
function parseGlued(line: string): readonly Json[] {
  const records: Json[] = [];
  let at = 0;
  let isBehindTorn = false;
  for (let torn = 0; at >= 0 && torn < MAX_TORN && records.length < MAX_GLUED; ) {
    const end = endOfObject(line, at);
    const object = end < 0 ? undefined : asObject(parseJson(line.slice(at, end)));
    if (object !== undefined && (!isBehindTorn || isRecord(object))) {
      records.push(object);
      isBehindTorn = line.charCodeAt(end) !== OPEN_BRACE;
      at = isBehindTorn ? nextBeginning(line, end) : end;
    } else {
      if (object === undefined) torn++;
      isBehindTorn = true;
      at = nextBeginning(line, object === undefined ? at + 1 : end);
    }
  }
  return records;
}

function nextBeginning(line: string, from: number): number {
  BEGINNING.lastIndex = from;
  return BEGINNING.exec(line)?.index ?? -1;
}

/** Whether an object is a record of Claude Code or Codex, and not a part of a torn one. */
function isRecord({ sessionId, payload }: Json): boolean {
  return asName(sessionId) !== undefined || asObject(payload) !== undefined;
}

/** The position after the object that starts at `start`; -1 when none starts there or it does not end. */
function endOfObject(text: string, start: number): number {
  if (text.charCodeAt(start) !== OPEN_BRACE) return -1;
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return i + 1;
  }
  return -1;
}
