/** The time a process takes to import the built package, compared with importing the AI SDK. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtPackage } from './built-package.ts';
import { atMost, info, median, type Section } from './figure.ts';

const NAME = 'import';
const ROUNDS = 41;
const root = join(import.meta.dirname, '..');

export const section: Section = {
  name: NAME,
  about: 'importing the built package in a fresh process, beside importing `ai`',
  async *run() {
    const dist = builtPackage();
    const entry = (name: string): string => pathToFileURL(join(dist, `${name}.js`)).href;
    const modules = { ai: 'ai', index: entry('index'), sqlite: entry('sqlite'), conversation: entry('conversation') };
    const names = Object.keys(modules) as (keyof typeof modules)[];
    const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
      keyof typeof modules,
      number[]
    >;
    for (const name of names) importingMs(modules[name]); // the files are in the system's cache
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of names) samples[name].push(importingMs(modules[name]));
    }
    // Ratios within one round: the machine's speed drifts, the ratio does not.
    const ratio = (name: keyof typeof modules): number =>
      median(samples[name].map((ms, round) => ms / (samples.ai[round] ?? Number.NaN)));
    const note = (name: keyof typeof modules): string =>
      `${median(samples[name]).toFixed(0)} ms against ${median(samples.ai).toFixed(0)} ms`;
    yield atMost(NAME, 'holdfast / ai', ratio('index'), 0.5, note('index'));
    yield info(NAME, 'holdfast/sqlite / ai', ratio('sqlite'), note('sqlite'));
    yield info(NAME, 'holdfast/conversation / ai', ratio('conversation'), note('conversation'));
  },
};

/** The time a new process takes to import a module, without the start of the process. */
function importingMs(specifier: string): number {
  const script = `const began = performance.now(); await import(${JSON.stringify(specifier)}); console.log(performance.now() - began);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: root, encoding: 'utf8' }),
  );
}
