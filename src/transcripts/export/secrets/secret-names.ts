/**
 * Which names mean that their value is a secret. A name is read as words: `OPENAI_API_KEY`, `openaiApiKey` and `OpenAI API key` are the same.
 * Its last words decide: `DB_PASSWORD` is one, `PASSWORD_FILE` and `TOKENIZER_PATH` are not.
 */

/**
 * How sure a name is. `strong`: whatever the value is, it is a secret (`password`). `weak`: the value must look like one (`token`). `code`: a
 * number that a person types (`pin`). `vendor`: `ACME_KEY`, whose value must look random. `words`: `mnemonic`, whose value is a list of words.
 */
export type NameStrength = 'strong' | 'weak' | 'code' | 'vendor' | 'words';

const STRONG = new Set(
  'password passwd passwort kennwort senha motdepasse wachtwoord haslo parola contrasena passphrase passe passcode pwd pw psk requirepass masterauth secret credential authorization apikey apisecret apitoken privatekey secretkey accesskey accesstoken refreshtoken clientsecret authtoken'.split(
    ' ',
  ),
);
const WEAK = new Set(
  'token pass auth cookie jwt bearer sid sessionid phpsessid jsessionid csrf xsrf oauth sessiontoken authkey creds signature sig dsn mac'.split(
    ' ',
  ),
);
const CODES = new Set('pin otp totp mfa'.split(' '));
const WORD_LISTS = new Set('mnemonic mnemonics seed phrase seedphrase recovery'.split(' '));

/** Two words that mean a key or a token together. */
const KEYS = new Set(
  'api secret access private signing signature encryption decryption master account auth deploy service app application license webhook consumer storage admin client session jwt hmac cipher crypt root shared write live subscription functions host function'.split(
    ' ',
  ),
);
/** Keys that are names or public. */
const PLAIN_KEYS = new Set(
  'primary foreign partition sort cache public row group shift hot map lookup index object natural surrogate unique composite join translation message i18n config storage react list item menu arrow shortcut keyboard idempotency dedupe routing publishable site bundle store host known query registry tree recv send'.split(
    ' ',
  ),
);
/** Words after which a name still means the value itself. */
const TAILS = new Set(
  'value values string prod production staging stage dev development test live sandbox old new current previous next confirmation confirm plain plaintext text raw base data env main default primary secondary backup global local final here eu us uk de asia west east north south central v b pem encoded enc hex bytes'.split(
    ' ',
  ),
);

/** What a name means for its value; `undefined` when it means nothing. */
export function nameStrength(name: string): NameStrength | undefined {
  return meaningOf(name).own;
}

/** What the name of several secrets means for each: `secrets`, `apiKeys`. `tokens` alone are counted or parsed, not kept secret. */
export function containerStrength(name: string): NameStrength | undefined {
  return meaningOf(name).each;
}

interface Meaning {
  readonly own: NameStrength | undefined;
  readonly each: NameStrength | undefined;
}

/** `password` in scripts that have no words of Latin letters. */
const OTHER_SCRIPT = /(?:пароль|密码|密碼|パスワード|비밀번호)$/i;

/** Names repeat: the same few occur thousands of times in a session. */
const meanings = new Map<string, Meaning>();
const NO_MEANING: Meaning = { own: undefined, each: undefined };

function meaningOf(name: string): Meaning {
  if (name.length > 200) return NO_MEANING;
  const known = meanings.get(name);
  if (known) return known;
  if (meanings.size >= 5000) meanings.clear();
  const parts = OTHER_SCRIPT.test(name) ? ['password'] : words(name);
  const last = parts.at(-1) ?? '';
  const isPlural = /s$/i.test(name) && !(last === 'tokens' && parts.length === 1);
  const meaning = {
    own: classify(parts),
    each: isPlural ? classify([...parts.slice(0, -1), last.slice(0, -1)]) : undefined,
  };
  meanings.set(name, meaning);
  return meaning;
}

/** Whether a name is that of something to type, which may be a number. */
export function isTypedName(name: string): boolean {
  return (
    /^(?:password|passwd|passcode|passwort|kennwort|passe|contrasena|senha|parola|pwd|pw|secret)$/.test(
      words(name).at(-1) ?? '',
    ) || nameStrength(name) === 'code'
  );
}

const COUNTED = new Set(
  'input output prompt completion total cached reasoning read creation used remaining max min text audio image thinking'.split(
    ' ',
  ),
);

function words(name: string): string[] {
  return name
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/[0-9]+$/, ''))
    .filter((word) => word !== '');
}

function classify(all: readonly string[]): NameStrength | undefined {
  const parts = [...all];
  while (parts.length > 1 && TAILS.has(parts.at(-1) ?? '')) parts.pop();
  const last = parts.at(-1) ?? '';
  const before = parts.at(-2) ?? '';
  if (parts.length > 12) return undefined;
  if (last === 'key') {
    if (before === 'public' || before === '') return undefined;
    if (before === 'storage' || before === 'host' || before === 'client')
      return parts.length > 2 || before === 'client' ? 'weak' : undefined;
    if (KEYS.has(before)) return 'strong';
    return PLAIN_KEYS.has(before) ? undefined : 'vendor';
  }
  if (last === 'id' && before === 'key' && (parts.at(-3) === 'private' || parts.at(-3) === 'secret')) return 'strong';
  if (last === 'token')
    return STRONG_TOKENS.has(before)
      ? 'strong'
      : COUNTED.has(before) || before === 'next' || before === 'page' || before === 'public'
        ? undefined
        : 'weak';
  if (GLUED_TOKEN.test(last)) return 'weak';
  if (last === 'secret' && before === 'has') return undefined;
  if (STRONG.has(last) || GLUED.test(last)) return NEGATED.has(before) ? undefined : 'strong';
  if (before === 'pass' && /^(?:phrase|word|wd|code)$/.test(last)) return 'strong';
  if (WORD_LISTS.has(last) || (last === 'words' && WORD_LISTS.has(before))) return 'words';
  if (CODES.has(last) || (last === 'code' && (before === 'mfa' || before === 'verification' || before === 'otp')))
    return 'code';
  if (last === 'signature' || last === 'sig' || last === 'mac' || last === 'dsn') return undefined;
  return WEAK.has(last) ? 'weak' : undefined;
}

/** Names in which words are not set apart: `PGPASSWORD`. */
const GLUED =
  /(?:password|passwd|passphrase|apikey|secretkey|accesskey|authtoken|accesstoken|clientsecret|(?:user|db|root|admin|smtp|mail|sudo|become|store|key)pass|(?:user|db|root|admin|bind|smtp|mail)pw)$/;
/** `identitytoken`, but not `nexttoken`, which is a place in a list. */
const GLUED_TOKEN = /^(?:identity|registry|user|login|bearer|service|device|push|id|csrf|xsrf|session)token$/;
const STRONG_TOKENS = new Set(
  'access refresh auth api bearer session id github gitlab slack npm bot personal deploy registry security csrf xsrf'.split(
    ' ',
  ),
);
const NEGATED = new Set('has is no show hide forgot reset change needs require requires require'.split(' '));
