import { describe, expect, test } from 'vitest';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { redactSecrets, SecretRedactor } from '../../src/transcripts/export/redact-secrets.ts';
import { call, result, text, upsert } from '../conversation/builders.ts';
import { COMMANDS, HARMLESS_COMMANDS } from './export-secret-commands.ts';
import { FILE_SECRETS } from './export-secret-files.ts';
import { HARMLESS } from './export-secret-harmless.ts';
import { HARMLESS_CODE } from './export-secret-harmless-code.ts';
import { FRESH, HOLDOUT } from './export-secret-holdout.ts';
import { LOOK_ALIKES } from './export-secret-look-alikes.ts';
import { ODD_FORMS } from './export-secret-odd-forms.ts';
import { ORDINARY } from './export-secret-ordinary.ts';
import { alnum, hex, type SecretSample, url64 } from './export-secret-parts.ts';
import { REQUEST_SECRETS } from './export-secret-requests.ts';
import { SECRET_SAMPLES } from './export-secret-samples.ts';
import { SOURCE_SECRETS } from './export-secret-source.ts';
import { VENDOR_KEYS } from './export-secret-vendors.ts';
import { stateOf } from './own-log-builders.ts';

const UNSEEN = [...VENDOR_KEYS, ...FILE_SECRETS, ...REQUEST_SECRETS, ...SOURCE_SECRETS, ...ODD_FORMS, ...ORDINARY];

/** A text, or data as JSON, without its secrets. */
function redacted(given: unknown): string {
  const redactor = new SecretRedactor();
  return typeof given === 'string' ? redactor.text(given) : JSON.stringify(redactor.data(given));
}

const written = (part: string): string => JSON.stringify(part).slice(1, -1);
const holds = (output: string, part: string): boolean => output.includes(part) || output.includes(written(part));

/** The samples of which a secret is left. */
function missed(samples: readonly SecretSample[]): string[] {
  return samples
    .filter(({ given, secrets }) => secrets.some((secret) => holds(redacted(given), secret)))
    .map(({ name }) => name);
}

describe('secrets as they occur in sessions', () => {
  test('there are 200 samples and 100 look-alikes, each of its own', () => {
    expect(new Set(SECRET_SAMPLES.map(({ name }) => name)).size).toBeGreaterThanOrEqual(200);
    expect(new Set(LOOK_ALIKES).size).toBeGreaterThanOrEqual(100);
    expect(new Set(HOLDOUT.map(({ name }) => name)).size).toBe(60);
  });

  test('redaction finds every sample', () => {
    expect(missed(SECRET_SAMPLES)).toEqual([]);
  });

  test('redaction finds the samples that were written against the rules, but for those that no rule can see', () => {
    expect(missed(HOLDOUT)).toEqual([]);
    expect(missed(FRESH)).toEqual(['poetry', 'cargo login']);
  });

  test('redaction finds the samples that were written without reading the rules, but for those that nothing marks', () => {
    expect(missed([...VENDOR_KEYS, ...FILE_SECRETS, ...REQUEST_SECRETS, ...SOURCE_SECRETS])).toEqual([
      'terraform state',
      'js jwt.sign',
    ]);
    expect(missed(ODD_FORMS)).toEqual(['bundle config', 'solana style key']);
    expect(missed(ORDINARY)).toEqual([]);
  });

  test('redaction finds the passwords that commands have as arguments', () => {
    expect(missed(COMMANDS)).toEqual([]);
  });

  test.for(HARMLESS_COMMANDS)('redaction leaves a command without a password as it is: %s', (command) => {
    expect(redacted(command)).toBe(command);
  });

  test.for([...SECRET_SAMPLES, ...HOLDOUT, ...FRESH, ...COMMANDS])(
    'redaction keeps what is around the secret: $name',
    (sample) => {
      const output = redacted(sample.given);
      for (const kept of sample.kept) expect(holds(output, kept), `${kept} in ${output}`).toBe(true);
    },
  );

  test('redacting twice gives the result of redacting once', () => {
    for (const { given } of [...SECRET_SAMPLES, ...HOLDOUT, ...COMMANDS, ...UNSEEN]) {
      if (typeof given !== 'string') continue;
      const once = redactSecrets(given).text;
      expect(redactSecrets(once)).toEqual({ text: once, found: {} });
    }
  });

  test('redaction finds them in an exported conversation, as output, as arguments and as JSON in a text', () => {
    const samples = SECRET_SAMPLES.filter(({ given }) => typeof given === 'string');
    const state = stateOf(
      samples.flatMap(({ given }, i) => [
        upsert(call(`c${i}`, { toolName: 'Write', input: { content: given } })),
        upsert(result(`c${i}`, { output: JSON.stringify({ stdout: given }) })),
        upsert(text(`t${i}`, given as string)),
      ]),
    );
    const { content } = exportConversation(state, { format: 'json', redact: true });
    const left = samples.filter(({ secrets }) => secrets.some((secret) => content.includes(written(secret))));
    expect(left.map(({ name }) => name)).toEqual([]);
  });
});

