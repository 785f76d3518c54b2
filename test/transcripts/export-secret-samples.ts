/** 200 and more texts and data as they occur in agents' sessions, each with a secret. */
import { HTTP } from './export-secret-http.ts';
import { ISSUED } from './export-secret-issued.ts';
import { NAMED } from './export-secret-named.ts';
import { alnum, base64, hex, pem, type SecretSample, sample, typed } from './export-secret-parts.ts';

/** Data of tool calls and results. */
const DATA: readonly SecretSample[] = [
  sample('field', alnum(20), (s) => ({ user: 'ci', password: s }), 'ci'),
  sample('field token', alnum(20), (s) => ({ token: s, expires: 3600 }), '3600'),
  sample('camel case', alnum(20), (s) => ({ session: { sessionToken: s, userId: 'u1' } }), 'u1'),
  sample('kebab case', alnum(20), (s) => ({ headers: { 'x-api-key': s, accept: 'text/html' } }), 'text/html'),
  sample('screaming case', alnum(20), (s) => ({ env: { OPENAI_API_KEY: s, NODE_ENV: 'test' } }), 'test'),
  sample('spaces in a name', alnum(20), (s) => ({ 'API Key': s })),
  sample('cookie field', `sid=${alnum(20)}`, (s) => ({ cookie: s })),
  sample('array of values', [alnum(20), alnum(20)], (s) => ({ apiKeys: s, count: 2 })),
  sample(
    'object of values',
    [alnum(20), alnum(20)],
    ([a, b]) => ({ secrets: { stripe: a, mail: b }, region: 'eu' }),
    'eu',
  ),
  sample(
    'name and value',
    alnum(20),
    (s) => [
      { name: 'Authorization', value: s },
      { name: 'Accept', value: 'text/plain' },
    ],
    'text/plain',
  ),
  sample(
    'key and value',
    typed(),
    (s) => ({
      environment: [
        { key: 'DB_PASSWORD', value: s },
        { key: 'TZ', value: 'UTC' },
      ],
    }),
    'UTC',
  ),
  sample(
    'pairs',
    alnum(20),
    (s) => ({
      headers: [
        ['authorization', s],
        ['accept', 'text/css'],
      ],
    }),
    'text/css',
  ),
  sample('raw headers', alnum(20), (s) => ({ rawHeaders: ['Host', 'acme.dev', 'X-Auth-Token', s] }), 'acme.dev'),
  sample('JSON in a field', alnum(20), (s) => ({ body: JSON.stringify({ password: s, user: 'ci' }) }), 'ci'),
  sample('JSON in JSON in a field', alnum(20), (s) => ({
    body: JSON.stringify({ inner: JSON.stringify({ client_secret: s }) }),
  })),
  sample(
    'JSON in a text',
    alnum(20),
    (s) => `Response: {"access_token":"${s}","token_type":"Bearer","expires_in":3600}`,
    '"expires_in":3600',
  ),
  sample('escaped JSON in a text', alnum(20), (s) => `log: "{\\"user\\":\\"ci\\",\\"password\\":\\"${s}\\"}"`, 'ci'),
  sample('twice escaped JSON', alnum(20), (s) =>
    JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ api_key: s }) }) }),
  ),
  sample(
    'command of a call',
    alnum(40),
    (s) => ({ command: `curl -H "Authorization: Bearer ${s}" https://acme.dev`, timeout: 5 }),
    'https://acme.dev',
  ),
  sample(
    'written file',
    alnum(32),
    (s) => ({ file_path: '/app/.env', content: `API_SECRET=${s}\nPORT=1\n` }),
    '/app/.env',
    'PORT=1',
  ),
  sample(
    'edit',
    [alnum(32), alnum(32)],
    ([a, b]) => ({ old_string: `token: "${a}"`, new_string: `token: "${b}"` }),
    'token',
  ),
  sample(
    'argument list',
    typed(),
    (s) => ({ argv: ['mysql', '--user', 'root', '--password', s, 'shop'] }),
    'root',
    'shop',
  ),
  sample(
    'service account',
    [hex(40), pem('PRIVATE KEY').text],
    ([a, b]) => ({ type: 'service_account', project_id: 'acme', private_key_id: a, private_key: b }),
    'acme',
  ),
  sample(
    'AWS secretsmanager',
    alnum(24),
    (s) => ({
      ARN: 'arn:aws:secretsmanager:eu-west-1:1:secret:db',
      Name: 'db',
      SecretString: `{"username":"app","password":"${s}"}`,
    }),
    'app',
  ),
  sample(
    'AWS SSM',
    alnum(24),
    (s) => ({ Parameter: { Name: '/prod/db/password', Type: 'SecureString', Value: s } }),
    '/prod/db/password',
  ),
  sample('number as a PIN', '48151623', (s) => ({ otp: s, pin: s, user: 'ci' }), 'ci'),
];

