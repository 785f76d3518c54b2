import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { firstFailure, type TestReport } from './first-failure.ts';
import type { Mutant } from './mutant.ts';
import { vitestArguments } from './vitest-arguments.ts';

/** How a run of test files ended. */
export type TestRun =
  | { readonly outcome: 'passed'; readonly report: TestReport }
  | { readonly outcome: 'failed'; readonly failure: string; readonly output: string }
  | { readonly outcome: 'hung' };

/** A process that is asked to end gets so long to stop the server that it started. */
const GRACE_MS = 10_000;

/** The processes that run tests now: each leads a group of its own. */
const RUNNING = new Set<ChildProcess>();

/** Runs test files of a tree, and ends them when they take longer than `limitMs`. */
export async function runTests(
  tree: string,
  { tests, tier }: Pick<Mutant, 'tests' | 'tier'>,
  { limitMs, bail }: { readonly limitMs: number; readonly bail: boolean },
): Promise<TestRun> {
  const report = join(tree, 'mutants-report.json');
  rmSync(report, { force: true });
  const child = spawn(process.execPath, vitestArguments(tree, { tests, tier, report, bail }), {
    cwd: tree,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group: the processes that tests start end with it
  });
  RUNNING.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const stop = new AbortController();
  try {
    const closed = once(child, 'close').then(([code]) => ({ code: code as number | null }));
    const late = after(limitMs, undefined, { signal: stop.signal });
    const ended = await Promise.race([closed, late]);
    if (!ended) {
      await end(child, closed);
      return { outcome: 'hung' };
    }
    const written = existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as TestReport) : undefined;
    if (ended.code === 0 && written) return { outcome: 'passed', report: written };
    const failure = (written && firstFailure(written, tree)) ?? 'an error outside of the tests';
    return { outcome: 'failed', failure, output };
  } finally {
    stop.abort();
    RUNNING.delete(child);
  }
}

/** Ends the processes of all runs at once: this process ends. */
export function killRuns(): void {
  for (const child of RUNNING) signal(child, 'SIGKILL');
}

async function end(child: ChildProcess, closed: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  await Promise.race([closed, after(GRACE_MS)]);
  signal(child, 'SIGKILL');
  await closed;
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // The group has ended.
  }
}
