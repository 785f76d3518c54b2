/**
 * Keys that show who issued them. Issuers give their keys a prefix so that they can be found; one pass looks for all prefixes, and only
 * where one starts a word the rest of the key is checked. The cost is linear: the rest has no place where another word starts.
 */
import { type Finding, startsWord } from './finding.ts';

interface IssuedKey {
  readonly kind: string;
  readonly prefix: string;
  readonly rest: RegExp;
  /** For a mark in the middle of a key: what precedes it, and at most how many characters that has. */
  readonly before?: { readonly pattern: RegExp; readonly length: number };
  /** The prefix alone is a common one: the key must mix capitals, small letters and digits. */
  readonly mixed?: boolean;
}

const WORD = '[A-Za-z0-9_-]';
const ALNUM = '[A-Za-z0-9]';
const HEX = '[0-9a-fA-F]';

/** `prefixes` share a kind and the shape of what follows: a class, how often, and then no more word. */
function keys(kind: string, prefixes: string, rest: string, fields: Partial<IssuedKey> = {}): IssuedKey[] {
  const pattern = new RegExp(`${rest}(?!${WORD})`, 'y');
  return prefixes.split(' ').map((prefix) => ({ kind, prefix, rest: pattern, ...fields }));
}

const ISSUED: readonly IssuedKey[] = [
  ...keys('anthropic-key', 'sk-ant-', `${WORD}{20,300}`),
  ...keys('openrouter-key', 'sk-or-', `v1-${HEX}{40,100}`),
  ...keys('openai-key', 'sk-', `(?:proj-|svcacct-|admin-|None-)?${WORD}{20,300}`, { mixed: true }),
  ...keys('api-key', 'sk-', `${HEX}{32,64}`),
  ...keys('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', `${WORD}{30,400}`),
  ...keys('github-token', 'github_pat_', `${WORD}{22,255}`),
  ...keys(
    'gitlab-token',
    'glpat- gldt- glrt- glrtr- glptt- glcbt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-',
    `[A-Za-z0-9_.-]{20,200}`,
  ),
  ...keys('gitlab-token', 'GR1348941', `${WORD}{20,50}`),
  ...keys('aws-key-id', 'AKIA ASIA AROA AIDA ABIA ACCA', '[A-Z2-7]{16}'),
  ...keys('google-key', 'AIza', `${WORD}{35,40}`),
  ...keys('google-oauth-token', 'ya29.', `[A-Za-z0-9_.-]{20,2000}`),
  ...keys('google-oauth-secret', 'GOCSPX-', `${WORD}{20,60}`),
  ...keys('google-refresh-token', '1//0', `${WORD}{40,300}`),
  ...keys(
    'slack-token',
    'xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxd- xoxc- xoxe- xoxe. xapp- xwfp-',
    `[A-Za-z0-9.%/+-]{10,400}={0,2}`,
  ),
  ...keys('stripe-key', 'sk_live_ sk_test_ rk_live_ rk_test_ sk_org_', `${ALNUM}[A-Za-z0-9_]{15,260}`),
  ...keys('webhook-secret', 'whsec_', `[A-Za-z0-9+/=_-]{24,200}`),
  ...keys('npm-token', 'npm_', `${ALNUM}{36,60}`),
  ...keys('pypi-token', 'pypi-', `${WORD}{50,1000}`),
  ...keys('huggingface-token', 'hf_ api_org_', `${ALNUM}{30,100}`),
  ...keys('twilio-key', 'SK', '[0-9a-f]{32}'),
  ...keys('sendgrid-key', 'SG.', `${WORD}{16,32}\\.${WORD}{30,60}`),
  ...keys('mailgun-key', 'key- pubkey-', '[0-9a-f]{32}'),
  ...keys('mailchimp-key', '-us', '[0-9]{1,2}', { before: { pattern: /(?<![0-9a-f])[0-9a-f]{32}$/, length: 33 } }),
  ...keys('telegram-token', ':AA', `${WORD}{32,35}`, { before: { pattern: /(?<![0-9])[0-9]{8,12}$/, length: 13 } }),
  ...keys('terraform-token', '.atlasv1.', `${WORD}{50,100}`, {
    before: { pattern: /[A-Za-z0-9]{10,20}$/, length: 20 },
  }),
  ...keys('azure-client-secret', 'Q~', '[A-Za-z0-9_.~-]{31,34}', {
    before: { pattern: /[A-Za-z0-9_.~-]{3}[0-9]$/, length: 4 },
  }),
  ...keys('digitalocean-token', 'dop_v1_ doo_v1_ dor_v1_', `${HEX}{64}`),
  ...keys('linear-key', 'lin_api_ lin_oauth_ lin_wh_', `${ALNUM}{32,80}`),
  ...keys('notion-token', 'ntn_', `${ALNUM}{40,60}`),
  ...keys('notion-token', 'secret_', `${ALNUM}{40,60}`, { mixed: true }),
  ...keys('figma-token', 'figd_ figu_ figoh_', `${WORD}{30,80}`),
  ...keys('postman-key', 'PMAK-', `${HEX}{24}-${HEX}{34}`),
  ...keys('airtable-token', 'pat', `${ALNUM}{14}\\.[0-9a-f]{64}`),
  ...keys('atlassian-token', 'ATATT3 ATCTT3 ATBB', `[A-Za-z0-9_=-]{24,400}`),
  ...keys('shopify-token', 'shpat_ shpss_ shpca_ shppa_ shptka_', `${HEX}{32,64}`),
  ...keys('square-token', 'sq0atp- sq0csp- sq0idp-', `${WORD}{22,60}`),
  ...keys('square-token', 'EAAA', `${WORD}{56,80}`, { mixed: true }),
  ...keys('facebook-token', 'EAAC EAAB EAAG', `${ALNUM}{60,300}`, { mixed: true }),
  ...keys('newrelic-key', 'NRAK- NRII- NRIQ- NRRA- NRJS-', `${WORD}{19,64}`),
  ...keys('grafana-token', 'glsa_ glc_', `[A-Za-z0-9_+/=-]{30,400}`),
  ...keys('sentry-token', 'sntrys_ sntryu_', `[A-Za-z0-9_+/=-]{40,400}`),
  ...keys('vault-token', 'hvs. hvb. hvr.', `${WORD}{20,300}`),
  ...keys('docker-token', 'dckr_pat_ dckr_oat_', `${WORD}{20,60}`),
  ...keys('heroku-key', 'HRKU-', `${WORD}{30,80}`),
  ...keys('supabase-key', 'sbp_ sb_secret_', `${WORD}{20,80}`),
  ...keys('planetscale-token', 'pscale_tkn_ pscale_pw_ pscale_oauth_', `[A-Za-z0-9_.=-]{30,100}`),
  ...keys('databricks-token', 'dapi dose dkea', `[0-9a-f]{32}(?:-[0-9]{1,2})?`),
  ...keys('rubygems-key', 'rubygems_', `${HEX}{48}`),
  ...keys('crates-token', 'cio', `${ALNUM}{32}`, { mixed: true }),
  ...keys('nuget-key', 'oy2', '[a-z0-9]{43}'),
  ...keys('replicate-token', 'r8_', `${ALNUM}{30,60}`),
  ...keys('groq-key', 'gsk_', `${ALNUM}{40,80}`),
  ...keys('xai-key', 'xai-', `${ALNUM}{60,120}`),
  ...keys('perplexity-key', 'pplx-', `${ALNUM}{40,80}`),
  ...keys('together-key', 'tgp_v1_', `${WORD}{30,80}`),
  ...keys('fireworks-key', 'fw_', `${ALNUM}{22,60}`, { mixed: true }),
  ...keys('langsmith-key', 'lsv2_pt_ lsv2_sk_ ls__', `[A-Za-z0-9_]{30,80}`),
  ...keys('langfuse-key', 'sk-lf- pk-lf-', `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`),
  ...keys('pinecone-key', 'pcsk_', `[A-Za-z0-9_]{40,100}`),
  ...keys('tailscale-key', 'tskey-', `[a-z]{3,10}-${WORD}{20,100}`),
  ...keys('age-key', 'AGE-SECRET-KEY-1', '[A-Z0-9]{50,64}'),
  ...keys('alibaba-key-id', 'LTAI', `${ALNUM}{12,26}`, { mixed: true }),
  ...keys('tencent-key-id', 'AKID', `${ALNUM}{28,36}`, { mixed: true }),
  ...keys('brevo-key', 'xkeysib- xsmtpsib-', `${HEX}{64}-${ALNUM}{16}`),
  ...keys('fly-token', 'fm1r_ fm1a_ fm2_ fo1_', `[A-Za-z0-9+/=_,-]{40,4000}`),
  ...keys('netlify-token', 'nfp_ nfc_ nfo_ nfu_ nfb_', `${ALNUM}{36,44}`),
  ...keys('vercel-token', 'vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_', `${WORD}{24,80}`),
  ...keys('1password-token', 'ops_eyJ', `${WORD}{100,4000}`),
  ...keys('doppler-token', 'dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.', `[A-Za-z0-9_.-]{40,80}`),
  ...keys('pulumi-token', 'pul-', `${HEX}{40}`),
  ...keys('buildkite-token', 'bkua_ bkaa_ bkct_', `${HEX}{40}`),
  ...keys('circleci-token', 'CCIPAT_ CCIPRJ_', `${ALNUM}{20,30}_${HEX}{40}`),
  ...keys('posthog-key', 'phx_ phs_', `${ALNUM}{40,60}`),
  ...keys('sourcegraph-token', 'sgp_', `[A-Za-z0-9_]{40,80}`),
  ...keys('dynatrace-token', 'dt0c01. dt0s01.', `[A-Z0-9]{24}\\.[A-Z0-9]{64}`),
  ...keys('contentful-token', 'CFPAT-', `${WORD}{40,50}`),
  ...keys('jfrog-token', 'AKCp', `${ALNUM}{60,80}`),
  ...keys('mapbox-token', 'sk.eyJ', `${WORD}{20,300}\\.${WORD}{16,60}`),
  ...keys('sonarqube-token', 'squ_ sqp_ sqa_', `${HEX}{40}`),
  ...keys('typeform-token', 'tfp_', `${WORD}{40,80}`),
  ...keys('razorpay-key', 'rzp_live_ rzp_test_', `${ALNUM}{14,24}`),
  ...keys('resend-key', 're_', `${ALNUM}{6,12}_${ALNUM}{16,32}`),
  ...keys('shippo-token', 'shippo_live_ shippo_test_', `${HEX}{40}`),
  ...keys(
    'plaid-token',
    'access-sandbox- access-production- access-development-',
    `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  ),
  ...keys('flutterwave-key', 'FLWSECK-', `${ALNUM}{32}-X`),
  ...keys('flutterwave-key', 'FLWSECK_TEST-', `${ALNUM}{12,40}(?:-X)?`),
  ...keys('easypost-key', 'EZAK EZTK', `${ALNUM}{54}`),
  ...keys('neon-key', 'napi_', `${ALNUM}{40,80}`),
  ...keys('mongodb-secret', 'mdb_sa_sk_', `${WORD}{30,60}`),
  ...keys('deno-token', 'ddp_ ddo_', `${ALNUM}{30,44}`),
  ...keys('clojars-token', 'CLOJARS_', '[a-z0-9]{60}'),
  ...keys('prefect-key', 'pnu_ pnb_', `${ALNUM}{36}`),
  ...keys('infracost-key', 'ico-', `${ALNUM}{32}`),
  ...keys('cloudflare-key', 'v1.0-', `${HEX}{24}-${HEX}{100,160}`),
  ...keys('cloudflare-token', 'cfut_ cfat_ cfk_', `${WORD}{38,60}`),
  ...keys('render-key', 'rnd_', `${ALNUM}{28,40}`),
  ...keys('asana-token', '2/', '[0-9]{10,20}/[0-9]{10,20}:[0-9a-f]{32}'),
  ...keys('zuplo-key', 'zpka_', `[A-Za-z0-9_]{30,60}`),
  ...keys('adafruit-key', 'aio_', `${ALNUM}{28}`),
  ...keys('elevenlabs-key', 'sk_', `${HEX}{48}`),
  ...keys('cursor-key', 'crsr_ key_', `${HEX}{64}`),
  ...keys('e2b-key', 'e2b_', `${HEX}{40}`),
  ...keys('tavily-key', 'tvly-', `(?:dev-|prod-)?${ALNUM}{24,60}`),
  ...keys('firecrawl-key', 'fc-', `${HEX}{32}`),
  ...keys('nvidia-key', 'nvapi-', `${WORD}{50,100}`),
  ...keys('voyage-key', 'pa-', `${WORD}{40,60}`, { mixed: true }),
  ...keys('trello-token', 'ATTA', `${HEX}{60,80}`),
  ...keys('bedrock-key', 'ABSK', `[A-Za-z0-9+/]{100,160}={0,2}`),
  ...keys('jina-key', 'jina_', `${WORD}{50,80}`),
  ...keys('swarm-token', 'SWMTKN-1-', '[0-9a-z]{40,60}-[0-9a-z]{20,30}'),
  ...keys('hubspot-token', 'pat-na1- pat-na2- pat-eu1- pat-ap1-', `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`),
  ...keys('octopus-key', 'API-', '[A-Z0-9]{25,36}'),
  ...keys('apify-token', 'apify_api_', `${ALNUM}{30,50}`),
  ...keys('aiven-password', 'AVNS_', `${WORD}{16,30}`),
  ...keys('context7-key', 'ctx7sk-', `${WORD}{30,50}`),
  ...keys('mailersend-key', 'mlsn.', `${HEX}{60,70}`),
  ...keys('polar-token', 'polar_oat_', `${ALNUM}{30,60}`),
  ...keys('trigger-key', 'tr_dev_ tr_prod_ tr_stg_', `${ALNUM}{16,40}`),
  ...keys('valtown-token', 'vtwn_', `${ALNUM}{20,40}`),
  ...keys('xata-key', 'xau_', `${ALNUM}{24,48}`),
  ...keys('inngest-key', 'signkey-prod- signkey-test-', `${HEX}{32,64}`),
  ...keys('paddle-key', 'pdl_live_apikey_ pdl_sdbx_apikey_', '[A-Za-z0-9_]{40,80}'),
  ...keys('readme-key', 'rdme_', '[a-z0-9]{60,80}'),
  ...keys('amazon-token', 'amzn.mws.', `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`),
  ...keys('amazon-token', 'amzn1.oa2-cs.v1.', `${HEX}{60,70}`),
  ...keys('bitbucket-token', 'BBDC-', `[A-Za-z0-9+/=_-]{40,50}`),
  ...keys('paseto', 'v1.local. v2.local. v3.local. v4.local.', `${WORD}{40,4000}(?:\\.${WORD}{1,1000})?`),
  ...keys('nats-seed', 'SUA SUB SUC SUD SAA SAB SAC SAD SOA SOB', '[A-Z2-7]{55}'),
  ...keys('wandb-key', 'wandb_v1_', `${WORD}{40,100}`),
  ...keys('backblaze-key', 'K000 K001 K002 K003 K004 K005', '[A-Za-z0-9+/]{27}', { mixed: true }),
  ...keys('api-key', 'sk_prod_ sk_dev_ cal_live_', `${ALNUM}{20,100}`, { mixed: true }),
  ...keys('mollie-key', 'live_ test_', `${ALNUM}{30}`, { mixed: true }),
  // Hashes of passwords, as `crypt` writes them: salted, and short enough to be guessed.
  ...keys('password-hash', '$1$ $apr1$', '[A-Za-z0-9./]{1,8}\\$[A-Za-z0-9./]{22}'),
  ...keys('password-hash', '$5$ $6$', '(?:rounds=[0-9]{1,9}\\$)?[A-Za-z0-9./]{1,16}\\$[A-Za-z0-9./]{43,86}'),
  ...keys('password-hash', '$2a$ $2b$ $2y$', '[0-9]{2}\\$[A-Za-z0-9./]{53}'),
  ...keys('password-hash', '$y$ $7$', '[A-Za-z0-9./]{1,10}\\$[A-Za-z0-9./]{1,86}\\$[A-Za-z0-9./]{43}'),
  ...keys(
    'password-hash',
    '$argon2id$ $argon2i$ $argon2d$',
    'v=[0-9]{1,3}\\$[mtp0-9=,]{5,40}\\$[A-Za-z0-9+/]{8,90}\\$[A-Za-z0-9+/]{16,180}',
  ),
  ...keys(
    'password-hash',
    'pbkdf2_sha256$ pbkdf2_sha1$',
    '[0-9]{1,9}\\$[A-Za-z0-9]{1,64}\\$[A-Za-z0-9+/]{26,64}={0,2}',
  ),
  ...keys('jwt', 'eyJ', `${WORD}{10,4000}\\.${WORD}{10,16000}\\.${WORD}{10,4000}`),
  ...keys('jwe', 'eyJ', `${WORD}{10,4000}\\.${WORD}{0,4000}\\.${WORD}{10,100}\\.${WORD}{2,16000}\\.${WORD}{10,100}`),
];

const BY_PREFIX = new Map<string, IssuedKey[]>();
for (const key of ISSUED) BY_PREFIX.set(key.prefix, [...(BY_PREFIX.get(key.prefix) ?? []), key]);

/** A longer prefix is tried first: `sk-ant-` before `sk-`. */
const PREFIXES = [...BY_PREFIX.keys()].toSorted((a, b) => b.length - a.length);
/** A pattern that every text with such a key matches. */
export const ISSUED_HINT: string = PREFIXES.map((prefix) => prefix.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|');
const ANY_PREFIX = new RegExp(ISSUED_HINT, 'g');

/** The keys in a text that show their issuer. */
export function issuedKeys(text: string): Finding[] {
  const findings: Finding[] = [];
  ANY_PREFIX.lastIndex = 0;
  for (let hit = ANY_PREFIX.exec(text); hit; hit = ANY_PREFIX.exec(text)) {
    const found = issuedKeyAt(text, hit.index, hit[0]);
    if (found) findings.push(found);
    // A prefix can hold the start of another one: `api_org_`, `sk-or-`.
    ANY_PREFIX.lastIndex = found ? found.end : hit.index + 1;
  }
  return findings;
}

function issuedKeyAt(text: string, index: number, prefix: string): Finding | undefined {
  // A prefix that is not followed by its own key may be a shorter one's: `sk-` in `sk-or-…`.
  for (const shorter of PREFIXES) {
    if (!prefix.startsWith(shorter)) continue;
    for (const key of BY_PREFIX.get(shorter) ?? []) {
      const start = startOf(text, index, key);
      if (start === undefined) continue;
      key.rest.lastIndex = index + shorter.length;
      if (!key.rest.test(text)) continue;
      const end = key.rest.lastIndex;
      if (isRepeated(text.slice(index + shorter.length, end))) continue;
      if (!key.mixed || isMixed(text.slice(start, end))) return { start, end, kind: key.kind };
    }
  }
  return undefined;
}

function startOf(text: string, index: number, { before }: IssuedKey): number | undefined {
  if (!before) return startsWord(text, index) ? index : undefined;
  const found = before.pattern.exec(text.slice(Math.max(0, index - before.length), index));
  return found ? index - found[0].length : undefined;
}

/** Whether a key is a placeholder: `ghp_xxxxxxxx`. */
function isRepeated(rest: string): boolean {
  return rest.length >= 12 && new Set(rest.slice(0, 40)).size <= 3;
}

function isMixed(text: string): boolean {
  return /[0-9]/.test(text) && /[A-Z]/.test(text) && /[a-z]/.test(text);
}