describe('what only looks like a secret', () => {
  test.for([...LOOK_ALIKES, ...HARMLESS, ...HARMLESS_CODE].map((given) => ({ given })))(
    '$given stays as it is',
    ({ given }) => {
      const redactor = new SecretRedactor();
      expect(typeof given === 'string' ? redactor.text(given) : redactor.data(given)).toBe(given);
      expect(redactor.counts).toEqual({});
    },
  );
});

describe('data', () => {
  test('a field is read together with its name, at any depth and in JSON inside of a text', () => {
    const [a, b, c] = [alnum(20), alnum(20), alnum(20)];
    const value = {
      env: { DB_PASSWORD: a, TZ: 'UTC' },
      headers: [{ name: 'X-Api-Key', value: b }, ['Cookie', `sid=${c}`]],
      body: JSON.stringify({ inner: JSON.stringify({ token: a }) }),
    };
    expect(new SecretRedactor().data(value)).toEqual({
      env: { DB_PASSWORD: '[redacted secret-field]', TZ: 'UTC' },
      headers: [{ name: 'X-Api-Key', value: '[redacted secret-field]' }, ['Cookie', '[redacted secret-field]']],
      body: JSON.stringify({ inner: JSON.stringify({ token: '[redacted secret-field]' }) }),
    });
  });

  test('a key that its issuer marks is counted as such, also in a field that is named like a secret', () => {
    const redactor = new SecretRedactor();
    expect(redactor.data({ token: `glpat-${url64(20)}` })).toEqual({ token: '[redacted gitlab-token]' });
    expect(redactor.counts).toEqual({ 'gitlab-token': 1 });
  });

  test('a value that is described, and cookies as a browser and a recording store them', () => {
    const secret = alnum(32);
    const data = {
      outputs: { db_password: { sensitive: true, type: 'string', value: secret }, region: { value: 'eu-west-1' } },
      cookies: [{ name: 'session', value: secret, domain: '.acme.dev', path: '/' }],
      headers: [{ name: 'cookie', value: `theme=dark; sid=${secret}` }],
    };
    const redacted = '[redacted secret-field]';
    expect(new SecretRedactor().data(data)).toEqual({
      outputs: { db_password: { sensitive: true, type: 'string', value: redacted }, region: { value: 'eu-west-1' } },
      cookies: [{ name: 'session', value: redacted, domain: '.acme.dev', path: '/' }],
      headers: [{ name: 'cookie', value: redacted }],
    });
  });

  test('lists of flags and values, and numbers that people type', () => {
    const secret = hex(24);
    expect(new SecretRedactor().data({ argv: ['app', '--token', secret, '--port', '80'], pin: 4815 })).toEqual({
      argv: ['app', '--token', '[redacted secret-field]', '--port', '80'],
      pin: '[redacted secret-field]',
    });
  });
});

