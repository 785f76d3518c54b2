/**
 * `npm run test:agents`: installs the agents that the adapters drive (large, so not among the project's own dependencies), then
 * tests against them. Arguments go to vitest.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const agents = join(root, 'test', 'agents');

// Not `npm ci`: it refuses a lock file without the programs of platforms that the registry at hand does not carry. No package runs
// an install script, whatever npm is configured to do; OpenCode needs its own, which puts this machine's program in place.
const STEPS: readonly (readonly [cwd: string, command: string, ...args: string[]])[] = [
  [agents, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund'],
  [join(agents, 'node_modules', 'opencode-ai'), process.execPath, 'postinstall.mjs'],
  [root, 'tsc', '-p', 'test/agents/tsconfig.json'],
  [root, 'vitest', 'run', '--config', 'test/agents/vitest.config.ts', ...process.argv.slice(2)],
];
for (const [cwd, command, ...args] of STEPS) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
