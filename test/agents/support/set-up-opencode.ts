import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { definePrompt } from '../../../src/loop/define/define-prompt.ts';
import { openCodeAdapter } from '../../../src/opencode.ts';
import { openSession } from '../../../src/session/session.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { startModelServer } from './model-server.ts';
import { OPENCODE_CONFIG, openCodeOptions } from './opencode.ts';

/**
 * OpenCode installs a package beside a new configuration when it first runs with a plugin such as ours. That happens once, here:
 * otherwise each test would wait for the registry, and two at once would write the same files.
 */
export default async function setUp(): Promise<void> {
  const done = join(OPENCODE_CONFIG, 'opencode', 'node_modules', '@opencode-ai', 'plugin');
  if (existsSync(done)) return;
  mkdirSync(OPENCODE_CONFIG, { recursive: true });
  const server = await startModelServer({ main: () => 'done' });
  const home = mkdtempSync(join(tmpdir(), 'holdfast-opencode-first-'));
  try {
    const { status, message } = await openCodeAdapter(openCodeOptions({ url: server.url, home, cwd: home })).evaluate(
      definePrompt({ ns: 'test', key: 'first', instructions: 'Say something.' }),
      { session: await openSession({ store: memoryStore(), id: 'first' }), input: '[[script:main]] go' },
    );
    if (status !== 'completed' || !existsSync(done)) {
      rmSync(OPENCODE_CONFIG, { recursive: true, force: true });
      throw new Error(`OpenCode could not be set up: ${message ?? 'it did not install its plugin package'}`);
    }
  } finally {
    await server.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}
