/** Which values of a field that is named like a secret are secrets, and which are types, placeholders, references or paths. */
import { type Finding, MARK } from './finding.ts';
import type { NameStrength } from './secret-names.ts';

/** How a value was written. */
export type ValueStyle =
  /** A field of data, or between quotes. */
  | 'quoted'
  /** `NAME=value`, as in an environment. */
  | 'environment'
  /** Without quotes, all that is left of its line. */
  | 'line'
  /** Without quotes, in the middle of something. */
  | 'bare';

/** Only this much of a value is looked at. */
const EXAMINED = 300;

const NOT_VALUES = new Set(
  `string str text number int integer boolean bool object array any unknown never void null nil none undefined true false yes no on off
  required optional hidden visible empty missing invalid incorrect wrong expired valid set unset unknown redacted masked hashed encrypted plaintext
  changeme changeit change-me change_me placeholder example todo tbd dummy default secret password passwd token key apikey api_key api-key
  bearer basic digest oauth oauth2 jwt disabled enabled prompt ask interactive keychain env file vault inherit auto const let var return await new function
  sk-... your_password your_token your_api_key mypassword insert_here replace_me xxx value fake
  sample test testing foo bar foobar pass yyy mytoken mysecret`.split(/\s+/),
);

const PLACEHOLDER =
  /^(?:<.*>|\[.*\]|\{\{?.*|\$.*|%[A-Za-z_]+%|[*x•.…#?-]+|(?:your|my|the|insert|replace|enter|put|some|example|sample|dummy|fake|placeholder|todo)[-_ ].*|.*[-_](?:here|placeholder|goes-here|example)|.*(?:\.\.\.|…)|sk-\.*|x{4,}.*|.*x{8,}|.*[*•]{3,}.*|(?:[a-z]+[-_ ])*change[-_ ]?(?:me|this|it)(?:[-_ ][a-z]+)*)$/i;
const REFERENCE =
  /^(?:!|@Microsoft|\w{3,10}\.env\b|import\.meta|os\.|env[.:([]|ENV\[|var\.|local\.|data\.|module\.|secrets?\.[a-z]|config[.([]|settings\.|self\.|this\.|req\.|request\.|ctx\.|args\.|options\.|vault:|op:\/\/|ssm:|arn:|sops:|ref\+|sha(?:256|384|512)[:-]|urn:|file:\/\/|secret\/|projects\/|data:)/;
const SCHEME = /^(?:Bearer|Basic|Token) +(?=\S{8})/i;
/** The name of a variable: `API_KEY = "API_KEY"`. */
const VARIABLE = /^[A-Z]+(?:_[A-Z]+)+$/;
/** What a test calls its values: `valid-refresh-token`. */
const KIND = /^(?:[a-z]+[-_])+(?:token|secret|password|key)s?$|^[a-z_-]*(?:fake|dummy|example|placeholder)[a-z_-]*$/i;
/** A regular expression. */
const PATTERN = /\[\^|\[[A-Za-z0-9]-[A-Za-z0-9]|\(\?[:=!<]|\\[dws][+*{]/;
const CALL = /^[A-Za-z_$][\w$.:>-]*[([{]/;
const DOTTED = /^[A-Za-z_$][\w$]*(?:(?:\??\.|->|::)[A-Za-z_$][\w$]*)+$/;
/** A step of a scale, as design tokens are named: `color.brand.500`. */
const STEP = /^[a-z][a-zA-Z]*(?:[.-][a-zA-Z]+)*[.-]\d{1,4}$/;
const LETTERS = /^[A-Za-z_$-]+$/;
const URL = /^[a-z][a-z0-9+.-]{1,20}:\/\//i;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]|$)/;
const CODE = /^\d{4,10}$/;
/** The words that stand for the key of a wallet: 12 to 24 of them; fewer when a text was cut. */
const WORD_LIST = /^(?:[a-z]{3,8}[\s,]{1,3}){5,}[a-z]{3,8}/i;
/** Code between two texts, whose quotes are not its own: `'password: ' + x + ' is wrong'`. */
const BETWEEN_TEXTS = /^[\s+,)\]};:?&|]/;
/** `my api key`, `the token to look up`. */
const NAMED_SECRET = /\b(?:password|passphrase|secret|token|key|credential)s?\b/i;
/** What a form says about a field: `Password is required`, `must have 12 characters`. */
const MESSAGE =
  /^(?:(?:this |a |an )?(?:password|passphrase|passcode|secret|token|(?:\w+ )?key|credentials?)s? (?:is|are|must|should|was|has|have|cannot|can|does|do|field|too)|must|please|invalid|incorrect|wrong|missing|forgot|defaults?|choose|confirm|at least|use at least|no|not|see|same as)\b/i;

/** Whether this value of a field with such a name is a secret. */
export function isSecretValue(whole: string, strength: NameStrength, style: ValueStyle): boolean {
  const value = whole.slice(0, EXAMINED).trim().replace(SCHEME, '');
  if (strength === 'code') return CODE.test(value);
  if (strength === 'words') return WORD_LIST.test(value);
  if (value.length < 3 || value.startsWith(MARK)) return false;
  const isSpaced = /\s/.test(value);
  // Between quotes, or in a field of data, words under the name of a secret are a passphrase.
  const isPhrase = isSpaced && strength === 'strong' && style === 'quoted';
  if (isPhrase && /^(?:my|the|some) /i.test(value)) return !NAMED_SECRET.test(value);
  if (NOT_VALUES.has(value.toLowerCase().replace(/[!?]$/, '')) || PLACEHOLDER.test(value) || REFERENCE.test(value))
    return false;
  if (VARIABLE.test(value) || KIND.test(value) || PATTERN.test(value)) return false;
  if (isPath(value) || URL.test(value) || DATE.test(value)) return false;
  if (isPhrase) return !MESSAGE.test(value) && !BETWEEN_TEXTS.test(whole);
  if (isSpaced && isSentence(value)) return false;
  if (style === 'bare' || style === 'line') {
    if (CALL.test(value) || (DOTTED.test(value) && !looksRandom(value)) || /^[=>!&|(]/.test(value)) return false;
  }
  if (strength === 'vendor') return looksRandom(value) && !isSpaced;
  if (strength === 'weak')
    return (
      !isSpaced &&
      !STEP.test(value) &&
      (hasDigitAndLetter(value) ? value.length >= 8 : value.length >= 20 && looksRandom(value))
    );
  const isWord = LETTERS.test(value) && !looksRandom(value) && !switchesCase(value);
  if (style === 'bare') return !isWord && value.length >= 6;
  if (style === 'line') return value.length >= 5 && (!isWord || /^[a-z]{6,}$/.test(value));
  return true;
}

/** Letters and digits without a structure that people give to names. */
export function looksRandom(value: string): boolean {
  const examined = value.slice(0, EXAMINED);
  if (examined.length < 16 || !/^[A-Za-z0-9+/=_.~:-]+$/.test(examined)) return false;
  const longest = examined.split(/[-_.:/]/).reduce((a, b) => (b.length > a.length ? b : a));
  const digits = examined.match(/[0-9]/g)?.length ?? 0;
  if (longest.length < 16 || digits === examined.length) return false;
  if (digits >= 2) return true;
  // Few digits: capitals and small letters in turn, and fewer vowels than words have.
  const vowels = longest.match(/[aeiou]/gi)?.length ?? 0;
  return /[a-z]/.test(longest) && /[A-Z]{2}/.test(longest) && vowels / longest.length < 0.3 && pieceLength(longest) < 4;
}

/** How many letters the words have on average that capitals set apart: 3 in `getKeyId`. */
function pieceLength(value: string): number {
  return value.length / (value.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)?.length ?? 1);
}

/** Whether letters are capitals and small ones more often in turn than in a name: `fDEFMBNClPrC`. */
export function switchesCase(value: string): boolean {
  if (value.length < 8 || value.length > 100 || !/^[A-Za-z]+$/.test(value)) return false;
  return /[A-Z]/.test(value) && pieceLength(value) < 3;
}

const ALGORITHM = /(?<![A-Za-z])(?:sha|md|base|utf|oauth|aes|rsa|ed|x|es|hs|rs|ps|v|http|ipv|crc|argon)[-_]?\d+/gi;

/** Whether a value looks like a secret wherever it stands, as it must in a sentence. */
export function isStriking(value: string): boolean {
  const examined = value.slice(0, EXAMINED).replace(ALGORITHM, '');
  if (value.length < 8 || /[\s()/\\]/.test(examined) || !/[0-9]/.test(examined)) return false;
  if (/^[\w.-]+\.[a-z]{2,4}$/.test(value) || /^v?\d+(?:\.\d+)+/.test(value)) return false;
  if (looksRandom(value)) return value.length >= 20;
  return (
    value.length >= 8 &&
    /[a-z]/.test(examined) &&
    (/[A-Z]/.test(examined) || /[!@#$%^&*?]/.test(examined)) &&
    !/[-_:=]/.test(examined)
  );
}

/** Whether a value that a sentence calls a password looks like one: words with a capital, a digit and a sign between them. */
export function isStrikingPhrase(value: string): boolean {
  const examined = value.slice(0, EXAMINED).replace(ALGORITHM, '');
  return (
    examined.length >= 8 &&
    /^[\w!@#$%^&*?+.-]+$/.test(examined) &&
    !/\.[a-z]{1,4}$/.test(examined) &&
    /[A-Z]/.test(examined) &&
    /[a-z]/.test(examined) &&
    /[0-9]/.test(examined)
  );
}

function hasDigitAndLetter(value: string): boolean {
  return /[0-9]/.test(value) && /[A-Za-z]/.test(value);
}

/** Three words or more without a digit. */
function isSentence(value: string): boolean {
  return !/[0-9]/.test(value) || value.split(/\s+/).length > 6;
}

/** `/run/secrets/db`, `~/.ssh/id`, `./a`, `C:\keys`. Base64 may start with a slash, too: its pieces are longer. */
function isPath(value: string): boolean {
  if (/^[A-Za-z]:\\/.test(value)) return true;
  if (!/^(?:~|\.{1,2})?\//.test(value) || /[+=]/.test(value)) return false;
  return value.split('/').every((piece) => piece.length <= 24 || !looksRandom(piece));
}

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
