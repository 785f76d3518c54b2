/** Versions as npm reads them, without build metadata: `1.2.3`, `1.2.3-beta.1`. */

const NUMBER = '(?:0|[1-9]\\d*)';
const PART = `(?:${NUMBER}|\\d*[a-zA-Z-][\\da-zA-Z-]*)`;
const VERSION = new RegExp(`^(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-(${PART}(?:\\.${PART})*))?$`);

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Whether a version is one before a release, such as `1.0.0-beta.1`. */
export function isPrerelease(version: string): boolean {
  return version.includes('-');
}

/** Negative when the first version is older, positive when it is newer. */
export function compareVersions(one: string, other: string): number {
  const [numbers, parts] = splitVersion(one);
  const [otherNumbers, otherParts] = splitVersion(other);
  const byNumber = numbers.map((each, i) => each - (otherNumbers[i] ?? 0)).find((difference) => difference !== 0);
  if (byNumber !== undefined) return byNumber;
  if (parts.length === 0 || otherParts.length === 0) return otherParts.length - parts.length; // a release is newer than what precedes it
  for (const [i, part] of parts.entries()) {
    const otherPart = otherParts[i];
    if (otherPart === undefined) return 1;
    if (part !== otherPart) return compareParts(part, otherPart);
  }
  return parts.length - otherParts.length;
}

function splitVersion(version: string): readonly [numbers: readonly number[], parts: readonly string[]] {
  const [, major, minor, patch, parts] = VERSION.exec(version) ?? [];
  if (patch === undefined) throw new Error(`${version} is not a version such as 1.2.3 or 1.2.3-beta.1`);
  return [[Number(major), Number(minor), Number(patch)], parts?.split('.') ?? []];
}

/** Numbers are older than words and compared as numbers. */
function compareParts(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber && isOtherNumber) return Number(one) - Number(other);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return one < other ? -1 : 1;
}
