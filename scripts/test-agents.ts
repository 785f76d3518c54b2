/**
 * `npm run test:agents`: installs the agents that the adapters use (large, so not among the project's own dependencies), then runs
 * their tests. Arguments are passed to vitest.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const agents = join(root, 'test', 'agents');

// Not `npm ci`: it rejects a lock file without the programs of platforms that the registry does not have. No package runs an
// install script, whatever npm is configured to do, except OpenCode, whose script installs the program for this machine.
const STEPS: readonly (readonly [cwd: string, command: string, ...args: string[]])[] = [
  [agents, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund'],
  [join(agents, 'node_modules', 'opencode-ai'), process.execPath, 'postinstall.mjs'],
  [root, 'tsc', '-p', 'test/agents/tsconfig.json'],
  [root, 'vitest', 'run', '--project', 'agents', ...process.argv.slice(2)],
];
for (const [cwd, command, ...args] of STEPS) {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
