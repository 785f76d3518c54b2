/** Secrets that their place shows: passwords in URLs, arguments of well-known commands, cookies of a jar, values of a Kubernetes secret. */

import { COMMAND_PLACES } from './command-passwords.ts';
import { type Finding, MARK, type Place, place, places } from './finding.ts';
import { COOKIE_HINT, commandCookies, isSecretValue, isStriking, looksRandom } from './secret-values.ts';

/** An argument without quotes around a comma: a name, a text, an object of one line. */
const ARGUMENT = `(?:"[^"\\n]{0,200}"|'[^'\\n]{0,200}'|\\{[^{}\\n]{0,300}\\}|[^,'"(){}\\n]{1,200})`;
const NEXT = `\\s{0,8},\\s{0,20}`;
/** A text that has a digit: one without is more often an explanation than a secret. */
const SECRET = `[bru]{0,2}["'](?<secret>(?=[^"'\\n]{0,200}[0-9])[^"'\\n]{6,300})["']`;

/** The function, as a pattern, how many arguments precede the secret, and a text that every call contains. */
function argument(kind: string, hint: string, functions: string, preceding: number): Place {
  const before = `${ARGUMENT}${NEXT}`.repeat(preceding);
  return { kind, hint, pattern: new RegExp(`(?:${functions})\\(\\s{0,20}${before}${SECRET}`, 'dg') };
}

/** Secrets that are arguments of well-known functions, where no name shows them. */
const CODE_PLACES: readonly Place[] = [
  argument('signing-secret', 'jwt', '\\b(?:jwt|JWT|jsonwebtoken)\\.(?:sign|verify|encode|decode)', 1),
  argument('signing-secret', 'createHmac(', '\\bcreateHmac', 1),
  argument('signing-secret', 'hmac.new(', '\\bhmac\\.new', 0),
  argument('encryption-key', 'Fernet(', '\\bFernet', 0),
  argument('private-key', 'Wallet(', '\\bWallet', 0),
  argument('private-key', 'privateKeyToAccount(', '\\bprivateKeyToAccount', 0),
  place(
    'private-key',
    'accounts',
    /\baccounts["']?\s{0,4}:\s{0,4}\[\s{0,8}["'](?<secret>(?:0x)?[0-9a-fA-F]{64})["']/dg,
  ),
  argument('database-password', 'PDO', '\\bnew \\\\?PDO', 2),
  argument('database-password', '->connect(', '\\bDBI->connect', 2),
  argument('database-password', 'mysqli', '\\b(?:mysqli_connect|new \\\\?mysqli)', 2),
  argument('database-password', 'getConnection(', '\\bgetConnection', 2),
  argument('login', 'Credential', '\\b(?:Network|Username?Password|Plain)?Credentials?', 1),
  {
    kind: 'login',
    hint: 'auth',
    pattern: new RegExp(`\\bauth\\s{0,4}[=:]\\s{0,4}[([]\\s{0,4}${ARGUMENT}${NEXT}${SECRET}`, 'dg'),
  },
  { kind: 'login', hint: 'basic_auth ', pattern: new RegExp(`\\bbasic_auth ${ARGUMENT}${NEXT}${SECRET}`, 'dg') },
  argument('login', 'asic', '\\b(?:HTTPBasicAuth|[bB]asic_?[aA]uth|BasicAuthentication|SetBasicAuth)', 1),
];

/** The secrets in a text that their place shows. */
export function placedSecrets(text: string): Finding[] {
  return [
    ...urlPasswords(text),
    ...PLACES.flatMap((place) => inPlace(text, place)),
    ...commandCookies(text),
    ...kubernetesSecrets(text),
  ];
}

