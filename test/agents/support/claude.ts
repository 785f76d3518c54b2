import { join } from 'node:path';
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import type { ClaudeAgentOptions } from '../../../src/agents/claude-agent/claude-agent-adapter.ts';
import type { ClaudeAgentSdk } from '../../../src/agents/claude-agent/sdk-types.ts';

/** The real SDK with a local model: nothing leaves this machine. */
export function claudeOptions(where: {
  readonly url: string;
  readonly home: string;
  readonly cwd: string;
}): ClaudeAgentOptions {
  const { url, home, cwd } = where;
  return {
    sdk: sdk as unknown as ClaudeAgentSdk,
    cwd,
    model: 'claude-sonnet-5',
    systemPrompt: 'replace',
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'fake',
      IS_SANDBOX: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
      CLAUDE_CODE_MAX_RETRIES: '1',
      EFFECTS: process.env.EFFECTS,
    },
    query: {
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
      settingSources: [],
      strictMcpConfig: true,
    },
  };
}