describe('passphrases of words', () => {
  const SEED = 'abandon ability able about above absent absorb abstract absurd abuse access accident';

  test.for([
    ['{"password":"correct horse battery staple"}', 'correct horse battery staple'],
    ['password: "correct horse battery staple"', 'correct horse battery staple'],
    ['PASSPHRASE="open sesame my door"', 'open sesame my door'],
    ["export DB_PASSWORD='the quick'", 'quick'],
    ['login --password "my pass word" --user ada', 'my pass word'],
    ['<password>correct horse battery</password>', 'horse'],
    [`mnemonic="${SEED}"`, 'abandon'],
    [`{"seedPhrase":"${SEED} ${SEED}"}`, 'absorb'],
    [`{"recovery_phrase": "${SEED}"}`, 'absorb'],
  ] as const)('%s is redacted', ([given, secret]) => {
    expect(redactSecrets(given).text).not.toContain(secret);
  });

  test('a field of data is redacted, and so is the heading of its call', () => {
    const input = { password: 'correct horse battery staple', mnemonic: SEED };
    const state = stateOf([upsert(call('c', { toolName: 'login', input }))]);
    for (const format of ['markdown', 'html', 'json'] as const) {
      const { content } = exportConversation(state, { format, redact: true });
      expect(content).not.toMatch(/horse|abandon/);
    }
  });

  test.for([
    '{"password":"your password here"}',
    '{"password":"<your password>"}',
    '{"password":"Password is required"}',
    '{"password":"must have at least 12 characters"}',
    '--password "<the password>"',
    'apiKey: "my api key"',
    '{"mnemonic":"mov","operands":"eax, ebx"}',
    'seed="42"',
    "new Error('no password: ' + name + ' is not known')",
    '{"phrase":"to be or not"}',
  ])('%s stays as it is', (given) => {
    expect(redactSecrets(given)).toEqual({ text: given, found: {} });
  });
});

/** Inputs that make a finder start again and again. */
const HOSTILE = [
  ...['sk-', 'eyJaaaaaaaaaaaa.', '-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', 'token=', 'token:"'],
  ...[
    'password=a',
    'Cookie: a=',
    'curl -u ',
    'a://b:',
    'kind: Secret\ndata:\n  a: b\n',
    'password a b c ',
    '\\\\token:\\"',
  ],
  ...[
    '<password>',
    'token: ["',
    '| token | ',
    'tokentoken',
    '\u001b[32mtoken',
    '%22token%22%3A%22',
    '11111111:AA',
    '{"a":"',
  ],
  ...[
    'curl \\\n -u a',
    'curl -b "a=1; ',
    'cat a.key\n',
    'jwt.sign({a}, ',
    'getConnection("a", ',
    'The password is:\n',
    'new password a: ',
    '"name":"a","value":"',
    '"sensitive": true, ',
    '<input type="password" ',
    'SETUSER a b ',
    'login: a / ',
    'AKIAAAAAAAAAAAAAAAAA,',
    'password (',
    '$6$a$',
  ],
  ...['-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n', 'x:5432:a:b:', 'a1', ' ', '\n'],
];

describe('the cost is linear', () => {
  /** The processor's time in microseconds, which other processes do not change. */
  function cost(given: string): number {
    const before = process.cpuUsage();
    redactSecrets(given);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  }

  test.for(HOSTILE)('a text of 16 times as many %j costs about 16 times as much, not 256 times', (piece) => {
    const of = (length: number): string => piece.repeat(Math.ceil(length / piece.length));
    // The best of several ratios: a garbage collection or a compilation in the first text makes single ones meaningless.
    let ratio = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5 && ratio > 48; i++)
      ratio = Math.min(ratio, cost(of(160_000)) / Math.max(cost(of(10_000)), 100));
    expect(ratio).toBeLessThan(100);
  });
});
