/**
 * Secrets that the name before them shows: `API_KEY=…`, `"token": "…"`, `--password …`, `<password>…`, `name: TOKEN, value: …`. A pattern
 * finds the words that such names end in; the name around the word and the value after it are read by hand, at a bounded cost.
 */

import { COLOUR, endOf, type Finding, MAX_VALUE, matchAt, trimmed } from './finding.ts';
import { containerStrength, isTypedName, type NameStrength, nameStrength } from './secret-names.ts';
import {
  cookiesIn,
  isSecretValue,
  isStriking,
  isStrikingPhrase,
  looksRandom,
  switchesCase,
  type ValueStyle,
} from './secret-values.ts';

/** A pattern that every text with such a value matches, in capitals or not. */
export const NAME_HINT: string =
  'pass|secret|token|pwd|pw(?![a-z])|passwd|cookie|cred|auth|jwt|key|psk|csrf|sig=|code=|_pin|otp|kennwort|senha|contrasena|contraseña|пароль|密码|密碼|パスワード|비밀번호|parola|mnemonic|seed|phrase|recovery';
const TERM = new RegExp(NAME_HINT, 'gi');
const NAME_CHARACTER = /[A-Za-z0-9_.-]/;
const MAX_NAME = 80;

const NOISE = `(?:${COLOUR}|\\[[0-9;]{1,12}m)`;
const QUOTE = `(?:\\\\{0,8}["'\`]|%22|&quot;|&#34;|\\\\u0022)`;
const TYPE = "(?:string|String|str|any|Optional\\[str\\]|SecretStr|&?(?:'static )?str)(?:[ \\t]*\\|[ \\t]*\\w{1,20})?";
/** Between a name and its value, at the end of the name. */
const ASSIGNED = new RegExp(
  `${NOISE}{0,3}(?:\\[[0-9]{1,6}\\]|[ ][[(][^\\])\\n]{0,40}[\\])](?=:))?${QUOTE}?\\]?${NOISE}{0,3}[*_]{0,2}[ \\t]{0,40}(?:${NOISE}[ \\t]{0,4}){0,2}(=>|:=|=|:[ \\t]{0,4}${TYPE}[ \\t]{0,4}=|:(?!\\?)|%3[DA]|：|是|\\\\u003d)(?![=>~])[*_]{0,2}[ \\t]{0,40}(?:${NOISE}[ \\t]{0,4}){0,3}(?:(?:&|!!)\\w{1,40}[ \\t]{1,4})?`,
  'iy',
);
/** `name: X` and its value on the next line or in the next attribute. */
const NAMED_VALUE = new RegExp(
  `${QUOTE}?[ \\t]{0,8},?\\s{0,40}${QUOTE}?(?:value|content|secret_value)${QUOTE}?[ \\t]{0,8}[:=][ \\t]{0,8}`,
  'iy',
);
/** `define('X', 'value')`, `["X", "value"]`, `'X', 'value'`. */
const LISTED = /["'][ \t]{0,8},[ \t]{0,40}(?:default[ ]?=[ ]?)?(?=["'])/y;
/** `<key>X</key><string>value</string>`. */
const PAIRED = /(?:<\/\w{1,40})?>\s{0,40}<(?:string|value)>(?=[^<\n]{1,1000}<\/)/iy;
/** `setApiKey('value')`. */
const CALLED = /\([ \t]{0,4}(?=["'`])/y;
const READS =
  /^(?:get|read|find|fetch|load|has|is|parse|verify|decode|create|generate|use|validate|check|require|delete|remove|list)(?=[A-Z_])/;
/** What is used if a variable is not set: `process.env.TOKEN ?? 'value'`. */
const OTHERWISE = /[\w.$[\]"'()]{1,120}[ \t]{1,4}(?:\?\?|\|\||or)[ \t]{1,4}(?=["'`])/y;
/** `| password | value |`, but not `(user|password|token)`. */
const CELL = /(?:[ \t]{1,40}\|[ \t]{0,40}|\|[ \t]{1,40})(?=[^\s|])/y;
/** `the password of the database is value`, `the token for the API: value`. */
const SENTENCE =
  /(?:[ \t]+(?!commit|hash|sha|digest|checksum|id\b)[A-Za-z]{1,20}){1,6}:[ \t]+[`"'*]{0,2}|(?:[ \t]+[a-z]{1,20}){0,6}[ \t]+(?:is|was|are|ist|war|lautet|est|es|era|é|è)[ \t]*:?[ \t]+[`"'*]{0,2}|[ \t]{1,4}[`"']?(?=[A-Za-z0-9])/y;
const ELEMENT = />(?=[^<\n]{1,1000}<\/)/y;
const SPACE = /[ \t]{1,20}(?=\S)/y;
const BLOCK = /[|>][+-]?[ \t]*\r?\n([ \t]+)(?=\S)/y;

const OPENING = new RegExp(`(?:(?:[brufn]{1,2}|@)(?=["']))?(${QUOTE})`, 'iy');
/** Where a value without quotes ends: before white space, quotes, colour codes, escapes, and before the next field. */
const BARE_END = new RegExp(
  `[\\s"'\`<>]|${COLOUR}|\\\\[nrt"'\\\\u]|[,;&](?=\\s|$|["'}\\])]|[\\w .-]{1,40}[=:])|&&|\\|(?=\\s|$)|%(?:26|22|7D|2C)`,
  'i',
);
const AUTH_SCHEME =
  /(?:Bearer|Basic|Token|ApiKey|Api-Key|Negotiate|GenieKey|Splunk|SSWS|DSN|FlyV1|PRIVATE-TOKEN|OAuth|Key)(?: |%20|\+){1,5}/iy;
const OTHER_SCHEME = /(?:Digest|AWS4-HMAC-SHA256|Signature|Hawk|Hmac|OAuth)\s/iy;

/** The values in a text that are assigned to names of secrets. */
export function assignedSecrets(text: string): Finding[] {
  const findings: Finding[] = [];
  const reader = new ValueReader(text);
  TERM.lastIndex = 0;
  for (let hit = TERM.exec(text); hit; hit = TERM.exec(text)) {
    const from = TERM.lastIndex;
    const [start, end] = nameAround(text, hit.index, hit[0].endsWith('=') ? from - 1 : from);
    // The rest of a name needs no second look.
    TERM.lastIndex = Math.max(end, from);
    findings.push(...reader.valuesOf(start, end));
  }
  return findings;
}

/** The name that a word is part of. A name may have one space in it: `api key`. */
function nameAround(text: string, index: number, after: number): [number, number] {
  let [start, end] = [index, after];
  while (start > 0 && index - start < MAX_NAME && NAME_CHARACTER.test(text[start - 1] as string)) start--;
  while (end < text.length && end - after < MAX_NAME && NAME_CHARACTER.test(text[end] as string)) end++;
  if (
    text.slice(index, after).toLowerCase() === 'key' &&
    /\b(?:api|secret|access|private) $/i.test(text.slice(Math.max(0, start - 8), start))
  ) {
    while (start > 0 && text[start - 1] === ' ') start--;
    while (start > 0 && /[A-Za-z]/.test(text[start - 1] as string) && index - start < MAX_NAME) start--;
  }
  // The letter of an escape is no part of a name: `\nAPI_KEY`, `%26token`, a colour code without its first character.
  const before = text.slice(Math.max(0, start - 1), start);
  if (before === '\\' && /[nrt]/.test(text[start] as string)) start++;
  else if (before === '%') start += 2;
  else if (before === '[') start += /^[0-9]{1,3}m/.exec(text.slice(start, start + 4))?.[0].length ?? 0;
  while (start < end && (text[start] === '-' || text[start] === '.')) start++;
  while (end > start && text[end - 1] === '.') end--;
  return [start, end];
}

/** How a name and its value are connected. */
interface Connection {
  readonly at: number;
  readonly by: 'assignment' | 'value' | 'list' | 'element' | 'space' | 'sentence';
  readonly sign?: string;
  /** A verb connects them: `the password is value`. */
  readonly isStated?: boolean;
}

class ValueReader {
  readonly #text: string;
  /** The last run without white space that was read, so that a long one is not read again for every name in it. */
  #run: readonly [number, number] = [0, 0];
  /** Where the last header of cookies ends. */
  #cookiesEnd = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The secrets that are assigned to the name between these places. */
  valuesOf(start: number, end: number): Finding[] {
    const text = this.#text;
    const name = text.slice(start, end);
    const strength = nameStrength(name) ?? containerStrength(name) ?? queryStrength(text, start, name);
    if (!strength) return [];
    const connection = this.#connection(start, end);
    // The user of a URL is no name: `https://access-token:…@host`. Nor is the type of a resource: `arn:aws:…:secret:prod/db`.
    if (!connection || text.slice(start - 3, start) === '://') return [];
    if (text[start - 1] === ':' && /\barn:[\w:*-]{1,100}$/.test(text.slice(Math.max(0, start - 110), start))) return [];
    const kind = kindOf(name, connection);
    if (/cookie$/i.test(name) && /^(?:assignment|value)$/.test(connection.by)) return this.#cookies(connection.at, end);
    if (/authorization$/i.test(name)) return this.#authorization(connection, kind);
    const block = connection.sign === ':' ? matchAt(BLOCK, text, connection.at) : undefined;
    if (block) return this.#lines(connection.at + block[0].length, (block[1] as string).length, strength, kind);
    if (text[connection.at] === '[' && connection.sign) return this.#list(connection.at + 1, strength, kind);
    const found = this.#value(connection, name, strength);
    return found ? [{ ...found, kind }] : [];
  }

  #connection(start: number, end: number): Connection | undefined {
    const text = this.#text;
    const assigned = matchAt(ASSIGNED, text, end);
    if (assigned) return { at: end + assigned[0].length, by: 'assignment', sign: assigned[1] as string };
    if (text[start - 1] === '<' && matchAt(ELEMENT, text, end)) return { at: end + 1, by: 'element' };
    const named = matchAt(NAMED_VALUE, text, end);
    if (named) return { at: end + named[0].length, by: 'value' };
    const paired = matchAt(PAIRED, text, end);
    if (paired) return { at: end + paired[0].length, by: 'element' };
    const listed = matchAt(LISTED, text, end);
    if (listed) return { at: end + listed[0].length, by: 'list' };
    const called = READS.test(text.slice(start, end).replace(/^.*\./, '')) ? undefined : matchAt(CALLED, text, end);
    if (called) return { at: end + called[0].length, by: 'list' };
    const cell = /\|[ \t]*[*_`]{0,2}$/.test(text.slice(Math.max(0, start - 12), start))
      ? matchAt(CELL, text, end)
      : undefined;
    if (cell) return { at: end + cell[0].length, by: 'space' };
    const space = matchAt(SPACE, text, end);
    if (space && /["']/.test(text[end + space[0].length] ?? ''))
      return { at: end + space[0].length, by: text[start - 1] === '-' ? 'space' : 'list' };
    if (space && isArgument(text, start, end)) return { at: end + space[0].length, by: 'space' };
    const sentence = matchAt(SENTENCE, text, end);
    return sentence ? { at: end + sentence[0].length, by: 'sentence', isStated: /[a-z]/.test(sentence[0]) } : undefined;
  }

  #value(connection: Connection, name: string, strength: NameStrength): Omit<Finding, 'kind'> | undefined {
    const text = this.#text;
    const isPlural = nameStrength(name) === undefined;
    const { by, sign } = connection;
    const at = connection.at + (sign ? (matchAt(OTHERWISE, text, connection.at)?.[0].length ?? 0) : 0);
    if (by === 'sentence') {
      const bare = trimmed(text, at, this.#bareEnd(at));
      const value = text.slice(bare.start, bare.end);
      // `single-pass parser2Mode` is no pass.
      if (!connection.isStated && strength === 'weak' && /(?:pass|auth|cookie)$/i.test(name)) return undefined;
      const isClear = isStriking(value) || (connection.isStated && isTypedName(name) && isStrikingPhrase(value));
      return isClear && isSecretValue(value, 'weak', 'bare') ? bare : undefined;
    }
    const quoted = this.#quoted(at);
    if (quoted) {
      const value = text.slice(quoted.start, quoted.end);
      if (lettersOf(value) === lettersOf(name)) return undefined;
      if (by === 'list' || isPlural)
        return hasShape(value, strength) && isSecretValue(value, strength, 'quoted') ? quoted : undefined;
      // A shell runs what is between backticks.
      const style = text[quoted.start - 1] === '`' ? 'environment' : 'quoted';
      return isSecretValue(value, strength, style) ? quoted : undefined;
    }
    if (sign === '=>' || by === 'list') return undefined;
    const end = by === 'element' ? endOf(text, '<', at) : this.#bareEnd(at);
    const bare = trimmed(text, at, end);
    if (bare.start === bare.end) return undefined;
    const value = text.slice(bare.start, bare.end);
    const style = styleOf(text, bare, connection, name);
    if (
      by === 'space' &&
      !(
        hasShape(value, strength) ||
        (strength === 'strong' && (/[^A-Za-z]/.test(value) ? value.length >= 6 : switchesCase(value)))
      )
    )
      return undefined;
    if (value.startsWith('-') && by === 'space') return undefined;
    return isSecretValue(value, strength, style) && !isVariable(value, name, text, bare.end, style) ? bare : undefined;
  }

  /** Between quotes, when they are closed in the same line. */
  #quoted(at: number): { readonly start: number; readonly end: number } | undefined {
    const text = this.#text;
    const [opening = '', quote] = matchAt(OPENING, text, at) ?? [];
    if (quote === undefined) return undefined;
    const start = at + opening.length;
    const window = text.slice(start, start + MAX_VALUE);
    const line = window.indexOf('\n');
    const inside = line < 0 ? window : window.slice(0, line);
    for (let end = inside.indexOf(quote); end >= 0; end = inside.indexOf(quote, end + 1)) {
      if (quote.length > 1 || inside[end - 1] !== '\\') return { start, end: start + end };
    }
    // A text that was cut.
    const rest = inside.trimEnd();
    return rest !== '' && !/\s/.test(rest) && start + inside.length >= text.length
      ? { start, end: start + rest.length }
      : undefined;
  }

  #bareEnd(at: number): number {
    if (at < this.#run[0] || at >= this.#run[1]) {
      // Only so far: a pattern that finds no end would read the rest of the text again and again.
      const end = this.#text.slice(at, at + MAX_VALUE).search(BARE_END);
      this.#run = [at, end < 0 ? Math.min(this.#text.length, at + MAX_VALUE) : at + end];
    }
    return this.#run[1];
  }

  /** The lines of a block in YAML that are indented like the first one. */
  #lines(at: number, indent: number, strength: NameStrength, kind: string): Finding[] {
    const text = this.#text;
    const end = endOf(text, '\n', at);
    const value = text.slice(at, end).trimEnd();
    return indent > 0 && isSecretValue(value, strength, 'quoted') ? [{ start: at, end: at + value.length, kind }] : [];
  }

  /** Texts of a list: `["…", "…"]`. */
  #list(from: number, strength: NameStrength, kind: string): Finding[] {
    const findings: Finding[] = [];
    let at = from;
    for (let i = 0; i < 50; i++) {
      at += /^[\s,]{0,80}/.exec(this.#text.slice(at, at + 80))?.[0].length ?? 0;
      const quoted = this.#quoted(at);
      if (!quoted) break;
      const value = this.#text.slice(quoted.start, quoted.end);
      if (hasShape(value, strength) && isSecretValue(value, strength, 'quoted')) findings.push({ ...quoted, kind });
      at = quoted.end + (quoted.start - at);
    }
    return findings;
  }

  /** Each cookie of a header that is long enough to identify a person. */
  #cookies(at: number, nameEnd: number): Finding[] {
    const text = this.#text;
    if (at < this.#cookiesEnd) return [];
    const quoted = this.#quoted(at);
    const isCommand = /^\s/.test(text.slice(nameEnd, nameEnd + 1));
    const end = quoted?.end ?? Math.min(endOf(text, '\n', at), endOf(text, '"', at), endOf(text, "'", at));
    const start = quoted?.start ?? at;
    const written = text.slice(start, Math.min(end, start + MAX_VALUE));
    this.#cookiesEnd = start + written.length;
    const findings = cookiesIn(written, start);
    const whole = written.trim();
    if (
      findings.length === 0 &&
      !isCommand &&
      !whole.includes('=') &&
      hasShape(whole, 'weak') &&
      isSecretValue(whole, 'weak', 'bare')
    )
      findings.push({
        start: start + written.indexOf(whole),
        end: start + written.indexOf(whole) + whole.length,
        kind: 'cookie',
      });
    return findings;
  }

  /** The credentials behind the scheme of an `Authorization` header. */
  #authorization({ at, by, sign }: Connection, kind: string): Finding[] {
    const text = this.#text;
    let start = at + (matchAt(OPENING, text, at)?.[0].length ?? 0);
    if (matchAt(OTHER_SCHEME, text, start)) return this.#signature(start, kind);
    const scheme = matchAt(AUTH_SCHEME, text, start);
    start += scheme?.[0].length ?? 0;
    const end = this.#bareEnd(start);
    const value = text.slice(start, end);
    const isPlausible = scheme
      ? value.length >= 6
      : hasShape(value, 'weak') && (by !== 'assignment' || sign !== '=' || at !== start);
    const bare = trimmed(text, start, end);
    return isPlausible &&
      isSecretValue(text.slice(bare.start, bare.end), scheme ? 'strong' : 'weak', scheme ? 'quoted' : 'bare') &&
      !/^[(){}[\]$]/.test(value)
      ? [{ ...bare, kind }]
      : [];
  }

  #signature(at: number, kind: string): Finding[] {
    const line = this.#text.slice(at, Math.min(endOf(this.#text, '\n', at), at + 4000));
    return [...line.matchAll(/(?:signature|response|mac|oauth_token)=\\?["']?([A-Za-z0-9+/=%_-]{16,500})/gi)].map(
      ({ index, 0: all, 1: value = '' }) => ({
        start: at + index + all.length - value.length,
        end: at + index + all.length,
        kind,
      }),
    );
  }
}

/** Names that mean a secret only in the query of a URL or a form. */
function queryStrength(text: string, start: number, name: string): NameStrength | undefined {
  if (!/[?&;'"]/.test(text[start - 1] ?? ''))
    return /^(?:x-amz-signature|x-goog-signature)$/i.test(name) ? 'weak' : undefined;
  return /^(?:sig|signature|code|key|x-amz-signature|x-goog-signature|hmac|sessionid|sid)$/i.test(name) &&
    text[start - 1] !== "'" &&
    text[start - 1] !== '"'
    ? 'vendor'
    : undefined;
}

/** Whether the value of this name is the next argument: `--token x`, `set -gx TOKEN x`, `login x password y`. */
function isArgument(text: string, start: number, end: number): boolean {
  if (text[start - 1] === '-') return true;
  const before = text.slice(Math.max(0, start - 60), start);
  if (
    /\b(?:set|setx|setenv|configure set)[ \t]+(?:-\w+[ \t]+)*(?:\/\/\S+:)?$/i.test(before) ||
    /\blogin\s+\S+\s+$/.test(before)
  )
    return true;
  if (/(?:^|\n)[ \t]*$/.test(before) && /^(?:\t+| {2,20})\S{8,4000}[ \t]*(?:\r?\n|$)/.test(text.slice(end, end + 4030)))
    return true;
  return (
    /(?:^|\n)[ \t]*$/.test(before) &&
    /^[ \t]+\S{8,200}[ \t]*(?:\r?\n|$)/.test(text.slice(end, end + 210)) &&
    /^_?(?:password|passwd)$/i.test(text.slice(start, end))
  );
}

function styleOf(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  { sign, by }: Connection,
  name: string,
): ValueStyle {
  if (by === 'element') return 'quoted';
  if (sign === '=' && /^[A-Z][A-Z0-9_]+$/.test(name) && text[start - 1] === '=') return 'environment';
  const rest = text.slice(end, end + 40);
  // `?user=ada&password=value`, `user=ada password=value dbname=shop`.
  const isPair = text[start - 1] === '=' && /^(?:&[\w.-]{1,30}=|[ ][a-z_]{2,20}=)/i.test(rest);
  if (isPair || (sign === '=' && /[?&]/.test(text[start - name.length - 2] ?? ''))) return 'line';
  return /^[ \t]*(?:\r?\n|$|#)/.test(rest) || /^\\[nr"]/.test(rest) ? 'line' : 'bare';
}

/** Whether a value in code is a variable: `password=password2)`, `token = accessToken2;`. */
function isVariable(value: string, name: string, text: string, end: number, style: ValueStyle): boolean {
  // An anchor or a comment, and a type with parameters: `[token]: #token`, `key: Key<Type>`.
  if (style !== 'environment' && (/^#[a-z-]*$/.test(value) || /^<[A-Z]/.test(text.slice(end, end + 2)))) return true;
  if (style === 'environment' || !/^[A-Za-z_$][\w$]*$/.test(value)) return false;
  const follows = text[end] ?? '';
  if (value.toLowerCase() === name.toLowerCase()) return true;
  return /[),;]/.test(follows) && /pass|token|secret|key|auth|cred/i.test(value) && !looksRandom(value);
}

function lettersOf(text: string): string {
  return text
    .slice(0, MAX_NAME)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

/** Whether a value looks like a secret by itself, as it must where names and values are not clearly connected. */
function hasShape(value: string, strength: NameStrength): boolean {
  if (strength === 'code' || strength === 'words') return true;
  return (
    (value.length >= 8 && /[0-9]/.test(value) && /[A-Za-z]/.test(value) && !/\s/.test(value)) || looksRandom(value)
  );
}

function kindOf(name: string, { sign }: Connection): string {
  if (/authorization$/i.test(name)) return 'authorization-header';
  if (/aws_?secret_?access_?key$/i.test(name)) return 'aws-secret-key';
  if (/^(?:x-)?(?:[a-z]+-)?(?:api-?key|auth-token|api-token)$/i.test(name) && sign === ':') return 'api-key-header';
  if (/^[A-Z][A-Z0-9_]*$/.test(name) && sign === '=') return 'environment-secret';
  return 'secret-field';
}
