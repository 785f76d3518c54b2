/** Records that were written without a newline between them: writers that do not wait for each other leave several on one line. */
import { asObject, type Json, parseJson } from './json-access.ts';

/** Writers glue a few records; a line of millions of objects is hostile. */
const MAX_GLUED = 1000;

/** The whole objects at the start of a line, and the position after the last of them. */
export function parseGlued(line: string): { readonly records: readonly Json[]; readonly end: number } {
  const records: Json[] = [];
  let rest = 0;
  for (let end = endOfObject(line, 0); end > rest && records.length < MAX_GLUED; end = endOfObject(line, rest)) {
    const record = asObject(parseJson(line.slice(rest, end)));
    if (record === undefined) break;
    records.push(record);
    rest = end;
  }
  return { records, end: rest };
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
