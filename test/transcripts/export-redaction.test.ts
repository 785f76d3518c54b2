import { describe, expect, test } from 'vitest';
import { redactSecrets, SecretRedactor } from '../../src/transcripts/export/redact-secrets.ts';

// Invented secrets. Each is assembled at run time, so that secret scanners do not report this file.
const letters = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5jK7mN9pQ1sT3vW5yZ7';
const take = (n: number): string => letters.repeat(3).slice(0, n);
const hex = (n: number): string => '0123456789abcdef'.repeat(8).slice(0, n);

describe('redactSecrets', () => {
  test.for<[string, string, string]>([
    ['openai-key', `OPENAI=${['sk', take(48)].join('-')}`, 'OPENAI=[redacted openai-key]'],
    ['openai-key', `key: "${['sk', 'proj', take(60)].join('-')}"`, 'key: "[redacted openai-key]"'],
    ['anthropic-key', `use ${['sk', 'ant', 'api03', take(80)].join('-')} here`, 'use [redacted anthropic-key] here'],
    ['openrouter-key', ['sk', 'or', 'v1', hex(64)].join('-'), '[redacted openrouter-key]'],
    ['github-token', `https://x/${['ghp', take(36)].join('_')}`, 'https://x/[redacted github-token]'],
    ['github-token', ['github', 'pat', take(60)].join('_'), '[redacted github-token]'],
    ['gitlab-token', ['glpat', take(20)].join('-'), '[redacted gitlab-token]'],
    ['aws-key-id', `id AKIA${'ABCDEFGH234567QR'} end`, 'id [redacted aws-key-id] end'],
    ['aws-secret-key', `aws_secret_access_key = ${take(40)}`, 'aws_secret_access_key = [redacted aws-secret-key]'],
    ['google-key', `AIza${take(35)}`, '[redacted google-key]'],
    ['slack-token', ['xoxb', '123456789012', take(24)].join('-'), '[redacted slack-token]'],
    [
      'slack-webhook',
      `https://hooks.slack.com/services/T0000AAAA/B0000BBBB/${take(24)}`,
      'https://hooks.slack.com/services/[redacted slack-webhook]',
    ],
    ['stripe-key', ['sk', 'live', take(24)].join('_'), '[redacted stripe-key]'],
    ['npm-token', `//host/:_authToken=${['npm', take(36)].join('_')}`, '//host/:_authToken=[redacted npm-token]'],
    ['pypi-token', ['pypi', take(80)].join('-'), '[redacted pypi-token]'],
    ['huggingface-token', ['hf', take(34)].join('_'), '[redacted huggingface-token]'],
    ['sendgrid-key', ['SG', take(22), take(43)].join('.'), '[redacted sendgrid-key]'],
    ['jwt', `token eyJ${take(20)}.eyJ${take(40)}.${take(43)}`, 'token [redacted jwt]'],
    [
      'authorization-header',
      `Authorization: Basic ${take(30)}==`,
      'Authorization: Basic [redacted authorization-header]',
    ],
    [
      'authorization-header',
      `curl -H "authorization: Bearer ${take(12)}"`,
      'curl -H "authorization: Bearer [redacted authorization-header]"',
    ],
    [
      'authorization-header',
      `{"Authorization":"token ${take(20)}"}`,
      '{"Authorization":"token [redacted authorization-header]"}',
    ],
    ['bearer-token', `send Bearer ${take(40)} along`, 'send Bearer [redacted bearer-token] along'],
    ['api-key-header', `-H 'x-api-key: ${take(32)}'`, "-H 'x-api-key: [redacted api-key-header]'"],
    [
      'url-password',
      `postgres://app:${take(10)}@db.internal/prod`,
      'postgres://app:[redacted url-password]@db.internal/prod',
    ],
    ['url-password', 'amqp://guest:guest@rabbit', 'amqp://guest:[redacted url-password]@rabbit'],
    ['url-password', 'postgres://postgres:postgres@db', 'postgres://postgres:[redacted url-password]@db'],
    ['github-token', `"# env\\n${['ghp', take(36)].join('_')}"`, '"# env\\n[redacted github-token]"'],
    ['environment-secret', `PASSWORD=${take(24)}`, 'PASSWORD=[redacted environment-secret]'],
    ['environment-secret', `"a\\nAPI_KEY=${take(24)}"`, '"a\\nAPI_KEY=[redacted environment-secret]"'],
    ['environment-secret', `export STRIPE_SECRET=${take(24)}`, 'export STRIPE_SECRET=[redacted environment-secret]'],
    [
      'private-key',
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${take(60)}\n-----END RSA PRIVATE KEY----- after`,
      '[redacted private-key] after',
    ],
    [
      'private-key',
      `{"key":"-----BEGIN PRIVATE KEY-----\\n${take(60)}\\n-----END PRIVATE KEY-----\\n"}`,
      '{"key":"[redacted private-key]\\n"}',
    ],
    ['private-key', `-----BEGIN OPENSSH PRIVATE KEY-----\n${take(60)}`, '[redacted private-key]'],
  ])('%s in %s', ([kind, text, expected]) => {
    expect(redactSecrets(text)).toEqual({ text: expected, found: { [kind]: 1 } });
  });

  test('removes several secrets of one text and counts each', () => {
    const secret = ['ghp', take(36)].join('_');
    const { text, found } = redactSecrets(`${secret} and ${secret} and Bearer ${take(30)}`);
    expect(text).toBe('[redacted github-token] and [redacted github-token] and Bearer [redacted bearer-token]');
    expect(found).toEqual({ 'github-token': 2, 'bearer-token': 1 });
  });

  test('redacting twice gives the result of redacting once', () => {
    const once = redactSecrets(`Authorization: Bearer ${['sk', take(48)].join('-')}\nAPI_TOKEN=${take(30)}`).text;
    expect(redactSecrets(once)).toEqual({ text: once, found: {} });
  });

  test('removes the caller’s own kinds of secrets', () => {
    const patterns = [{ kind: 'badge', pattern: /badge-(?<secret>\d{4})/g }];
    expect(redactSecrets('my badge-1234', { patterns }).text).toBe('my badge-[redacted badge]');
    const twice = [{ kind: 'pin', pattern: /(?<secret>\d{4}) is the pin, not \d{4}/ }];
    expect(redactSecrets('1234 is the pin, not 1234', { patterns: twice }).text).toBe(
      '[redacted pin] is the pin, not 1234',
    );
  });
});

test('removes fields of JSON in a text', () => {
  const redactor = new SecretRedactor();
  const text = '{ "password": "hunter2", "content": "fine" }';
  expect(redactor.data({ arguments: text, plain: '{ "content": "fine" }', broken: '{ "password": "hunter2"' })).toEqual(
    {
      arguments: '{"password":"[redacted secret-field]","content":"fine"}',
      plain: '{ "content": "fine" }',
      broken: '{ "password": "[redacted secret-field]"',
    },
  );
  expect(redactor.counts).toEqual({ 'secret-field': 2 });
});

test.for([
  'commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad fixes it',
  `sha256:${hex(64)}`,
  'integrity sha512-AKjVPmIaeuVMf2dcYP5OEJSGDSqsbMYTJ2pFLhbrl7OTVS9VV9bZoIdx6Ax1sL4aZVJsHxBL7bVsMHyySGdsmw==',
  '123e4567-e89b-12d3-a456-426614174000',
  'toolu_01A9bC3dE5fG7hJ9kLmN1pQ3 and msg_01Aci2WjhVxhEoZK5GJvwVrD and call_abcDEF123456789012345678',
  'class="sk-circle-fade-dot sk-folding-cube-animation-wrapper"',
  'a task-force-for-risk-assessment-of-Desk-Lamp-2024-models-and-others',
  'const token = getToken(); password: string; apiKey?: string; secret = process.env.SECRET',
  'authorization: string | undefined; headers.authorization = `Bearer §{token}`',
  'Bearer authentication is described in the documentation of the server',
  'the Authorization: header of the request',
  'export API_KEY=§{API_KEY:-} TOKEN=$(cat /run/token) SECRET_NAME=<your-secret-1>',
  'https://example.com:8080/@scope/package and http://localhost:3000 and git@github.com:owner/repo.git',
  'postgres://§{USER}:§{PASSWORD}@localhost/db and https://<user>:<password>@host',
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  '-----BEGIN CERTIFICATE-----\nMIIBkTCB+wIJAKHHIG...\n-----END CERTIFICATE-----',
  '-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJB\n-----END PUBLIC KEY-----',
  'AKIA is how the ids of access keys begin; eyJ is how JSON looks in base64',
  'npm_config_registry npm_lifecycle_event npm_package_version hf_hub_download',
])('removes nothing from %s', (written) => {
  const text = written.replaceAll('§', '$');
  expect(redactSecrets(text)).toEqual({ text, found: {} });
});

describe('redacting data', () => {
  test('redacts every text, and fields that are named like secrets', () => {
    const redactor = new SecretRedactor();
    const secret = ['ghp', take(36)].join('_');
    expect(
      redactor.data({
        a: [{ note: `see ${secret}` }],
        headers: { 'X-API-Key': 'short', accept: 'x' },
        password: 'hunter2',
        n: 1,
        nothing: null,
      }),
    ).toEqual({
      a: [{ note: 'see [redacted github-token]' }],
      headers: { 'X-API-Key': '[redacted secret-field]', accept: 'x' },
      password: '[redacted secret-field]',
      n: 1,
      nothing: null,
    });
    expect(redactor.counts).toEqual({ 'github-token': 1, 'secret-field': 2 });
  });

  test('data without secrets is the same object', () => {
    const value = { a: [{ b: 'text' }], c: null, password: '' };
    expect(new SecretRedactor().data(value)).toBe(value);
  });

  test('contents of media and providers’ signatures are kept', () => {
    const secret = ['ghp', take(36)].join('_');
    const encoded = `AKIA${'ABCDEFGH234567QR'}`;
    const value = { mediaType: 'image/png', data: encoded, more: { signature: secret, redacted: secret } };
    expect(new SecretRedactor().data(value)).toBe(value);
    const plain = { mediaType: 'text/plain', data: `data:text/plain,${secret}` };
    expect(new SecretRedactor().data(plain).data).toBe('data:text/plain,[redacted github-token]');
  });

  test('values that are nested too deeply are replaced', () => {
    let value: unknown = ['ghp', take(36)].join('_');
    for (let i = 0; i < 5000; i++) value = [value];
    expect(JSON.stringify(new SecretRedactor().data(value))).not.toContain('ghp_');
  });

  test('a secret in a key is removed', () => {
    expect(new SecretRedactor().data({ [['ghp', take(36)].join('_')]: 1 })).toEqual({ '[redacted github-token]': 1 });
  });

  test('hostile keys stay keys', () => {
    const value = JSON.parse(`{"__proto__":{"x":"${['ghp', take(36)].join('_')}"}}`);
    const copy = new SecretRedactor().data(value);
    expect(Object.keys(copy)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });
});

test('the time for long texts grows only with their length', () => {
  for (const piece of [
    'sk-',
    'eyJ',
    'eyJa.eyJ',
    '-----BEGIN PRIVATE KEY-----',
    'Bearer ',
    'a://b:',
    'A_TOKEN=',
    'authorization: Bearer ',
  ]) {
    const { found } = redactSecrets(piece.repeat(Math.ceil(200_000 / piece.length)));
    expect(typeof found).toBe('object');
  }
});
