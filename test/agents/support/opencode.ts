import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as sdk from '@opencode-ai/sdk';
import type { OpenCodeSdk } from '../../../src/agents/opencode/opencode-types.ts';
import type { OpenCodeOptions } from '../../../src/opencode.ts';

/** The program for this machine, where the package's install script puts it (`scripts/test-agents.ts` runs that script). */
export const OPENCODE_PROGRAM: string = createRequire(import.meta.url).resolve('opencode-ai/bin/opencode.exe');

const MODEL = {
  name: 'model',
  tool_call: true,
  attachment: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
  limit: { context: 200_000, output: 8_000 },
};

/** Where OpenCode's configuration is: it installs a package of its own there, once for all tests (`set-up-opencode.ts`). */
export const OPENCODE_CONFIG: string = join(import.meta.dirname, '..', 'node_modules', '.opencode-config');

/** The real OpenCode with a local model: nothing leaves this machine. */
export function openCodeOptions(where: {
  readonly url: string;
  readonly home: string;
  readonly cwd: string;
}): OpenCodeOptions {
  const { url, home, cwd } = where;
  return {
    sdk: sdk as unknown as OpenCodeSdk,
    command: OPENCODE_PROGRAM,
    cwd,
    model: 'scripted/model',
    config: {
      provider: {
        scripted: {
          npm: '@ai-sdk/anthropic',
          name: 'Scripted',
          options: { baseURL: `${url}/v1`, apiKey: 'fake' },
          models: { model: MODEL },
        },
      },
      small_model: 'scripted/model',
      permission: { edit: 'allow', bash: 'allow', webfetch: 'allow' },
    },
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_DATA_HOME: join(home, 'data'),
      XDG_CONFIG_HOME: OPENCODE_CONFIG,
      XDG_CACHE_HOME: join(home, 'cache'),
      XDG_STATE_HOME: join(home, 'state'),
      EFFECTS: process.env.EFFECTS,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
  };
}
