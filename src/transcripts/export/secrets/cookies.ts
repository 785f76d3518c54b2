/** Cookies: in a header, in an option of `curl`. */
import { type Finding, MARK } from './finding.ts';
import { isSecretValue } from './secret-values.ts';

const COOKIE = /([\w.$%-]{1,100}=)([^;\s,]{8,8000})/g;
const ATTRIBUTE = /^(?:path|domain|expires|max-age|samesite)=$/i;

/** The values in `a=1; b=2` that are long enough to identify a person. The text starts at `offset` of the whole one. */
export function cookiesIn(written: string, offset: number): Finding[] {
  const findings: Finding[] = [];
  for (const { index, 1: before = '', 2: value = '' } of written.matchAll(COOKIE)) {
    if (ATTRIBUTE.test(before) || value.startsWith(MARK) || /^[$<{]/.test(value)) continue;
    const start = offset + index + before.length;
    findings.push({ start, end: start + value.length, kind: 'cookie' });
  }
  return findings;
}

/** A pattern that every text with such an option matches. */
export const COOKIE_HINT = 'curl';
const OPTION =
  /\bcurl\b[^\n]{0,500}?\s(?:-b|--cookie)[ =](?:"([^"\n]{8,8000})"|'([^'\n]{8,8000})'|([^\s"']{8,8000}))/dg;

/** The cookies that `curl` is given. */
export function commandCookies(text: string): Finding[] {
  if (!text.includes(COOKIE_HINT)) return [];
  return [...text.matchAll(OPTION)].flatMap((match) => {
    const [start, end] = match.indices?.slice(1).find((group) => group !== undefined) ?? [0, 0];
    return cookiesIn(text.slice(start, end), start).filter((found) =>
      isSecretValue(text.slice(found.start, found.end), 'strong', 'quoted'),
    );
  });
}
