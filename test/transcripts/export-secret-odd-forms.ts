/** Secrets in forms that are rare: dialogs, tables, initial passwords, other languages. */
import { alnum, base64, hex, lower, type SecretSample, sample, upper, url64, uuid } from './export-secret-parts.ts';

const q = (value: unknown): string => JSON.stringify(value);

export const ODD_FORMS: readonly SecretSample[] = [
  // Commands and what they print.
  sample(
    'aws sts table',
    base64(40),
    (s) => `|  AccessKeyId     |  ASIA${upper(16)}  |\n|  SecretAccessKey |  ${s}  |\n`,
  ),
  sample(
    'aws configure dialog',
    base64(40),
    (s) =>
      `AWS Access Key ID [None]: AKIA${upper(16)}\nAWS Secret Access Key [None]: ${s}\nDefault region name [None]: eu-west-1`,
  ),
  sample(
    'key vault secret',
    alnum(24),
    (s) =>
      `{\n  "id": "https://kv.vault.azure.net/secrets/db-password/${hex(32)}",\n  "name": "db-password",\n  "value": "${s}"\n}`,
  ),
  sample('terraform output json', alnum(24), (s) => q({ db_password: { sensitive: true, type: 'string', value: s } })),
  sample(
    'gh auth status',
    `gho_${alnum(36)}`,
    (s) => `github.com\n  ✓ Logged in to github.com account ann (keyring)\n  - Token: ${s}\n`,
  ),
  sample('docker run -e', alnum(14), (s) => `docker run -d --name my -e MYSQL_ROOT_PASSWORD=${s} -p 3306:3306 mysql:8`),
  sample('mc alias', alnum(20), (s) => `mc alias set prod https://s3.acme.io ${upper(20)} ${s}`),
  sample('ngrok', `2${alnum(26)}_${alnum(21)}`, (s) => `ngrok config add-authtoken ${s}`),
  sample('cloudflared', `eyJhIjoi${base64(140)}`, (s) => `cloudflared tunnel run --token ${s}`),
  sample('tailscale', `tskey-auth-${alnum(12)}CNTRL-${alnum(32)}`, (s) => `tailscale up --authkey ${s} --ssh`),
  sample(
    'gpg passphrase',
    'Orchid&Violet-5',
    (s) => `gpg --batch --yes --passphrase '${s}' -d backup.gpg > backup.tar`,
  ),
  sample('restic', 'lantern-Fjord-83', (s) => `RESTIC_PASSWORD=${s} restic -r s3:s3.acme.io/bk snapshots`),
  sample('mosquitto', alnum(12), (s) => `mosquitto_sub -h mq.acme.io -u sensor -P ${s} -t 'a/#'`),
  sample(
    'git extraheader',
    Buffer.from(`x-access-token:${alnum(30)}`).toString('base64'),
    (s) => `git config --local http.https://github.com/.extraheader "AUTHORIZATION: basic ${s}"`,
  ),
  sample('cmdkey', 'Qu1et-Harbor!', (s) => `cmdkey /add:fs01 /user:ACME\\svc /pass:${s}`),
  sample(
    'elastic reset',
    `${alnum(8)}-${alnum(5)}*${alnum(5)}`,
    (s) => `Password for the [elastic] user successfully reset.\nNew value: ${s}\n`,
  ),
  sample(
    'mysql temporary',
    `${alnum(6)};k(${alnum(3)}`,
    (s) => `[Note] [MY-010454] [Server] A temporary password is generated for root@localhost: ${s}`,
  ),
  sample(
    'jenkins initial',
    hex(32),
    (s) =>
      `Please use the following password to proceed to installation:\n\n${s}\n\nThis may also be found at: /var/jenkins_home/secrets/initialAdminPassword`,
  ),
  sample('redis acl', alnum(16), (s) => `ACL SETUSER alice on >${s} ~* +@all`),
  sample('redis config set', alnum(16), (s) => `127.0.0.1:6379> CONFIG SET requirepass ${s}`),
  sample(
    'mongo createUser',
    'b4rn-Swallow',
    (s) => `db.createUser({ user: "app", pwd: "${s}", roles: ["readWrite"] })`,
  ),
  sample('create role', 'nimbus77Grey', (s) => `CREATE ROLE reporting LOGIN PASSWORD '${s}' VALID UNTIL 'infinity';`),
  sample('cql role', 'nimbus77Grey', (s) => `CREATE ROLE app WITH PASSWORD = '${s}' AND LOGIN = true;`),
  // Files.
  sample('dev vars', alnum(43), (s) => `AUTH_SECRET=${s}\nPUBLIC_URL=https://acme.io\n`),
  sample(
    'gh hosts.yml',
    `gho_${alnum(36)}`,
    (s) => `github.com:\n    user: ann\n    oauth_token: ${s}\n    git_protocol: https\n`,
  ),
  sample('yarnrc', uuid(), (s) => `npmRegistries:\n  "https://npm.acme.io":\n    npmAuthToken: "${s}"\n`),
  sample('gem credentials', `rubygems_${hex(48)}`, (s) => `---\n:rubygems_api_key: ${s}\n`),
  sample('composer auth', alnum(22), (s) =>
    q({ 'http-basic': { 'repo.acme.io': { username: 'token', password: s } } }),
  ),
  sample('pip.conf', lower(32), (s) => `[global]\nindex-url = https://__token__:${s}@pypi.acme.io/simple\n`),
  sample('bundle config', alnum(20), (s) => `BUNDLE_GEMS__ACME__IO: "deploy:${s}"\n`),
  sample(
    'oci config',
    'Sparrow.Tide.61',
    (s) => `[DEFAULT]\nuser=ocid1.user.oc1..${lower(20)}\nkey_file=~/.oci/key.pem\npass_phrase=${s}\n`,
  ),
  sample('mcp server env', `BSA${url64(28)}`, (s) =>
    q({ mcpServers: { search: { command: 'npx', args: ['-y', 'search-mcp'], env: { BRAVE_API_KEY: s } } } }),
  ),
  sample('mcp server args', alnum(32), (s) =>
    q({ mcpServers: { db: { command: 'npx', args: ['-y', 'db-mcp', '--api-key', s] } } }),
  ),
  sample('gitlab ci', alnum(18), (s) => `variables:\n  DEPLOY_USER: ci\n  DEPLOY_PASSWORD: "${s}"\n`),
  sample('jenkinsfile', alnum(30), (s) => `withEnv(['SONAR_TOKEN=${s}', 'CI=1']) { sh 'make' }`),
  sample('nodemailer', alnum(16), (s) => `auth: { user: 'noreply@acme.io', pass: '${s}' },`),
  sample(
    'kubernetes list',
    Buffer.from(alnum(18)).toString('base64'),
    (s) =>
      `apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    conn: ${s}\n  kind: Secret\n  metadata:\n    name: db\nkind: List\n`,
  ),
  sample('registry export', 'Meadow-Larks-9', (s) => `"DefaultUserName"="kiosk"\n"DefaultPassword"="${s}"\n`),
  sample(
    'unattend',
    'Meadow!Larks9',
    (s) => `<AdministratorPassword><Value>${s}</Value><PlainText>true</PlainText></AdministratorPassword>`,
  ),
  sample('nats seed', `SUA${upper(55)}`, (s) => `-----BEGIN USER NKEY SEED-----\n${s}\n------END USER NKEY SEED------`),
  sample(
    'solana style key',
    `[${Array.from({ length: 64 }, (_, i) => (i * 37 + 11) % 256).join(',')}]`,
    (s) => `$ cat ~/.config/solana/id.json\n${s}\n`,
  ),
  sample(
    'ini with semicolon comment',
    'w8-Quartz-Fog',
    (s) => `; smtp\nsmtp_user = ops\nsmtp_password = ${s} ; do not share\n`,
  ),
  // Connections.
  sample(
    'sqlalchemy',
    'k%40rm3n-Lux',
    (s) => `engine = create_engine("postgresql+psycopg2://app:${s}@db.acme.io/app")`,
  ),
  sample('oracle jdbc', alnum(12), (s) => `jdbc:oracle:thin:scott/${s}@//ora.acme.io:1521/XEPDB1`),
  sample('mysql ado', alnum(14), (s) => `"Server=db;Port=3306;Database=shop;Uid=root;Pwd=${s};"`),
  sample(
    'service bus',
    `${base64(43)}=`,
    (s) => `Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${s}`,
  ),
  sample('kafka scram escaped', alnum(16), (s) =>
    q({
      'sasl.jaas.config': `org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="${s}";`,
    }),
  ),
  sample(
    'mongo hosts',
    alnum(14),
    (s) => `MONGO_URI: mongodb://app:${s}@m1.acme.io:27017,m2.acme.io:27017/app?replicaSet=rs0`,
  ),
  sample('proxy', alnum(12), (s) => `https_proxy=http://svc:${s}@proxy.acme.io:3128`),
  sample('ftp', 'pelican42', (s) => `lftp ftp://backup:${s}@ftp.acme.io/`),
  // Source.
  sample('requests auth', 'grove-Sable-70', (s) => `r = requests.get(url, auth=("svc", "${s}"), timeout=5)`),
  sample('go basic auth', 'grove-Sable-70', (s) => `req.SetBasicAuth("svc", "${s}")`),
  sample('go header', alnum(40), (s) => `req.Header.Set("Authorization", "Bearer ${s}")`),
  sample('rust bearer', alnum(40), (s) => `let r = client.get(url).bearer_auth("${s}").send().await?;`),
  sample('ruby basic auth', 'grove-Sable-70', (s) => `request.basic_auth 'svc', '${s}'`),
  sample('python bytes', alnum(32), (s) => `FLASK_SECRET_KEY = b'${s}'`),
  sample(
    'axios error',
    url64(50),
    (s) => `AxiosError: 401\n  config: { headers: { Accept: '*/*', Authorization: 'Bearer ${s}' } }`,
  ),
  sample('express session', alnum(24), (s) => `app.use(session({ secret: '${s}', resave: false }))`),
  sample('http file variable', alnum(36), (s) => `@authToken = ${s}\n\nGET https://api.acme.io/me\n`),
  sample('postman variable', alnum(36), (s) => q({ key: 'accessToken', value: s, type: 'string' })),
  sample('document.cookie', alnum(32), (s) => `document.cookie = "session_id=${s}; path=/";`),
  sample('storage state', url64(64), (s) =>
    q({ cookies: [{ name: 'session', value: s, domain: '.acme.io', path: '/', httpOnly: true }] }),
  ),
  sample('har header', url64(40), (s) => q({ headers: [{ name: 'cookie', value: `_ga=GA1.1; sess=${s}` }] })),
  sample('fernet', `${url64(43)}=`, (s) => `cipher = Fernet(b"${s}")`),
  sample('solidity env', hex(64), (s) => `accounts: ["0x${s}"], // deployer private key`),
  // Chat.
  sample('chat: creds', 'Maple_Drum_31', (s) => `here are the creds: user: bob pass: ${s}`),
  sample('chat: quoted', 'tide-Ember88', (s) => `Try again, the wifi password is "${s}".`),
  sample('chat: french', 'Lavande-2024!', (s) => `Le mot de passe est ${s} pour la préprod.`),
  sample('chat: your new', 'R7-pebble-Arc', (s) => `I've reset it. Your new password: ${s}`),
  sample('chat: one-time code', '482913', (s) => `Your verification code is ${s}. It expires in 10 minutes.`),
  sample('chat: spanish', 'Cielo.Azul.77', (s) => `La contraseña es ${s}, gracias.`),
  // Encodings.
  sample(
    'html entities',
    alnum(20),
    (s) => `<div data-config="{&quot;user&quot;:&quot;a&quot;,&quot;password&quot;:&quot;${s}&quot;}">`,
  ),
  sample('jsonl in a string', alnum(30), (s) => q(q({ tool: 'bash', out: `SECRET_TOKEN=${s}\nok` }))),
  sample('url-encoded json', alnum(24), (s) => `payload=%7B%22api_key%22%3A%22${s}%22%2C%22v%22%3A1%7D`),
  sample('sdiff', alnum(24), (s) => `  DB_HOST=a            DB_HOST=a\n  DB_PASSWORD=          |  DB_PASSWORD=${s}\n`),
  sample('ansi bold label', alnum(24), (s) => `\u001b[1mAPI token:\u001b[22m \u001b[36m${s}\u001b[39m`),
  sample(
    'python logging dict',
    alnum(24),
    (s) => `DEBUG:root:{'grant_type': 'password', 'username': 'a', 'password': '${s}'}`,
  ),
  sample('java toString', alnum(20), (s) => `DataSourceProperties{url='jdbc:h2:mem', username='sa', password='${s}'}`),
];
