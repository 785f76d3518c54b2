/** Passwords that are arguments of well-known commands. */
import { type Place, place, places } from './finding.ts';

/** How a command is given a password. */
interface CommandOption {
  /** The commands, as alternatives of a pattern. */
  readonly commands: string;
  /** The option and what separates it from the password. */
  readonly option: string;
  /** Every text with one of the commands has it. */
  readonly hint: string;
}

const SPACED = '[ =]{1,4}';
/** What is between a command and its option, also in lines that a backslash continues. */
const BETWEEN = '(?:[^\\n|;]|\\\\\\r?\\n)';

const OPTIONS: readonly CommandOption[] = [
  { commands: 'redis-cli', option: `(?:-a|--pass)${SPACED}`, hint: 'redis-cli' },
  { commands: 'twine', option: `-p${SPACED}`, hint: 'twine' },
  { commands: 'sshpass', option: '-p[ =]{0,4}', hint: 'sshpass' },
  { commands: 'mongo(?:sh|dump|restore|export|import|stat|top)?', option: `-p${SPACED}`, hint: 'mongo' },
  { commands: 'cypher-shell|cqlsh|influx|rdesktop', option: `-p${SPACED}`, hint: '-p ' },
  { commands: 'ldap(?:search|modify|add|delete|whoami|passwd|compare|modrdn)', option: `-w${SPACED}`, hint: 'ldap' },
  { commands: '(?:un)?zip|sqlcmd|bcp|mosquitto_[prs]\\w{1,3}|ipmitool', option: `-P${SPACED}`, hint: '-P ' },
  { commands: '7z[ar]?|7zz|(?:un)?rar', option: '-p', hint: ' -p' },
  { commands: 'plink|pscp|psftp|kitty', option: `-pw${SPACED}`, hint: '-pw ' },
  { commands: 'xfreerdp\\d?', option: '/p:', hint: '/p:' },
  { commands: 'lftp', option: `-u${SPACED}[\\w.@-]{1,100},`, hint: 'lftp' },
  { commands: 'smbclient|rpcclient', option: `-U${SPACED}["']?[\\w.\\\\@/-]{1,100}%`, hint: 'client' },
  {
    commands: 'rabbitmqctl',
    option: '(?:add_user|change_password)[ ]{1,4}[\\w.@-]{1,100}[ ]{1,4}',
    hint: 'rabbitmqctl',
  },
  { commands: 'wpa_passphrase', option: '\\S{1,100}[ ]{1,4}', hint: 'wpa_passphrase' },
  { commands: 'net', option: '/user:\\S{1,100}[ ]{1,4}', hint: '/user:' },
  { commands: 'net', option: 'user[ ]{1,4}\\S{1,100}[ ]{1,4}(?=\\S{1,100}[ ]{1,4}/)', hint: 'net user' },
  { commands: 'mc', option: 'alias set (?:\\S{1,300} ){2}\\S{3,100} ', hint: 'mc alias' },
  { commands: 'sqlplus', option: '[\\w.-]{1,100}/', hint: 'sqlplus' },
];

/** Commands whose output is a secret and nothing else. */
const PRINTING: readonly { readonly command: string; readonly hint: string }[] = [
  { command: 'cat [^\\n]{0,200}(?:key|token|secret|password|passwd|\\.pass)(?:\\.\\w{1,5})?', hint: 'cat ' },
  { command: 'openssl rand [^\\n]{1,60}', hint: 'openssl rand' },
  { command: 'pwgen\\b[^\\n]{0,60}', hint: 'pwgen' },
  { command: '(?:gh|gcloud|heroku|fly|flyctl) auth[: ][^\\n]{0,60}token', hint: ' auth' },
  { command: 'kubectl create token [^\\n]{1,100}', hint: 'create token' },
  { command: 'kubectl get secret[^\\n]{1,200}base64 (?:-d|-D|--decode)', hint: 'get secret' },
  { command: 'op read [^\\n]{1,200}', hint: 'op read' },
  { command: 'pass show [^\\n]{1,100}', hint: 'pass show' },
];

