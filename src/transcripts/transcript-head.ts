/** Reads the beginning of a transcript that has one JSON object in each line. */
import { asObject, type Json, parseJson } from './json-access.ts';
import type { RawTranscript } from './raw-transcript.ts';

/** How far into a file its facts are looked for. */
const HEAD_LINES = 50;

/** The text of the main conversation. */
export function mainText(raw: RawTranscript): string {
  if (typeof raw !== 'string') return typeof raw?.main === 'string' ? raw.main : '';
  const main = /^\s*\{\s*"main"\s*:/.test(raw) ? asObject(parseJson(raw))?.main : undefined;
  return typeof main === 'string' ? main : raw;
}

/** The objects in the first lines of a text. */
export function headLines(text: string): readonly Json[] {
  const lines: Json[] = [];
  for (let start = 0, n = 0; n < HEAD_LINES && start < text.length; n++) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = asObject(parseJson(text.slice(start, end)));
    if (line) lines.push(line);
    start = end + 1;
  }
  return lines;
}
