/**
 * Finds secrets by what they look like and takes them out. Patterns are anchored at the prefixes that issuers give their keys
 * for this purpose, or at the names of headers and variables; a hash, an id or a digest looks like none of them.
 */

import { TOO_DEEP } from '../json-access.ts';

/** A kind of secret and how to find it. Of a match only the group called `secret` is taken out, or all of it if there is none. */
export interface SecretPattern {
  readonly kind: string;
  readonly pattern: RegExp;
}

/** How often each kind was found. */
export type SecretCounts = Readonly<Record<string, number>>;

/** What to look for besides the built-in kinds. */
export interface RedactOptions {
  /** Looked for before the built-in ones. */
  readonly patterns?: readonly SecretPattern[];
}

/** Not in the middle of a longer word: `task-…` is no `sk-…`. In JSON text a line's beginning stands behind the letter of its escape. */
const START = '(?:(?<![A-Za-z0-9_-])|(?<=\\\\[nrt]))';
const END = '(?![A-Za-z0-9_-])';
/** Random enough to be a key: a capital, a small letter and a digit among the next characters. */
const MIXED = '(?=[A-Za-z0-9_-]{0,200}[0-9])(?=[A-Za-z0-9_-]{0,200}[A-Z])(?=[A-Za-z0-9_-]{0,200}[a-z])';

function key(kind: string, source: string): SecretPattern {
  return { kind, pattern: new RegExp(`${START}${source}${END}`, 'g') };
}

