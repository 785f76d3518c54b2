/**
 * Private keys in PEM: whole, without an end or a beginning, in one line with `\n` in it, behind line numbers or in a diff. The places of
 * all markers are found once, so the cost is linear however many of them have no counterpart.
 */
import type { Finding } from './finding.ts';

const MARKER = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** The longest key that is looked for; an RSA key of 16,384 bits has 13,000 characters. */
const MAX_LENGTH = 20_000;

/** What stands before a line of a key: indentation, a line number, a sign of a diff, a quote. */
const BEFORE_LINE = `(?:[ \\t]{0,40}(?:[0-9]{1,7}[ \\t]{0,4}(?:→|\\||:|\\t|(?<= )))?[ \\t]{0,40}[+>|"'#*/-]{0,3}[ \\t]{0,8})`;
const LINE_END = `(?:["',]{0,2}[ \\t]{0,8}(?:\\\\{1,8}[nr]){1,4}|["',+;]{0,3}[ \\t]{0,8}\\r?\\n)`;
const BODY = `[A-Za-z0-9+/]{16,80}={0,3}`;
const HEADERS = `(?:${LINE_END}${BEFORE_LINE}(?:Version|Comment|Hash|Charset|Proc-Type|DEK-Info): [^\\n\\\\]{0,100}|${LINE_END}${BEFORE_LINE}(?=\\r?\\n|\\\\)){0,8}`;
/** Lines after a beginning without an end, and lines before an end without a beginning. */
const AFTER = new RegExp(
  `${HEADERS}(?:(?:${LINE_END}${BEFORE_LINE}|[ ])${BODY}){1,400}(?:${LINE_END}${BEFORE_LINE}[A-Za-z0-9+/]{1,80}={0,3}(?![A-Za-z0-9+/ ]))?`,
  'y',
);
const LINE_BEFORE_END = new RegExp(`^${BEFORE_LINE}[A-Za-z0-9+/]{1,80}={0,3}["',+]{0,3}\\r?$`);

const PUTTY =
  /^Private-Lines: [0-9]{1,3}\r?\n((?:[A-Za-z0-9+/=]{1,80}\r?\n){1,200})(?:Private-MAC: ([0-9a-f]{40,64}))?/gm;

/** A pattern that every text with a private key matches. */
export const PRIVATE_KEY_HINT = 'PRIVATE KEY|Private-Lines';

/** The private keys in a text. */
export function privateKeys(text: string): Finding[] {
  if (!text.includes('PRIVATE KEY') && !text.includes('Private-Lines')) return [];
  const kind = 'private-key';
  const findings: Finding[] = [];
  const markers = [...text.matchAll(MARKER)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    isBegin: match[1] === 'BEGIN',
  }));
  for (const [i, marker] of markers.entries()) {
    const next = markers[i + 1];
    const isPair = marker.isBegin && next && !next.isBegin && next.start - marker.end <= MAX_LENGTH;
    if (isPair && holdsKey(text.slice(marker.end, next.start)))
      findings.push({ start: marker.start, end: next.end, kind });
    else if (marker.isBegin) {
      AFTER.lastIndex = marker.end;
      if (AFTER.test(text)) findings.push({ start: marker.start, end: AFTER.lastIndex, kind });
    } else if (!markers[i - 1]?.isBegin) {
      const start = startOfBody(text, marker.start, markers[i - 1]?.end ?? 0);
      if (start < marker.start) findings.push({ start, end: marker.end, kind });
    }
  }
  for (const { index, 0: all, 1: lines = '', 2: mac = '' } of text.matchAll(PUTTY)) {
    const start = all.indexOf('\n') + 1;
    findings.push({ start: index + start, end: index + start + lines.trimEnd().length, kind });
    if (mac) findings.push({ start: index + all.length - mac.length, end: index + all.length, kind });
  }
  return findings;
}

/** Whether there is a key between the markers, and not a sentence about them. */
function holdsKey(between: string): boolean {
  return /[A-Za-z0-9+/]{16}/.test(between);
}

/** Where the lines of a key start that end before this marker. */
function startOfBody(text: string, end: number, limit: number): number {
  const lines = text.slice(Math.max(limit, end - MAX_LENGTH), end).split('\n');
  let start = end - (lines.pop()?.length ?? 0);
  for (let isLast = true; lines.length > 0; isLast = false) {
    const line = lines.pop() ?? '';
    // Only the last line of a key may be short.
    if (!LINE_BEFORE_END.test(line) || !(isLast || holdsKey(line))) break;
    start -= line.length + 1;
  }
  return holdsKey(text.slice(start, end)) ? start : end;
}
