/**
 * `npm run mutants [-- --only <text>] [--tree <directory>] [--list]`: shows that the tests protect the invariants. Each mutant breaks one
 * promise in a copy of the tree, and the test files that it names must fail. Prints a line for each, and exits with 1 if one survived.
 * `--only` takes the mutants whose name, file or invariant has the text; `--list` prints the mutants. `--tree` takes another checkout, and
 * skips the mutants whose test files it does not have.
 */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ALL_MUTANTS } from './mutants/all-mutants.ts';
import { copyTree } from './mutants/copy-tree.ts';
import { type Mutant, type MutantTier, mutate } from './mutants/mutant.ts';
import { killRuns, runTests } from './mutants/run-tests.ts';

/** A mutant whose tests take longer hangs: it is caught, and reported as hanging. */
const LIMIT_MS = 60_000;
const UNMUTATED_LIMIT_MS = 30 * 60_000;

const { values } = parseArgs({
  options: { only: { type: 'string' }, tree: { type: 'string' }, list: { type: 'boolean' } },
});
const { only = '' } = values;
const chosen = ALL_MUTANTS.filter(({ name, file, invariant }) =>
  [name, file, invariant].some((text) => text.toLowerCase().includes(only.toLowerCase())),
);
if (chosen.length === 0) {
  console.error(`no mutant has "${only}" in its name, its file or its invariant; --list prints all`);
  process.exit(2);
}
if (values.list) {
  for (const { name, invariant, file, tests } of chosen) {
    console.log(`${invariant.padEnd(4)} ${name}\n     ${file}: ${tests.join(', ')}`);
  }
  process.exit(0);
}

const tree = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-mutants-')));
process.on('exit', () => {
  killRuns();
  rmSync(tree, { recursive: true, force: true, maxRetries: 10 }); // processes that are being ended may still write
});
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(130));
copyTree(resolve(values.tree ?? join(import.meta.dirname, '..')), tree);

const mutants = chosen.filter(hasTests);
const skipped = chosen.length - mutants.length;
if (skipped > 0 && values.tree === undefined) process.exit(1);
await runUnmutated('fast');
await runUnmutated('postgres');

type Verdict = 'caught' | 'hangs' | 'SURVIVED' | 'DOES NOT APPLY';
const verdicts: { readonly mutant: Mutant; readonly verdict: Verdict }[] = [];
for (const mutant of mutants) {
  const began = performance.now();
  const { verdict, detail } = await judge(mutant);
  verdicts.push({ mutant, verdict });
  const { invariant, name } = mutant;
  console.log(`${secondsSince(began)} s  ${invariant.padEnd(4)} ${name}: ${verdict}${detail && ` ${detail}`}`);
}
for (const { mutant, verdict } of verdicts) {
  if (verdict !== 'caught') console.log(`${verdict}: ${mutant.name} (${mutant.file})`);
}
const caught = verdicts.filter(({ verdict }) => verdict === 'caught' || verdict === 'hangs').length;
console.log(`${caught} of ${verdicts.length} caught${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(caught === verdicts.length ? 0 : 1);

/** Whether the tree has the test files of a mutant. */
function hasTests({ name, tests }: Mutant): boolean {
  const missing = tests.filter((path) => !existsSync(join(tree, path)));
  if (missing.length > 0) console.log(`skipped: ${name}: there is no ${missing.join(', ')}`);
  return missing.length === 0;
}

/** The files of all chosen mutants, once: what fails without a change shows nothing with one. */
async function runUnmutated(tier: MutantTier): Promise<void> {
  const tests = [...new Set(mutants.filter((mutant) => mutant.tier === tier).flatMap((mutant) => mutant.tests))];
  if (tests.length === 0) return;
  const began = performance.now();
  const run = await runTests(tree, { tests, tier }, { limitMs: UNMUTATED_LIMIT_MS, bail: false });
  const missing =
    run.outcome === 'passed'
      ? tests.filter((path) => !run.report.testResults.some(({ name }) => name === join(tree, path)))
      : [];
  if (run.outcome === 'passed' && missing.length === 0) {
    console.log(`${secondsSince(began)} s  ${tests.length} test files (${tier}) pass without a change`);
    return;
  }
  if (run.outcome === 'failed') console.error(run.output);
  const why = {
    passed: `vitest did not run ${missing.join(', ')}`,
    failed: `without a change fails ${run.outcome === 'failed' && run.failure}`,
    hung: 'the test files do not end',
  }[run.outcome];
  console.error(`${why}; nothing can be said about the mutants`);
  process.exit(1);
}

async function judge(mutant: Mutant): Promise<{ readonly verdict: Verdict; readonly detail: string }> {
  const path = join(tree, mutant.file);
  const source = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, mutate(source, mutant));
  } catch (error) {
    return { verdict: 'DOES NOT APPLY', detail: error instanceof Error ? error.message : '' };
  }
  try {
    const run = await runTests(tree, mutant, { limitMs: LIMIT_MS, bail: true });
    if (run.outcome === 'failed') return { verdict: 'caught', detail: `by ${run.failure}` };
    return { verdict: run.outcome === 'hung' ? 'hangs' : 'SURVIVED', detail: '' };
  } finally {
    writeFileSync(path, source);
  }
}

function secondsSince(began: number): string {
  return ((performance.now() - began) / 1000).toFixed(1).padStart(5);
}
