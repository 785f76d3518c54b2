/** Secrets that are arguments of well-known functions, where no name shows them. */
import type { Place } from './finding.ts';

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

/** The places of the group `secret`. Every repetition is bounded, and every pattern starts with what is rare. */
export const CODE_PLACES: readonly Place[] = [
  argument('signing-secret', 'jwt', '\\b(?:jwt|JWT|jsonwebtoken)\\.(?:sign|verify|encode|decode)', 1),
  argument('signing-secret', 'createHmac(', '\\bcreateHmac', 1),
  argument('signing-secret', 'hmac.new(', '\\bhmac\\.new', 0),
  argument('encryption-key', 'Fernet(', '\\bFernet', 0),
  argument('private-key', 'Wallet(', '\\bWallet', 0),
  argument('private-key', 'privateKeyToAccount(', '\\bprivateKeyToAccount', 0),
  {
    kind: 'private-key',
    hint: 'accounts',
    pattern: /\baccounts["']?\s{0,4}:\s{0,4}\[\s{0,8}["'](?<secret>(?:0x)?[0-9a-fA-F]{64})["']/dg,
  },
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