/** The places of the group `secret`. Every repetition is bounded, and every pattern starts with what is rare. */
export const COMMAND_PLACES: readonly Place[] = [
  ...OPTIONS.map(({ commands, option, hint }) => ({
    kind: 'command-password',
    hint,
    pattern: new RegExp(
      `\\b(?:${commands})\\b(?:${BETWEEN}{0,300}?\\s|\\s)${option}["']?(?<secret>[^\\s"'$<{-][^\\s"'<{]{3,400})`,
      'dg',
    ),
  })),
  // `-u user:password`, and `-u key:` without a password.
  ...[
    `[^\\s:"'$<{]{0,100}["']?:["']?(?<secret>[^\\s"'$<{]{3,300})`,
    `(?<secret>(?=[^\\s:]{0,100}[0-9])[^\\s:"'$<{]{10,200}):["']?(?=\\s|$)`,
  ].map((login) => ({
    kind: 'command-password',
    hint: 'curl',
    pattern: new RegExp(
      `\\bcurl\\b(?:[^\\n]|\\\\\\r?\\n){0,500}?\\s(?:-[a-zA-Z]{0,6}u|--user|--proxy-user)[ =]{1,4}["']?${login}`,
      'dg',
    ),
  })),
  ...places('command-password', {
    login: /\blogin\b[^\n|;]{0,300}?\s-p[ =]?["']?(?<secret>[^\s"'$<{-][^\s"'<{]{4,300})/dg,
    mysql: /\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,300}?\s-p["']?(?<secret>[^\s"'$<{]{4,200})/dg,
    htpasswd:
      /\bhtpasswd\s{1,4}-\w{0,6}b\w{0,6}\s{1,4}\S{1,200}\s{1,4}\S{1,100}\s{1,4}["']?(?<secret>[^\s"'$<{]{4,200})/dg,
    chpasswd: /\becho\s{1,4}["']?[\w.-]{1,40}:(?<secret>[^\s"'$<{]{4,200})["']?\s{0,4}\|[^\n]{0,40}chpasswd/dg,
    ' pass:': /\s-pass(?:in|out)?\s{1,4}["']?pass:(?<secret>[^\s"'$<{]{3,200})/dg,
    secret:
      /\bsecrets? (?:set|put|create|add)\b[^\n]{0,300}?(?:--body|-b|--value|--secret-string)[ =]{1,2}["']?(?<secret>[^\s"'$<{]{6,4000})/dg,
    '--from-literal': /--from-literal[= ]["']?[\w.-]{1,100}=(?<secret>[^\s"'$<{]{4,4000})/dg,
    netlify: /\bnetlify\b[^\n]{0,200}?--auth[ =](?<secret>[\w-]{20,100})/dg,
    http: /\bhttps?[ ][^\n]{0,200}?(?:^|\s)(?:-a|--auth)[ =](?:[\w.@-]{1,60}:)?(?<secret>[^\s"'$<{:-][^\s"'<{:]{5,400})/dg,
    'ConvertTo-SecureString': /\bConvertTo-SecureString\s{1,4}(?:-String\s{1,4})?["'](?<secret>[^"'$\n]{3,300})["']/dg,
    ' --':
      /\b(?:echo|printf)\s{1,4}(?:-n\s{1,4})?["']?(?<secret>[^\s"'$<{|-][^\s"'<{|]{3,4000})["']?\s{0,4}\|[^\n|]{0,200}--(?:password-stdin|with-token)/dg,
    sudo: /\b(?:echo|printf)\s{1,4}(?:-n\s{1,4})?["']?(?<secret>[^\s"'$<{|-][^\s"'<{|]{3,200})["']?\s{0,4}\|\s{0,4}sudo\s[^\n|]{0,80}?(?:-\w{0,4}S|--stdin)\b/dg,
    'AUTH ':
      /(?:^|> ?)AUTH[ ]{1,4}(?:[\w.-]{1,60}[ ]{1,4})?["']?(?<secret>(?=[^\s"']{0,200}[0-9])[^\s"'$<{]{6,400})["']?[ ]{0,4}\r?$/dgm,
    SETUSER: /\bSETUSER\s{1,4}\S{1,100}(?:\s{1,4}[^\s>]{1,100}){0,20}\s{1,4}>(?<secret>[^\s"'$<{]{4,400})/dg,
  }),
  ...PRINTING.map(({ command, hint }) => ({
    kind: 'printed-secret',
    hint,
    pattern: new RegExp(
      `\\b(?:${command})[ \\t]{0,4}\\r?\\n(?<secret>(?=\\S{0,200}[0-9])[A-Za-z0-9+/=_.~!@#%^&*-]{12,4000})[ \\t]{0,4}\\r?(?=\\n|$)`,
      'dg',
    ),
  })),
  place('command-password', '::add-mask::', /::add-mask::(?<secret>[^\s"'$<{]{4,4000})/dg),
];
