/**
 * `npm run check`: static checks of the code, the examples of the pages, and the package. Runs every step, names those that
 * failed, and exits non-zero if one did.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const DEFINED = ['test/decisions.test.ts', 'test/errors.test.ts', 'test/architecture.test.ts'];
const STEPS: readonly (readonly [what: string, command: string, ...args: string[]])[] = [
  ['format and lint', 'biome', 'check', '.'],
  ['lock files: every platform, no registry', 'node', 'scripts/check-lock.ts'],
  ['types', 'tsc', '-p', 'tsconfig.json'],
  ['types of the examples', 'tsc', '-p', 'examples/chat'],
  ['types of Studio', 'tsc', '-p', 'studio'],
  ['pure folders without Node and DOM', 'tsc', '-p', 'tsconfig.pure.json'],
  ['terms of the glossary', 'node', 'scripts/check-words.ts'],
  ['decisions, errors and layers are as the documents define them', 'vitest', 'run', ...DEFINED],
  ['pages: examples compile and run, exports are documented, links', 'vitest', 'run', 'test/documents'],
  ['no import cycles, no file over 400 lines', 'node', 'scripts/check-structure.ts'],
  ['build', 'node', 'scripts/build.ts'],
  ['holdfast/react adds at most 4 kB', 'node', 'scripts/check-react-size.ts'],
  ['Studio loads at most 350 kB first', 'node', 'scripts/check-studio-size.ts'],
  ['unused code', 'knip'],
  ['package shape (publint)', 'publint', '--strict'],
  ['package types (attw)', 'attw', '--pack', '.', '--profile', 'esm-only'],
  ['package as installed: links, loading, types (TypeScript 5.5 to 7)', 'node', 'scripts/check-package.ts'],
];

const failed: string[] = [];
for (const [what, command, ...args] of STEPS) {
  const result = spawnSync(command, args, { cwd: join(import.meta.dirname, '..'), encoding: 'utf8' });
  const ok = result.status === 0;
  console.log(`${ok ? '✓' : '✗'} ${what}`);
  if (ok) continue;
  failed.push(what);
  console.log(`${result.stdout ?? ''}${result.stderr ?? ''}${result.error ? String(result.error) : ''}`);
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`);
  process.exit(1);
}
