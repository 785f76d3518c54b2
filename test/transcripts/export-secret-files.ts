/** Secrets in files that an agent reads or writes. */
import { alnum, base64, digits, hex, lower, type SecretSample, sample, upper, url64 } from './export-secret-parts.ts';

/** Lines of a key. */
const lines = (count: number, width = 64): string => Array.from({ length: count }, () => base64(width)).join('\n');

export const FILE_SECRETS: readonly SecretSample[] = [
  sample(
    'env file with line numbers',
    alnum(32),
    (s) => `     1→NODE_ENV=production\n     2→PORT=3000\n     3→SESSION_SECRET=${s}\n     4→LOG_LEVEL=info\n`,
  ),
  sample(
    'env file, quoted, with a comment',
    'v9!kR2#mQz$81pL',
    (s) => `# database\nDB_HOST=db.internal\nDB_PASSWORD="${s}" # rotate in May\n`,
  ),
  sample(
    'docker compose environment list',
    alnum(18),
    (s) =>
      `services:\n  db:\n    image: postgres:16\n    environment:\n      - POSTGRES_USER=app\n      - POSTGRES_PASSWORD=${s}\n`,
  ),
  sample(
    'docker compose command',
    alnum(20),
    (s) => `  redis:\n    image: redis:7\n    command: redis-server --requirepass ${s} --appendonly yes\n`,
  ),
  sample('Dockerfile ENV', url64(40), (s) => `FROM node:22\nENV SENTRY_AUTH_TOKEN ${s}\nRUN npm ci\n`),
  sample(
    'kubernetes secret data',
    Buffer.from(`pa-${alnum(15)}`).toString('base64'),
    (s) => `apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  db-conn: ${s}\n`,
  ),
  sample(
    'kubernetes secret stringData',
    `${alnum(9)}!`,
    (s) => `kind: Secret\nmetadata:\n  name: smtp\nstringData:\n  smtp-login: ${s}\n`,
  ),
  sample(
    'kubernetes env value',
    alnum(24),
    (s) => `        env:\n        - name: JWT_SIGNING_KEY\n          value: "${s}"\n`,
  ),
  sample(
    'kubeconfig client key',
    `${base64(320)}==`,
    (s) =>
      `users:\n- name: admin\n  user:\n    client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\n    client-key-data: ${s}\n`,
  ),
  sample('kubeconfig token', `${url64(34)}`, (s) => `users:\n- name: ci\n  user:\n    token: ${s}\n`),
  sample(
    'helm values',
    alnum(16),
    (s) => `postgresql:\n  auth:\n    username: app\n    postgresPassword: ${s}\n    database: app\n`,
  ),
  sample(
    'helm set',
    alnum(16),
    (s) => `helm upgrade --install pg bitnami/postgresql --set auth.postgresPassword=${s} --namespace db`,
  ),
  sample(
    'terraform variable',
    'Summer-Rain-4471',
    (s) =>
      `resource "aws_db_instance" "main" {\n  engine   = "postgres"\n  username = "root"\n  password = "${s}"\n}\n`,
  ),
  sample('tfvars', alnum(40), (s) => `region = "eu-central-1"\ndatadog_app_key = "${s}"\n`),
  sample(
    'terraform state',
    alnum(22),
    (s) =>
      `{"type":"random_password","name":"db","instances":[{"attributes":{"length":22,"result":"${s}","special":false}}]}`,
  ),
  sample(
    'ansible inventory',
    'Pr0v1sion-Me!',
    (s) => `[web]\nweb1 ansible_host=10.0.0.4 ansible_user=ops ansible_ssh_pass=${s}\n`,
  ),
  sample('ansible become', alnum(14), (s) => `all:\n  vars:\n    ansible_become_password: ${s}\n`),
  sample('netrc', alnum(20), (s) => `machine api.heroku.com\n  login dev@acme.io\n  password ${s}\n`),
  sample('netrc on one line', alnum(16), (s) => `machine git.acme.io login ci password ${s}`),
  sample('pgpass', 'b7Kq-42zz', (s) => `$ cat ~/.pgpass\ndb.internal:5432:app:app_rw:${s}\n`),
  sample(
    'npmrc basic',
    `${base64(30)}==`,
    (s) => `registry=https://npm.acme.io/\n//npm.acme.io/:_auth=${s}\nalways-auth=true\n`,
  ),
  sample(
    'npmrc _password',
    `${base64(22)}==`,
    (s) =>
      `//pkgs.dev.azure.com/acme/_packaging/npm/registry/:username=acme\n//pkgs.dev.azure.com/acme/_packaging/npm/registry/:_password=${s}\n`,
  ),
  sample(
    'pypirc',
    alnum(24),
    (s) =>
      `[distutils]\nindex-servers = internal\n\n[internal]\nrepository = https://pypi.acme.io/\nusername = ci\npassword = ${s}\n`,
  ),
  sample('git-credentials', lower(40), (s) => `https://build-bot:${s}@git.acme.io\n`),
  sample(
    'docker config auth',
    Buffer.from(`acme:${alnum(24)}`).toString('base64'),
    (s) => `{\n\t"auths": {\n\t\t"registry.acme.io": {\n\t\t\t"auth": "${s}"\n\t\t}\n\t}\n}`,
  ),
  sample(
    'aws credentials file',
    base64(40),
    (s) => `[default]\naws_access_key_id = AKIA${upper(16)}\naws_secret_access_key = ${s}\nregion = us-east-1\n`,
  ),
  sample(
    'gcp service account key',
    lines(12),
    (s) =>
      `{"type":"service_account","project_id":"acme","private_key_id":"${hex(40)}","private_key":"-----BEGIN PRIVATE KEY-----\\n${s.replaceAll('\n', '\\n')}\\n-----END PRIVATE KEY-----\\n","client_email":"x@acme.iam.gserviceaccount.com"}`,
  ),
  sample(
    'gcp adc refresh token',
    `1//0${url64(98)}`,
    (s) =>
      `{\n  "account": "",\n  "client_id": "${digits(12)}-${lower(32)}.apps.googleusercontent.com",\n  "refresh_token": "${s}",\n  "type": "authorized_user"\n}`,
  ),
  sample(
    'rsa key',
    lines(14),
    (s) => `$ cat server.key\n-----BEGIN RSA PRIVATE KEY-----\n${s}\n-----END RSA PRIVATE KEY-----\n`,
  ),
  sample(
    'openssh key in a diff',
    base64(70),
    (s) =>
      `+-----BEGIN OPENSSH PRIVATE KEY-----\n+${base64(70)}\n+${s}\n+${base64(70)}\n+-----END OPENSSH PRIVATE KEY-----\n`,
  ),
  sample(
    'pgp private block',
    base64(64),
    (s) =>
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n${base64(64)}\n${s}\n=${base64(4)}\n-----END PGP PRIVATE KEY BLOCK-----`,
  ),
  sample(
    'key file cut off by head -5',
    base64(64),
    (s) => `$ head -5 id_ecdsa\n-----BEGIN EC PRIVATE KEY-----\n${base64(64)}\n${s}\n`,
  ),
  sample(
    'key with line numbers',
    base64(64),
    (s) => `     1→-----BEGIN PRIVATE KEY-----\n     2→${base64(64)}\n     3→${s}\n     4→-----END PRIVATE KEY-----`,
  ),
  sample(
    'putty key',
    base64(64),
    (s) =>
      `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: deploy\nPublic-Lines: 2\n${base64(64)}\n${base64(20)}\nPrivate-Lines: 1\n${s}\nPrivate-MAC: ${hex(64)}\n`,
  ),
  sample(
    'age key',
    `AGE-SECRET-KEY-1${upper(58)}`,
    (s) => `# created: 2026-02-01T10:00:00Z\n# public key: age1${lower(58)}\n${s}\n`,
  ),
  sample(
    'wireguard',
    `${base64(43)}=`,
    (s) => `[Interface]\nAddress = 10.8.0.2/24\nPrivateKey = ${s}\n\n[Peer]\nPublicKey = ${base64(43)}=\n`,
  ),
  sample(
    'spring properties',
    alnum(17),
    (s) =>
      `spring.datasource.url=jdbc:postgresql://db:5432/app\nspring.datasource.username=app\nspring.datasource.password=${s}\n`,
  ),
  sample(
    'java keystore properties',
    'changeit-prod-77',
    (s) => `server.ssl.key-store=classpath:keystore.p12\nserver.ssl.key-store-password=${s}\n`,
  ),
  sample(
    'gradle properties',
    alnum(20),
    (s) => `org.gradle.jvmargs=-Xmx2g\nRELEASE_STORE_PASSWORD=${s}\nRELEASE_KEY_ALIAS=upload\n`,
  ),
  sample(
    'maven settings',
    alnum(18),
    (s) => `<server>\n  <id>nexus</id>\n  <username>deploy</username>\n  <password>${s}</password>\n</server>`,
  ),
  sample(
    'web.config',
    'Wint3r!sComing',
    (s) =>
      `<add name="Default" connectionString="Server=sql1;Database=App;User Id=sa;Password=${s};Encrypt=True" providerName="System.Data.SqlClient" />`,
  ),
  sample(
    'appsettings json',
    alnum(44),
    (s) => `{\n  "Jwt": {\n    "Issuer": "acme",\n    "SigningKey": "${s}"\n  }\n}`,
  ),
  sample(
    'nuget config',
    alnum(40),
    (s) =>
      `<packageSourceCredentials><acme><add key="Username" value="ci" /><add key="ClearTextPassword" value="${s}" /></acme></packageSourceCredentials>`,
  ),
  sample(
    'rails database.yml',
    alnum(12),
    (s) => `production:\n  adapter: mysql2\n  username: rails\n  password: ${s}\n  host: db1\n`,
  ),
  sample('rails master key', hex(32), (s) => `$ cat config/master.key\n${s}\n`),
  sample(
    'laravel APP_KEY',
    `base64:${base64(43)}=`,
    (s) => `APP_NAME=Shop\nAPP_ENV=production\nAPP_KEY=${s}\nAPP_DEBUG=false\n`,
  ),
  sample(
    'django settings',
    'x8k!v@3^p_q2w&zr7m$e+1t)n5y(b=0c4hj6lgds9fau',
    (s) => `# SECURITY WARNING: keep it private\nSECRET_KEY = 'django-insecure-${s}'\nDEBUG = False\n`,
  ),
  sample(
    'wp-config',
    'r|8K,Zq}0^uF<Vd@2~hY[5Tn-_Xo;Ls:',
    (s) => `define( 'AUTH_KEY',         '${s}' );\ndefine( 'DB_NAME', 'wp' );`,
  ),
  sample(
    'wp-config db password',
    alnum(16),
    (s) => `/** MySQL database password */\ndefine( 'DB_PASSWORD', '${s}' );\n`,
  ),
  sample('php.ini style', alnum(15), (s) => `[smtp]\nhost=mail.acme.io\nuser=noreply\npass=${s}\n`),
  sample(
    'toml',
    alnum(30),
    (s) => `[registries.acme]\nindex = "sparse+https://cargo.acme.io/"\ntoken = "Bearer ${s}"\n`,
  ),
  sample('my.cnf', 'pAss-9_zx', (s) => `[client]\nuser=root\npassword=${s}\nhost=127.0.0.1\n`),
  sample(
    'otp seed uri',
    upper(32),
    (s) => `otpauth://totp/Acme:dev@acme.io?secret=${s}&issuer=Acme&algorithm=SHA1&digits=6`,
  ),
  sample('rclone config', `K005${alnum(27)}`, (s) => `[backup]\ntype = b2\naccount = ${hex(12)}\nkey = ${s}\n`),
  sample('s3cfg', base64(40), (s) => `[default]\naccess_key = AKIA${upper(16)}\nsecret_key = ${s}\n`),
  sample('wpa supplicant', 'blue giraffe 1987', (s) => `network={\n    ssid="Office-5G"\n    psk="${s}"\n}\n`),
  sample('/etc/shadow', `$6$${alnum(16)}$${alnum(86)}`, (s) => `root:${s}:19400:0:99999:7:::\n`),
  sample('htpasswd', `$apr1$${alnum(8)}$${alnum(22)}`, (s) => `$ cat .htpasswd\nadmin:${s}\n`),
];
