import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The script that starts the program for this machine. */
export const CODEX_PROGRAM: string = createRequire(import.meta.url).resolve('@openai/codex/bin/codex.js');

type CodexEnvironment = { readonly CODEX_HOME: string; readonly SCRIPTED_KEY: string };

/** The real Codex with a local model: nothing leaves this machine. Writes its configuration; returns its environment. */
export function codexEnvironment(where: { readonly url: string; readonly home: string }): CodexEnvironment {
  const { url, home } = where;
  const folder = join(home, '.codex');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'config.toml'),
    [
      'model = "gpt-5.5"',
      'model_provider = "scripted"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[features]',
      'apps = false',
      'plugins = false',
      '[model_providers.scripted]',
      'name = "scripted"',
      `base_url = "${url}/openai/v1"`,
      'env_key = "SCRIPTED_KEY"',
      'wire_api = "responses"',
      '',
    ].join('\n'),
  );
  return { CODEX_HOME: folder, SCRIPTED_KEY: 'fake' };
}
