/**
 * Builds secrets for the samples at run time, so that no secret scanner finds one in the repository. The characters come from a
 * fixed sequence: every run tests the same secrets.
 */

/** A text or data with secrets in it. */
export interface SecretSample {
  readonly name: string;
  readonly given: unknown;
  /** None of these may be left. */
  readonly secrets: readonly string[];
  /** All of these must be left. */
  readonly kept: readonly string[];
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';

let state = 0x9e3779b9;

function next(limit: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}

function pick(alphabet: string, length: number): string {
  let text = '';
  for (let i = 0; i < length; i++) text += alphabet[next(alphabet.length)];
  return text;
}

export const alnum = (length: number): string => pick(LOWER + LOWER.toUpperCase() + DIGITS, length);
export const lower = (length: number): string => pick(LOWER + DIGITS, length);
export const upper = (length: number): string => pick(`${LOWER.toUpperCase()}234567`, length);
export const hex = (length: number): string => pick('0123456789abcdef', length);
export const digits = (length: number): string => pick(DIGITS, length);
/** base64url, starting and ending with a letter or a digit. */
export const url64 = (length: number): string =>
  alnum(1) + pick(`${LOWER}${LOWER.toUpperCase()}${DIGITS}-_`, length - 2) + alnum(1);
/** base64 without padding, with both of its special characters. */
export const base64 = (length: number): string => {
  const body = pick(`${LOWER}${LOWER.toUpperCase()}${DIGITS}+/`, length - 3);
  return `${body.slice(0, 5)}/${body.slice(5)}+${alnum(1)}`;
};
export const uuid = (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
/** What a person types. */
export const typed = (): string =>
  `${pick(LOWER, 4).replace(/^./, (c) => c.toUpperCase())}${digits(2)}!${pick(LOWER, 3)}`;

export const encoded = (value: unknown): string =>
  btoa(typeof value === 'string' ? value : JSON.stringify(value))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

export const jwt = (claims: Readonly<Record<string, unknown>> = { sub: digits(10), iat: 1767225600 }): string =>
  [encoded({ alg: 'HS256', typ: 'JWT' }), encoded(claims), url64(43)].join('.');

/** The lines of a PEM file. */
export function pem(kind: string, lines = 5): { readonly text: string; readonly body: readonly string[] } {
  const body = Array.from({ length: lines }, () => base64(64));
  return { text: [`-----BEGIN ${kind}-----`, ...body, `-----END ${kind}-----`].join('\n'), body };
}

/** One sample: what it is, its secrets, and how they occur. */
export function sample<const S extends string | readonly string[]>(
  name: string,
  secret: S,
  render: (secret: S) => unknown,
  ...kept: readonly string[]
): SecretSample {
  const secrets = typeof secret === 'string' ? [secret] : [...secret];
  return { name, given: render(secret), secrets, kept };
}