const AUTHORITY = /([^\s:/?#@"'`<>{}\\]{0,200}):(?!\d{1,5}(?:[/?#\s]|$))([^\s"'`<>\\]{1,300})@(?=[A-Za-z0-9[(])/y;
const USER = /([^\s:/?#@"'`<>{}\\]{20,300})@(?=[A-Za-z0-9[])/y;

/** What the form of a URL is explained with. */
const TEMPLATE = /^(?:password|passwd|pass|pwd|secret|token|(?:your|my|some)[-_]?(?:password|token))$/i;

/** `scheme://user:password@host`. A key may also be the user. */
function urlPasswords(text: string): Finding[] {
  const findings: Finding[] = [];
  const kind = 'url-password';
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    if (!/[A-Za-z0-9]/.test(text[at - 1] ?? '')) continue;
    const from = at + 3;
    AUTHORITY.lastIndex = from;
    const found = AUTHORITY.exec(text);
    const [, user = '', password = ''] = found ?? [];
    USER.lastIndex = from;
    const key = found ? user : (USER.exec(text)?.[1] ?? '');
    if (looksRandom(key) && key.length >= 20) findings.push({ start: from, end: from + key.length, kind });
    // Not over the path: `https://host:x/y@z` has no password, unless what is before the `@` has no end of an authority.
    if (!found || password.startsWith(MARK) || /^(?:\$|<|\{|%7B|\*+$)/.test(password) || password.includes('://'))
      continue;
    if (TEMPLATE.test(password)) continue;
    findings.push({ start: from + user.length + 1, end: from + user.length + 1 + password.length, kind });
  }
  return findings;
}

/** The group called `secret`. Every repetition is bounded, and every pattern starts with what is rare. */
const PLACES: readonly Place[] = [
  place(
    'bearer-token',
    'Bearer ',
    /(?<![A-Za-z])Bearer\s{1,5}(?<secret>(?=[A-Za-z._~+/-]{0,200}[0-9])[A-Za-z0-9._~+/-]{20,8000}={0,2})/dg,
  ),
  place(
    'slack-webhook',
    'hooks.slack.com',
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9/_-]{20,200})/dg,
  ),
  place('discord-webhook', '/api/webhooks/', /\/api\/webhooks\/[0-9]{15,22}\/(?<secret>[A-Za-z0-9_-]{50,100})/dg),
  place(
    'teams-webhook',
    'webhook',
    /\.(?:webhook\.)?office\.com\/webhook[a-z0-9]{0,4}\/(?<secret>[A-Za-z0-9@/-]{60,300})/dg,
  ),
  place(
    'discord-token',
    '',
    /(?<![\w.-])(?<secret>[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})(?![\w-])/dg,
  ),
  place(
    'basic-credentials',
    'Basic ',
    /(?<![A-Za-z])Basic\s{1,3}(?<secret>(?=[A-Za-z+/]{0,200}[0-9])[A-Za-z0-9+/]{12,2000}={0,2})(?![\w-])/dg,
  ),
  place(
    'storage-key',
    'Key=',
    /(?:AccountKey|SharedAccessKey|SharedSecretKey)=(?<secret>[A-Za-z0-9+/]{20,120}={0,2})/dg,
  ),
  ...['@tcp(', '@unix(', '@udp('].map((hint) => ({
    kind: 'url-password',
    hint,
    pattern: /[\w.-]{1,60}:(?<secret>[^\s"'`@<>$]{3,100})@(?:tcp|unix|udp)\(/dg,
  })),
  ...COMMAND_PLACES,
  ...CODE_PLACES,
  place('database-password', 'IDENTIFIED', /\bIDENTIFIED (?:WITH \w{1,40} )?BY ['"](?<secret>[^'"\n]{3,200})['"]/dg),
  ...places('cookie', {
    '\t': /^(?:#HttpOnly_)?\.?[\w.-]{2,200}\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t[0-9]{1,20}\t[^\t\n]{1,200}\t(?<secret>[^\s]{8,8000})/dgm,
    SID: /\b(?:PHPSESSID|JSESSIONID|ASPSESSIONID\w{0,12}|ASP\.NET_SessionId)=(?<secret>[^\s;"'&<>]{8,500})/dg,
  }),
  place('pgpass', ':5432:', /^[\w.*-]{1,200}:5432:[^:\s]{1,100}:[^:\s]{1,100}:(?<secret>\S{4,200})$/dgm),
  place('npmrc', '_auth', /_auth(?:Token)?[ \t]{0,4}=[ \t]{0,4}["']?(?<secret>[A-Za-z0-9+/=_-]{12,1000})/dg),
  place('registry-auth', '"auth', /"auth\\?"\s{0,8}:\s{0,8}\\?"(?<secret>[A-Za-z0-9+/]{12,8000}={0,2})\\?"/dg),
  place(
    'presigned-url',
    'ignature=',
    /[?&](?:X-Amz-Signature|X-Goog-Signature|Signature)=(?<secret>[A-Za-z0-9%+/=_~-]{20,700})/dg,
  ),
  place('authorization-header', 'AWS4-HMAC-SHA256', /AWS4-HMAC-SHA256[^\n]{0,400}?Signature=(?<secret>[0-9a-f]{64})/dg),
  // An id and its secret next to each other, as in a table or a list of arguments.
  ...['AKIA', 'ASIA'].map((hint) => ({
    kind: 'aws-secret-key',
    hint,
    pattern: new RegExp(
      `${hint}[A-Z2-7]{16}["'\`]?[\\s,;:|/]{1,8}["'\`]?(?<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])`,
      'dg',
    ),
  })),
  place('twilio-key', 'AC', /\bAC[0-9a-f]{32}["'`]?[\s,:|]{1,8}["'`]?(?<secret>[0-9a-f]{32})(?![0-9a-f])/dg),
  place(
    'login',
    ' / ',
    /\b(?:credentials?|creds|log-?in|zugangsdaten)\b[^\n:/]{0,40}:[*_]{0,2}\s{1,4}[`"']?[\w.@+-]{2,80}[`"']? \/ [`"']?(?<secret>(?=[^\s/]{0,60}[0-9])[^\s/`"'$<{][^\s/`"'<{]{5,100})/dgi,
  ),
  place(
    'password-input',
    '<input',
    /<input\b(?=[^>\n]{0,400}?\btype=\\?["']password\b)[^>\n]{0,400}?\bvalue=\\?["'](?<secret>[^"'\\\n{}$<]{4,300})\\?["']/dg,
  ),
  place('database-password', 'jdbc:oracle', /\bjdbc:oracle:\w{1,10}:[\w.-]{1,60}\/(?<secret>[^\s"'@$<{]{3,100})@/dg),
  // Data that says of itself that it is one: an output of Terraform, a cookie as browsers store it.
  place(
    'secret-field',
    '"sensitive"',
    /"sensitive"\s{0,8}:\s{0,8}true,[^{}]{0,200}?"value"\s{0,8}:\s{0,8}"(?<secret>[^"\n]{4,4000})"/dg,
  ),
  place(
    'cookie',
    '"domain"',
    /"name"\s{0,8}:\s{0,8}"[^"\n]{1,100}",\s{0,40}"value"\s{0,8}:\s{0,8}"(?<secret>[^"\n]{16,4000})",\s{0,40}"domain"/dg,
  ),
  // A sentence announces a secret that stands in a line of its own, or at the end of the same line.
  place(
    'announced-secret',
    ':\n',
    /\b(?:password|passcode|passphrase|token|(?:api|secret|access) key)\b[^\n]{0,100}:[ \t]{0,4}(?:\r?\n[ \t]{0,8}(?:```\w{0,10})?){1,3}[`*]{0,3}(?<secret>(?=\S{0,200}[0-9])[A-Za-z0-9+/=_.~!@#%^&*-]{12,4000})[`*]{0,3}[ \t]{0,4}(?=\r?\n|$)/dgi,
    (value: string) => looksRandom(value) || isStriking(value),
  ),
  place(
    'announced-secret',
    ' password',
    /(?<=\b(?:[Tt]emporary|[Gg]enerated|[Ii]nitial|[Nn]ew|[Dd]efault|[Aa]dmin|[Rr]oot)(?: \w{1,20}){0,3}) password\b[^\n:]{1,80}:[ ]{1,4}(?<secret>(?=\S{0,60}[0-9])(?=\S{0,60}[A-Z])(?=\S{0,60}[a-z])\S{8,100})[ \t]{0,4}(?=\r?\n|$)/dg,
    (value: string) => !/[/\\]/.test(value) && /[A-Z]/.test(value) && /[a-z]/.test(value),
  ),
  place('announced-secret', 'New value: ', /password[^\n]{1,100}\r?\nNew value: (?<secret>\S{8,200})/dgi),
  place(
    'one-time-code',
    ' code',
    /(?<=\b(?:[Vv]erification|[Ss]ecurity|[Oo]ne-time|[Ll]og-?in|2FA|OTP|[Aa]uth|[Aa]uthentication|[Cc]onfirmation)) code(?: is|:) [*`"']{0,2}(?<secret>[0-9]{3}[ -]?[0-9]{1,5})(?![\w.]\w)/dg,
  ),
  place('shared-access-signature', 'sig=', /[?&;]sig=(?<secret>[A-Za-z0-9%+/=_-]{20,200})/dg),
  place('app-key', 'base64:', /\bAPP_KEY["']?\s{0,4}[=:]\s{0,4}["']?base64:(?<secret>[A-Za-z0-9+/]{20,100}={0,2})/dg),
];

/** A pattern that every text with such a secret matches. */
export const PLACE_HINT: string = [
  ...new Set(PLACES.map(({ hint }) => hint.replace(/[.()|$>]/g, '\\$&'))),
  ...[':\\/\\/', '[MNO][A-Za-z0-9]{22}', 'kind:', COOKIE_HINT],
]
  .filter((hint) => hint !== '')
  .join('|');

function inPlace(text: string, { kind, pattern, hint, isSecret }: Place): Finding[] {
  if (!text.includes(hint)) return [];
  const findings: Finding[] = [];
  for (const match of text.matchAll(pattern)) {
    const [start, end] = match.indices?.groups?.secret ?? [0, 0];
    const value = text.slice(start, end);
    if (value.startsWith(MARK) || !isSecretValue(value, 'strong', 'quoted')) continue;
    if (isSecret && !isSecret(value)) continue;
    findings.push({ start, end, kind });
  }
  return findings;
}

const SECRET_KIND = /^[ \t]*kind:[ \t]*["']?Secret["']?[ \t]*\r?$/m;

/** The values under `data:` and `stringData:` of a Kubernetes secret in YAML. */
function kubernetesSecrets(text: string): Finding[] {
  if (!text.includes('Secret') || !SECRET_KIND.test(text)) return [];
  const findings: Finding[] = [];
  let at = 0;
  for (const document of text.split(/^(?=---[ \t]*\r?$)/m)) {
    if (SECRET_KIND.test(document)) for (const found of dataOf(document, at)) findings.push(found);
    at += document.length;
  }
  return findings;
}

function dataOf(document: string, offset: number): Finding[] {
  const findings: Finding[] = [];
  let indent: number | undefined;
  let at = offset;
  for (const line of document.split('\n')) {
    const width = line.length - line.trimStart().length;
    if (/^[ \t]*(?:data|stringData):[ \t]*\r?$/.test(line)) indent = width;
    else if (indent !== undefined && line.trim() !== '' && width <= indent) indent = undefined;
    const field =
      indent === undefined ? undefined : /^([ \t]+["']?[\w.-]{1,253}["']?:[ \t]+["']?)([^\s"'|>][^\s"']*)/.exec(line);
    if (field?.[2] && !field[2].startsWith(MARK) && !/^[${<]/.test(field[2])) {
      const start = at + (field[1]?.length ?? 0);
      findings.push({ start, end: start + field[2].length, kind: 'kubernetes-secret' });
    }
    at += line.length + 1;
  }
  return findings;
}
