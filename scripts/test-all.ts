/**
 * `npm run test:all [-- --only <tier,…>] [--report <tier>=<file> …]`: runs every tier of docs/testing-holdfast.md, several at a time, and prints how long
 * each took, the slowest files, every failure, and last "N passed, N failed". `--report` names the vitest report of a tier that has run
 * already, which is counted and not run again.
 */
import { spawn } from 'node:child_process';
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { failuresIn, type Outcome, outcomeOfExit, outcomeOfReport, slowestFiles } from './tiers/outcome.ts';

interface Tier {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** Whether the command is vitest, or passes its arguments to it, and so can write a report. */
  readonly reports: boolean;
}

/** Tiers run side by side, which uses the cores. */
const ONE_WORKER = '--maxWorkers=1';

const vitest = (name: string, ...projects: string[]): Tier => ({
  name,
  command: ['vitest', 'run', ONE_WORKER, ...projects.flatMap((project) => ['--project', project])],
  reports: true,
});

/** The longest first, so that no tier is left alone at the end. */
const TIERS: readonly Tier[] = [
  vitest('fast', 'pure', 'fast'),
  { name: 'agents', command: ['node', 'scripts/test-agents.ts', ONE_WORKER], reports: true },
  vitest('postgres', 'postgres'),
  vitest('browser', 'browser'),
  vitest('crash', 'crash'),
  vitest('runtimes', 'runtimes'),
  vitest('chaos', 'chaos'),
  { name: 'check', command: ['node', 'scripts/check.ts'], reports: false },
  { name: 'fuzz', command: ['node', 'scripts/fuzz.ts'], reports: false },
];
/** One more than there are cores: a tier waits for its browser, its database or its registry a third of the time. */
const AT_ONCE = availableParallelism() + 1;
const SHOWN_FILES = 20;

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { only: { type: 'string' }, report: { type: 'string', multiple: true, default: [] } },
});
const only = values.only?.split(',');
const unknown = only?.filter((name) => !TIERS.some((tier) => tier.name === name)) ?? [];
if (unknown.length > 0)
  throw new Error(`no tier ${unknown.join(', ')}; there are ${TIERS.map(({ name }) => name).join(', ')}`);
const reported = new Map(values.report.map((text) => text.split('=', 2) as [tier: string, file: string]));
const directory = mkdtempSync(join(tmpdir(), 'holdfast-tiers-'));

try {
  const chosen = TIERS.filter(({ name }) => only?.includes(name) ?? true);
  const waiting = chosen.filter(({ name }) => !reported.has(name));
  // Several tiers use dist: it is built once, before them.
  if (waiting.some(({ name }) => name === 'check' || name === 'runtimes'))
    await run(['node', 'scripts/build-if-needed.ts'], 'build');
  const outcomes: Outcome[] = [...reported].map(([name, file]) => outcomeOfReport(name, readReport(file)));
  const work = async (): Promise<void> => {
    for (let tier = waiting.shift(); tier; tier = waiting.shift()) outcomes.push(await runTier(tier));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  print(outcomes);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function runTier({ name, command, reports }: Tier): Promise<Outcome> {
  const report = join(directory, `${name}.json`);
  const args = reports ? ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`] : [];
  const { code, seconds } = await run([...command, ...args], name);
  return reports
    ? outcomeOfReport(name, existsSync(report) ? readReport(report) : undefined, seconds)
    : outcomeOfExit(name, code, seconds);
}

/** Runs a command; prints its output after it has ended, whole if it failed. */
async function run(
  command: readonly string[],
  name: string,
): Promise<{ readonly code: number; readonly seconds: number }> {
  const [program = '', ...args] = command;
  const path = join(directory, `${name}.log`);
  const output = createWriteStream(path);
  const start = performance.now();
  console.log(`${name}: ${command.slice(0, 6).join(' ')}`);
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false });
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject).on('close', (status) => resolve(status ?? 1));
  });
  await new Promise((resolve) => output.end(resolve));
  const seconds = (performance.now() - start) / 1000;
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  console.log(`${name}: ${code === 0 ? 'passed' : 'FAILED'} after ${seconds.toFixed(0)} s`);
  console.log((code === 0 ? lines.slice(-12) : lines).map((line) => `  ${line}`).join('\n'));
  return { code, seconds };
}

function readReport(file: string): Parameters<typeof outcomeOfReport>[1] {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function print(outcomes: readonly Outcome[]): void {
  console.log(`\nthe ${SHOWN_FILES} slowest files`);
  for (const { file, seconds } of slowestFiles(outcomes, root).slice(0, SHOWN_FILES))
    console.log(`${seconds.toFixed(1).padStart(8)} s  ${file}`);
  console.log('\ntier          seconds   passed   failed');
  for (const { name, seconds, passed, failed } of outcomes)
    console.log(
      `${name.padEnd(12)} ${seconds.toFixed(0).padStart(8)} ${String(passed).padStart(8)} ${String(failed).padStart(8)}`,
    );
  for (const line of failuresIn(outcomes)) console.log(line);
  const sum = (of: 'passed' | 'failed'): number => outcomes.reduce((total, outcome) => total + outcome[of], 0);
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
  if (sum('failed') > 0) process.exitCode = 1;
}