const KEY = pem('RSA PRIVATE KEY', 8);
const SSH = pem('OPENSSH PRIVATE KEY', 6);
const EC = pem('EC PRIVATE KEY', 3);
const PGP = pem('PGP PRIVATE KEY BLOCK', 6);
const OPEN = pem('PRIVATE KEY', 8);

/** PEM, and texts that a terminal or an encoding changed. */
const SHAPED: readonly SecretSample[] = [
  sample('RSA key', KEY.body, () => `$ cat key.pem\n${KEY.text}\n$ exit`, '$ cat key.pem', '$ exit'),
  sample('SSH key with line numbers', SSH.body, () =>
    SSH.text
      .split('\n')
      .map((line, i) => `${String(i + 1).padStart(6)}\t${line}`)
      .join('\n'),
  ),
  sample('key with arrows', EC.body, () =>
    EC.text
      .split('\n')
      .map((line, i) => `${String(i + 1).padStart(5)}→${line}`)
      .join('\n'),
  ),
  sample('key in one line', EC.body, () => `"privateKey":"${EC.text.replaceAll('\n', '\\n')}","id":7`, '"id":7'),
  sample('key with Windows lines', KEY.body, () => `${KEY.text.replaceAll('\n', '\r\n')}\r\ndone`, 'done'),
  sample('key cut by head', OPEN.body.slice(0, 4), () => OPEN.text.split('\n').slice(0, 5).join('\n')),
  sample(
    'key without a beginning',
    OPEN.body.slice(2),
    () => `${OPEN.body.slice(2).join('\n')}\n-----END PRIVATE KEY-----\n$ ls`,
    '$ ls',
  ),
  sample('key in YAML', KEY.body, () => `tls:\n  key: |\n${KEY.text.replace(/^/gm, '    ')}\n  port: 443`, 'port: 443'),
  sample('key in a diff', KEY.body, () => `@@ -0,0 +1,10 @@\n${KEY.text.replace(/^/gm, '+')}\n diff end`, 'diff end'),
  sample('PGP key', PGP.body, () => PGP.text.replace('\n', '\nVersion: GnuPG v2\n\n')),
  sample(
    'PuTTY key',
    base64(64),
    (s) => `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n${s}\nPrivate-MAC: ${hex(64)}`,
    'Encryption: none',
  ),
  sample('after a colour code', `ghp_${alnum(36)}`, (s) => `\u001b[32m${s}\u001b[0m ok`, 'ok'),
  sample('name in colour', alnum(32), (s) => `\u001b[36mAPI_KEY\u001b[39m=\u001b[33m${s}\u001b[39m`, 'API_KEY'),
  sample(
    'quoted name in colour',
    alnum(32),
    (s) => `\u001b[34;1m"token"\u001b[0m: \u001b[32m"${s}"\u001b[0m,\n\u001b[34;1m"id"\u001b[0m: 7`,
    '7',
  ),
  sample(
    'percent-encoded assignment',
    alnum(32),
    (s) => `https://acme.dev/cb?state=x%26access_token%3D${s}%26v%3D2`,
    'acme.dev',
  ),
  sample('percent-encoded JSON', alnum(32), (s) => `data=%7B%22password%22%3A%22${s}%22%7D`),
  sample('added line of a diff', alnum(32), (s) => `-API_KEY=\n+API_KEY=${s}\n PORT=1`, 'PORT=1'),
  sample('numbered line', alnum(32), (s) => `     3\tSECRET_TOKEN=${s}\n     4\tPORT=1`, 'PORT=1'),
  sample(
    'grep with a file name',
    alnum(32),
    (s) => `config/prod.yml:14:  secret_key_base: ${s}`,
    'config/prod.yml:14:',
  ),
  sample('HTML attribute', alnum(32), (s) => `<input type="hidden" name="csrf_token" value="${s}">`, 'type="hidden"'),
  sample(
    'XML element',
    typed(),
    (s) => `<server>\n  <id>nexus</id>\n  <password>${s}</password>\n</server>`,
    '<id>nexus</id>',
  ),
  sample('C# app.config', typed(), (s) => `<add key="SmtpPassword" value="${s}" />`, 'SmtpPassword'),
];

export const SECRET_SAMPLES: readonly SecretSample[] = [...ISSUED, ...NAMED, ...HTTP, ...DATA, ...SHAPED];