const PATTERNS: readonly SecretPattern[] = [
  {
    kind: 'private-key',
    // A key cut off before its last line ends where its letters end.
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{0,8000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]{0,8000})/g,
  },
  key('anthropic-key', 'sk-ant-[A-Za-z0-9_-]{20,200}'),
  key('openai-key', `${MIXED}sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,200}`),
  key('openrouter-key', 'sk-or-v1-[a-f0-9]{64}'),
  key('github-token', '(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})'),
  key('gitlab-token', 'glpat-[A-Za-z0-9_-]{20,100}'),
  key('aws-key-id', '(?:AKIA|ASIA|AROA|AIDA)[A-Z2-7]{16}'),
  {
    kind: 'aws-secret-key',
    pattern: /aws_?secret_?(?:access_?)?key["']?\s{0,5}[:=]\s{0,5}["']?(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/gi,
  },
  key('google-key', 'AIza[A-Za-z0-9_-]{35}'),
  key('google-oauth-token', 'ya29\\.[A-Za-z0-9_-]{20,500}'),
  key('slack-token', 'xox[abeoprs]-[A-Za-z0-9-]{10,250}'),
  {
    kind: 'slack-webhook',
    pattern: /hooks\.slack\.com\/services\/(?<secret>T[A-Z0-9]{6,20}\/B[A-Z0-9]{6,20}\/[A-Za-z0-9]{16,40})/g,
  },
  key('stripe-key', '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}'),
  key('npm-token', 'npm_[A-Za-z0-9]{36}'),
  key('pypi-token', 'pypi-[A-Za-z0-9_-]{50,500}'),
  key('huggingface-token', 'hf_[A-Za-z0-9]{30,100}'),
  key('sendgrid-key', 'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'),
  key('jwt', 'eyJ[A-Za-z0-9_-]{10,2000}\\.eyJ[A-Za-z0-9_-]{10,8000}\\.[A-Za-z0-9_-]{10,2000}'),
  {
    kind: 'authorization-header',
    pattern:
      /(?:proxy-)?authorization["']?\s{0,5}[:=]\s{0,5}["']?(?:Bearer|Basic|Token|Digest|AWS4-HMAC-SHA256)\s{1,5}(?<secret>[^\s"'`,;<>${}[\]()]{8,8000})/gi,
  },
  {
    kind: 'bearer-token',
    pattern: /(?<![A-Za-z])Bearer\s{1,5}(?<secret>(?=[A-Za-z._~+/-]{0,200}[0-9])[A-Za-z0-9._~+/-]{20,8000}={0,2})/g,
  },
  {
    kind: 'api-key-header',
    pattern:
      /(?:x-api-key|api-key|x-auth-token|x-goog-api-key)["']?\s{0,5}[:=]\s{0,5}["']?(?<secret>[A-Za-z0-9._~+/=-]{16,500})/gi,
  },
  {
    kind: 'url-password',
    pattern: /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'`<>{}$]{0,100}:(?<secret>[^\s/@"'`<>{}$]{3,200})@(?=[A-Za-z0-9[])/gi,
  },
  {
    kind: 'environment-secret',
    pattern:
      /(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))(?:[A-Z][A-Z0-9_]{0,60})?(?:SECRET|TOKEN|PASSWORD|PASSWD|API_KEY|PRIVATE_KEY|ACCESS_KEY)[A-Z0-9_]{0,20}=["']?(?<secret>(?=[^\s"']{0,200}[0-9])(?=[^\s"']{0,200}[A-Za-z])[^\s"'$<>{}()[\]]{12,500})/g,
  },
];

/** Names of fields whose value is a secret, whatever it looks like. */
const SECRET_FIELD =
  /^(?:(?:proxy-)?authorization|x-api-key|api[-_]?key|x-auth-token|password|passwd|secret|client[-_]?secret|access[-_]?token|refresh[-_]?token|private[-_]?key|secret[-_]?access[-_]?key)$/i;

/** Proofs and contents that must stay as they are or be useless. */
const OPAQUE_FIELDS: ReadonlySet<string> = new Set(['signature', 'redacted']);

/** Whether a medium's content is in base64, where no secret can be seen, nor looked for. */
function isEncoded(data: unknown): boolean {
  return typeof data === 'string' && /^(?:data:[^,]{0,200};base64,)?[A-Za-z0-9+/=\s]*$/.test(data);
}

/** What is nested deeper is left out rather than left unread. */
const MAX_DEPTH = 500;

/** The pattern as it is searched with: everywhere, and saying where the secret in it is. */
function searching({ kind, pattern }: SecretPattern): SecretPattern {
  return { kind, pattern: new RegExp(pattern.source, [...new Set(`${pattern.flags}gd`)].join('')) };
}

/** Takes secrets out of texts and data, and counts what it found. */
export class SecretRedactor {
  readonly #patterns: readonly SecretPattern[];
  readonly #counts = new Map<string, number>();

  constructor(options: RedactOptions = {}) {
    this.#patterns = [...(options.patterns ?? []), ...PATTERNS].map(searching);
  }

  get counts(): SecretCounts {
    return Object.fromEntries(this.#counts);
  }

  text(text: string): string {
    return this.#patterns.reduce((result, pattern) => this.#without(result, pattern), text);
  }

  #without(text: string, { kind, pattern }: SecretPattern): string {
    let result = '';
    let from = 0;
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.groups?.secret ?? [match.index, match.index + match[0].length];
      // What an earlier pattern put in place of a secret is none.
      if (start === end || text.startsWith('[redacted', start)) continue;
      result += text.slice(from, start) + this.#mark(kind);
      from = end;
    }
    return from === 0 ? text : result + text.slice(from);
  }

  /** A copy of the data with secrets taken out of every text in it; the same object when there were none. */
  data<T>(value: T): T {
    return this.#value(value, 0) as T;
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(this.#json(value, depth));
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return TOO_DEEP;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#value(item, depth + 1));
      return items.some((item, i) => item !== value[i]) ? items : value;
    }
    const isMedia = 'mediaType' in value;
    const entries = Object.entries(value);
    const changed = entries.map(([name, field]): [string, unknown] => {
      if (OPAQUE_FIELDS.has(name) || (isMedia && name === 'data' && isEncoded(field))) return [name, field];
      if (SECRET_FIELD.test(name) && typeof field === 'string' && field !== '')
        return [name, this.#mark('secret-field')];
      return [this.text(name), this.#value(field, depth + 1)];
    });
    return changed.some(([name, field], i) => field !== entries[i]?.[1] || name !== entries[i]?.[0])
      ? Object.fromEntries(changed)
      : value;
  }

  /** JSON in a text, such as the arguments of a call, has fields whose names indicate secrets. */
  #json(text: string, depth: number): string {
    if (!/^\s*[[{]/.test(text)) return text;
    let data: unknown;
    try {
      data = JSON.parse(text);
    } catch {
      return text;
    }
    const changed = this.#value(data, depth + 1);
    return changed === data ? text : JSON.stringify(changed);
  }

  #mark(kind: string): string {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    return `[redacted ${kind}]`;
  }
}

/** The text without secrets, and how many of each kind were taken out. */
export function redactSecrets(
  text: string,
  options: RedactOptions = {},
): { readonly text: string; readonly found: SecretCounts } {
  const redactor = new SecretRedactor(options);
  return { text: redactor.text(text), found: redactor.counts };
}
