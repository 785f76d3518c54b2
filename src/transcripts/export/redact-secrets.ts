/**
 * Finds secrets and takes them out: keys that show their issuer, private keys, values that their name or their place shows. A hash, an id, a
 * reference or a placeholder is none of these.
 */

import { TOO_DEEP } from '../json-access.ts';
import { assignedSecrets, NAME_HINT } from './secrets/assignments.ts';
import { type Finding, MARK } from './secrets/finding.ts';
import { ISSUED_HINT, issuedKeys } from './secrets/issued-keys.ts';
import { PLACE_HINT, placedSecrets } from './secrets/placed-secrets.ts';
import { PRIVATE_KEY_HINT, privateKeys } from './secrets/private-keys.ts';
import { containerStrength, isTypedName, nameStrength } from './secrets/secret-names.ts';
import { cookiesIn, isSecretValue, isStriking, looksRandom } from './secrets/secret-values.ts';

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

/** A field's name as it is known where its value is read. */
type Named = { readonly name: string; readonly isInside?: true } | undefined;

/** What redacts as an option `redact` says; `undefined` when nothing is redacted. */
export function redactorOf(redact: boolean | RedactOptions): SecretRedactor | undefined {
  return redact === false ? undefined : new SecretRedactor(redact === true ? {} : redact);
}

/** Takes secrets out of texts and data, and counts what it found. */
export class SecretRedactor {
  readonly #patterns: readonly SecretPattern[];
  readonly #counts = new Map<string, number>();

  constructor(options: RedactOptions = {}) {
    this.#patterns = (options.patterns ?? []).map(searching);
  }

  get counts(): SecretCounts {
    return Object.fromEntries(this.#counts);
  }

  text(text: string): string {
    const own = this.#patterns.flatMap((pattern) => matches(text, pattern));
    const findings = mayHoldSecret(text)
      ? [...own, ...privateKeys(text), ...issuedKeys(text), ...assignedSecrets(text), ...placedSecrets(text)]
      : own;
    if (findings.length === 0) return text;
    let result = '';
    let from = 0;
    for (const { start, end, kind } of merged(findings)) {
      result += text.slice(from, start) + this.#mark(kind);
      from = end;
    }
    return result + text.slice(from);
  }

  /** A copy of the data with secrets taken out of every text in it; the same object when there were none. */
  data<T>(value: T): T {
    return this.#value(value, 0, undefined) as T;
  }

  #value(value: unknown, depth: number, named: Named): unknown {
    if (typeof value === 'string') return this.#string(value, depth, named);
    if (typeof value === 'number')
      return named && value >= 1000 && isTypedName(named.name) ? this.#mark('secret-field') : value;
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return TOO_DEEP;
    if (Array.isArray(value)) return this.#list(value, depth, named);
    const isMedia = 'mediaType' in value;
    const entries = Object.entries(value);
    const label = labelOf(entries);
    const isSecret = isKubernetesSecret(entries);
    const isJwk = entries.some(([name]) => name === 'kty');
    const inner: Named =
      named && (named.isInside || containerStrength(named.name)) ? { name: named.name, isInside: true } : undefined;
    const changed = entries.map(([name, field]): [string, unknown] => {
      if (OPAQUE_FIELDS.has(name) || (isMedia && name === 'data' && isEncoded(field))) return [name, field];
      let context: Named = nameStrength(name) || containerStrength(name) ? { name } : inner;
      if (label && label.value === name) context = { name: label.name };
      // A value that is described: `"db_password": { "sensitive": true, "value": "…" }`.
      else if (named && !named.isInside && /^value$/i.test(name) && nameStrength(named.name)) context = named;
      if (isJwk && JWK_SECRETS.has(name)) context = { name: 'secret' };
      if (isSecret && /^(?:data|stringData)$/.test(name)) context = { name: 'secrets' };
      return [this.text(name), this.#value(field, depth + 1, context)];
    });
    return changed.some(([name, field], i) => field !== entries[i]?.[1] || name !== entries[i]?.[0])
      ? Object.fromEntries(changed)
      : value;
  }

  /** A list of a field's values, a pair of name and value, or names and values in turn. */
  #list(value: readonly unknown[], depth: number, named: Named): unknown {
    const items = value.map((item, i) => {
      const before = value[i - 1];
      const isNamed =
        typeof item === 'string' &&
        typeof before === 'string' &&
        before.length < 100 &&
        isLabel(before, i, value.length);
      return this.#value(item, depth + 1, isNamed ? { name: before } : named);
    });
    return items.some((item, i) => item !== value[i]) ? items : value;
  }

