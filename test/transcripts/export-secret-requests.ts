/** Secrets in commands, requests, logs and connection strings. */
import { alnum, base64, hex, lower, type SecretSample, sample, upper, url64, uuid } from './export-secret-parts.ts';

const jwt = (): string => `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ${url64(90)}.${url64(43)}`;

export const REQUEST_SECRETS: readonly SecretSample[] = [
  sample(
    'bearer header',
    url64(48),
    (s) => `curl -sS https://api.acme.io/v2/me -H "Authorization: Bearer ${s}" | jq .`,
  ),
  sample('opaque token header', hex(40), (s) => `curl -H 'Authorization: token ${s}' https://git.acme.io/api/v1/user`),
  sample(
    'x-api-key header',
    alnum(40),
    (s) => `> GET /v1/things HTTP/2\n> Host: api.acme.io\n> x-api-key: ${s}\n> accept: */*\n`,
  ),
  sample('basic header', Buffer.from(`admin:${alnum(14)}`).toString('base64'), (s) => `authorization: Basic ${s}`),
  sample('curl user', alnum(13), (s) => `curl -u elastic:${s} -k https://localhost:9200/_cat/indices`),
  sample(
    'cookie header',
    url64(64),
    (s) => `curl https://app.acme.io/admin -b 'theme=dark; connect.sid=s%3A${s}; lang=en'`,
  ),
  sample('set-cookie', url64(52), (s) => `< HTTP/2 200\n< set-cookie: session=${s}; Path=/; HttpOnly; Secure\n`),
  sample('jwt in a log', jwt(), (s) => `2026-03-02T10:00:00Z INFO issued ${s} for user 42`),
  sample('jwt in a query', jwt(), (s) => `wss://rt.acme.io/socket?access_token=${s}&v=2`),
  sample(
    'postgres url',
    'hG7-xx_91b',
    (s) => `psql "postgresql://app_rw:${s}@db.acme.io:5432/app?sslmode=require" -c 'select 1'`,
  ),
  sample('mysql url', alnum(15), (s) => `DATABASE_URL=mysql://root:${s}@127.0.0.1:3306/shop`),
  sample(
    'mongodb srv',
    alnum(16),
    (s) => `mongosh "mongodb+srv://svc:${s}@cluster0.ab1cd.mongodb.net/prod?retryWrites=true"`,
  ),
  sample('redis url without user', alnum(32), (s) => `redis-cli -u rediss://:${s}@cache.acme.io:6380/0 ping`),
  sample('amqp', alnum(12), (s) => `broker_url = 'amqps://celery:${s}@mq.acme.io:5671/%2fprod'`),
  sample(
    'kafka jaas',
    alnum(20),
    (s) =>
      `sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="svc" password="${s}";`,
  ),
  sample(
    'mssql ado',
    'Qq12!zz_Po',
    (s) =>
      `Error: login failed: Server=tcp:sql.acme.io,1433;Initial Catalog=app;User ID=app;Password=${s};MultipleActiveResultSets=False`,
  ),
  sample('oracle', alnum(11), (s) => `sqlplus system/${s}@//ora.acme.io:1521/ORCLPDB1 @migrate.sql`),
  sample(
    'clickhouse',
    alnum(14),
    (s) => `clickhouse-client --host ch.acme.io --user default --password ${s} --query "SELECT 1"`,
  ),
  sample('snowflake', alnum(14), (s) => `snowsql -a acme-eu1 -u loader with SNOWSQL_PWD=${s}`),
  sample('cassandra', alnum(12), (s) => `cqlsh 10.0.0.9 -u cassandra -p ${s} -e "DESCRIBE KEYSPACES"`),
  sample(
    'jdbc with parameters',
    alnum(14),
    (s) => `jdbc:mysql://db.acme.io:3306/app?user=app&password=${s}&useSSL=true`,
  ),
  sample(
    'libpq dsn',
    alnum(12),
    (s) => `dsn = "host=db.acme.io port=5432 user=app password=${s} dbname=app sslmode=require"`,
  ),
  sample('mysql -p', alnum(12), (s) => `mysqldump -h db -u root -p${s} shop > shop.sql`),
  sample('mysql env', alnum(12), (s) => `MYSQL_PWD=${s} mysql -h db -u root shop`),
  sample('pgpassword', alnum(12), (s) => `PGPASSWORD='${s}' pg_dump -h db -U app app`),
  sample('sshpass', 'n0tTheR3alOne', (s) => `sshpass -p '${s}' ssh -o StrictHostKeyChecking=no ops@10.1.2.3 uptime`),
  sample('docker login', alnum(20), (s) => `docker login registry.acme.io -u ci -p ${s}`),
  sample(
    'kubectl literal',
    alnum(20),
    (s) => `kubectl create secret generic db --from-literal=connection=${s} -n prod`,
  ),
  sample(
    'kubectl docker registry',
    alnum(20),
    (s) =>
      `kubectl create secret docker-registry reg --docker-server=r.acme.io --docker-username=ci --docker-password=${s}`,
  ),
  sample('openssl passin', alnum(14), (s) => `openssl pkcs12 -in cert.p12 -nodes -passin pass:${s} -out cert.pem`),
  sample('zip', 'Falcon-Heavy-22', (s) => `7z x backup.7z -p${s} -o/tmp/out`),
  sample('keytool', alnum(10), (s) => `keytool -list -keystore release.jks -storepass ${s}`),
  sample('sudo stdin', 'hunter2Hunter', (s) => `echo '${s}' | sudo -S apt-get update`),
  sample('vault kv put', alnum(18), (s) => `vault kv put secret/app db_password=${s} db_user=app`),
  sample('aws cli set', base64(40), (s) => `aws configure set aws_secret_access_key ${s} --profile prod`),
  sample('gh secret set', alnum(30), (s) => `gh secret set DEPLOY_TOKEN --body "${s}" --repo acme/web`),
  sample('heroku config set', alnum(32), (s) => `heroku config:set COOKIE_SECRET=${s} -a acme-web`),
  sample('wget', alnum(12), (s) => `wget --user=deploy --password=${s} https://files.acme.io/a.tgz`),
  sample(
    'ldapsearch',
    alnum(12),
    (s) => `ldapsearch -x -H ldap://dc1 -D "cn=admin,dc=acme,dc=io" -w ${s} -b dc=acme,dc=io`,
  ),
  sample('git clone', lower(40), (s) => `git clone https://oauth2:${s}@gitlab.acme.io/team/app.git`),
  sample('git remote -v', alnum(36), (s) => `origin\thttps://${s}@github.com/acme/app.git (fetch)`),
  sample('fish', alnum(26), (s) => `set -gx CLOUDINARY_API_SECRET ${s}`),
  sample('powershell env', alnum(28), (s) => `$env:AZURE_CLIENT_SECRET = "${s}"`),
  sample(
    'powershell securestring',
    'C0mplex!Pass9',
    (s) => `$cred = ConvertTo-SecureString "${s}" -AsPlainText -Force`,
  ),
  sample('cmd set', alnum(20), (s) => `C:\\> set API_KEY=${s}\r\nC:\\> npm start`),
  sample('net use', alnum(11), (s) => `net user svc_build ${s} /add`),
  sample('sql create user', 'xK-92-plm', (s) => `CREATE USER 'app'@'%' IDENTIFIED BY '${s}';`),
  sample('sql alter role', 'mjQ82hs0z', (s) => `ALTER ROLE app WITH LOGIN ENCRYPTED PASSWORD '${s}';`),
  sample(
    'sql identified with',
    'mjQ82hs0z',
    (s) => `ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY '${s}'`,
  ),
  sample('mssql login', 'Str0ng#Pwd1', (s) => `CREATE LOGIN app WITH PASSWORD = N'${s}', CHECK_POLICY = ON;`),
  sample('redis auth', alnum(24), (s) => `127.0.0.1:6379> AUTH default ${s}\nOK`),
  sample(
    's3 presigned',
    hex(64),
    (s) =>
      `https://acme.s3.amazonaws.com/a.zip?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA${upper(16)}%2F20260101%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20260101T000000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=${s}`,
  ),
  sample(
    'teams webhook',
    hex(32),
    (s) => `https://acme.webhook.office.com/webhookb2/${uuid()}@${uuid()}/IncomingWebhook/${s}/${uuid()}`,
  ),
  sample('zapier-like query token', alnum(32), (s) => `POST https://hooks.acme.io/in?token=${s} 202`),
  sample('password reset link', url64(43), (s) => `Click here: https://app.acme.io/reset-password?token=${s}`),
  sample(
    'oauth code exchange',
    url64(40),
    (s) => `curl -d 'grant_type=client_credentials&client_id=web&client_secret=${s}' https://id.acme.io/oauth/token`,
  ),
  sample('token reply', url64(60), (s) => `{"access_token":"${s}","token_type":"Bearer","expires_in":3600}`),
];
