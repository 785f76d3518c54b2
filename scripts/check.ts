/**
 * `npm run check`: static checks of the code and the package. What runs code is in `npm test`. Runs every step, as many at once as there are cores, names
 * those that failed, and exits non-zero if one did.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

type Step = readonly [what: string, command: string, ...args: string[]];

/** The slow ones first. The steps of a phase need those of the phases before it. */
const PHASES: readonly (readonly Step[])[] = [
  [
    ['types', 'tsc', '-p', 'tsconfig.json'],
    ['build', 'node', 'scripts/build-if-needed.ts'],
    ['format and lint', 'biome', 'check', '.'],
    ['lock files: every platform, no registry', 'node', 'scripts/check-lock.ts'],
    ['types of the examples', 'tsc', '-p', 'examples/chat'],
    ['types of Studio', 'tsc', '-p', 'studio'],
    ['pure folders without Node and DOM', 'tsc', '-p', 'tsconfig.pure.json'],
    ['terms of the glossary', 'node', 'scripts/check-words.ts'],
    ['no import cycles, no file over 400 lines, no random number without a seed', 'node', 'scripts/check-structure.ts'],
  ],
  [
    ['at most 40 values and 110 types in holdfast, 320 names in all entries', 'node', 'scripts/check-exports.ts'],
    ['package as installed: links, loading, types (TypeScript 5.5 to 7)', 'node', 'scripts/check-package.ts'],
    ['unused code', 'knip'],
    ['package types (attw)', 'attw', '--pack', '.', '--profile', 'esm-only'],
    ['package shape (publint)', 'publint', '--strict'],
    ['holdfast/react adds at most 4 kB', 'node', 'scripts/check-react-size.ts'],
    ['Studio loads at most 350 kB first', 'node', 'scripts/check-studio-size.ts'],
  ],
];

const failed: string[] = [];
for (const phase of PHASES) {
  const waiting = [...phase];
  const work = async (): Promise<void> => {
    for (let step = waiting.shift(); step; step = waiting.shift()) await run(step);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`);
  process.exit(1);
}

async function run([what, command, ...args]: Step): Promise<void> {
  const child = spawn(command, args, { cwd: join(import.meta.dirname, '..'), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | string | null>((resolve) => {
    child.on('error', (error) => resolve(String(error))).on('close', (status) => resolve(status));
  });
  console.log(`${code === 0 ? '✓' : '✗'} ${what}`);
  if (code === 0) return;
  failed.push(what);
  console.log(`${output}${typeof code === 'string' ? code : ''}`);
}