  #string(value: string, depth: number, named: Named): string {
    const text = this.text(this.#json(value, depth));
    // What the text itself shows is the more exact kind, unless something of the value is left.
    if (!named || text.includes(MARK) || value === '') return text;
    const strength = nameStrength(named.name);
    const isCookies = /cookie$/i.test(named.name) && cookiesIn(value, 0).length > 0;
    const isSecret = strength && !named.isInside ? isSecretValue(value, strength, 'quoted') : looksSecret(value);
    return isSecret || isCookies ? this.#mark('secret-field') : text;
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
    const changed = this.#value(data, depth + 1, undefined);
    return changed === data ? text : JSON.stringify(changed);
  }

  #mark(kind: string): string {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    return `${MARK} ${kind}]`;
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

const HINT = new RegExp(`${PRIVATE_KEY_HINT}|${ISSUED_HINT}|${PLACE_HINT}`);
const NAME = new RegExp(NAME_HINT, 'i');

/** Whether the finders have to look at a text. Most texts in data are short and hold nothing; one look saves many. */
function mayHoldSecret(text: string): boolean {
  if (text.length < 8) return false;
  return text.length > 2000 || HINT.test(text) || NAME.test(text);
}

function matches(text: string, { kind, pattern }: SecretPattern): Finding[] {
  const findings: Finding[] = [];
  for (const match of text.matchAll(pattern)) {
    const [start, end] = match.indices?.groups?.secret ?? [match.index, match.index + match[0].length];
    if (start !== end) findings.push({ start, end, kind });
  }
  return findings;
}

/** In order and without overlaps. Of findings that overlap the first finder's kind is used. */
function merged(findings: readonly Finding[]): Finding[] {
  const ranked = findings.map((finding, rank) => ({ ...finding, rank }));
  ranked.sort((a, b) => a.start - b.start || a.rank - b.rank);
  const result: { start: number; end: number; kind: string; rank: number }[] = [];
  for (const finding of ranked) {
    const last = result.at(-1);
    if (!last || finding.start >= last.end) {
      result.push(finding);
      continue;
    }
    if (finding.rank < last.rank) [last.kind, last.rank] = [finding.kind, finding.rank];
    last.end = Math.max(last.end, finding.end);
  }
  return result;
}

/** The private members of a JSON Web Key. */
const JWK_SECRETS: ReadonlySet<string> = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']);

/** The name and the field of the value in `{ name, value }`, as headers, variables and inputs are often written. */
function labelOf(
  entries: readonly (readonly [string, unknown])[],
): { readonly name: string; readonly value: string } | undefined {
  const value = entries.find(([name]) => /^(?:value|content|data|text)$/i.test(name));
  const label = entries.find(
    ([name, text]) => LABELS.test(name) && typeof text === 'string' && nameStrength(text),
  )?.[1];
  // A cookie as browsers store it.
  if (value?.[0] === 'value' && ['name', 'domain', 'path'].every((field) => entries.some(([name]) => name === field)))
    return { name: 'cookie', value: 'value' };
  if (!value || typeof label !== 'string') return undefined;
  const isClear = /^value$/i.test(value[0]) || (typeof value[1] === 'string' && isStriking(value[1]));
  return isClear ? { name: label, value: value[0] } : undefined;
}

const LABELS = /^(?:name|key|header|variable|field|label|selector|id|element|param|parameter|option)$/i;

/** Whether this text of a list names the text after it: a flag, or a header among headers. */
function isLabel(text: string, i: number, length: number): boolean {
  if (/^--?[A-Za-z]/.test(text)) return nameStrength(text.replace(/^-+/, '')) !== undefined;
  return length % 2 === 0 && i % 2 === 1 && nameStrength(text) !== undefined;
}

function isKubernetesSecret(entries: readonly (readonly [string, unknown])[]): boolean {
  return entries.some(([name, value]) => name === 'kind' && value === 'Secret');
}

/** Without a name of its own, a value must look like a secret. */
function looksSecret(value: string): boolean {
  return looksRandom(value) || (value.length >= 8 && isSecretValue(value, 'weak', 'quoted'));
}
