/**
 * The crash matrix: for every scenario and every point that an uninterrupted run passes, a process is killed there, another one
 * resumes, and the conversation must end like the uninterrupted one. Then the same with a second kill during the resume.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Random, spread } from '../support/random.ts';
import { scratchRoot } from '../support/scratch.ts';
import type { Scenario } from './scenario-parts.ts';

/** The report of a process that was not killed. */
export interface Outcome {
  readonly points: readonly string[];
  readonly messages: Readonly<Record<string, readonly unknown[]>>;
  readonly slice: readonly unknown[];
  readonly evaluations: readonly string[];
  /** How many times each call acted outside the process. */
  readonly effects: Readonly<Record<string, number>>;
  /** Calls that acted although they had their result: must be empty. */
  readonly ranAgain: readonly string[];
  readonly unknown: number;
  /** The distinct requests to the model for each turn of each evaluation: must be one. */
  readonly requests: readonly string[];
  /** The distinct inputs of tools, recorded outside. */
  readonly given: readonly string[];
  /** Files of the closed store that contain a secret: must be empty. */
  readonly leaks: readonly string[];
}

export interface Cell {
  readonly scenario: string;
  /** The point where it was killed; two points when the resume was killed, too. */
  readonly killedAt: readonly string[];
  readonly outcome: 'equal' | 'equal after settling' | 'WRONG';
  readonly why?: string;
}

/** Runs a child process until it ends or is killed. */
export type RunChild = (scenario: string, dir: string, crashAt: number) => Promise<Outcome | 'killed'>;

/** A child process of Node, killed by SIGKILL. `args` follow the scenario, the directory and the point. */
export function childRunner(script: string, args: readonly string[] = []): RunChild {
  return (scenario, dir, crashAt) =>
    new Promise((resolve, reject) => {
      execFile(
        process.execPath,
        [script, scenario, dir, String(crashAt), ...args],
        { maxBuffer: 1 << 26 },
        (error, stdout, stderr) => {
          if (error?.signal === 'SIGKILL') resolve('killed');
          else if (error) reject(new Error(`${scenario}, crash at ${crashAt}: ${stderr || error.message}`));
          else resolve(JSON.parse(stdout) as Outcome);
        },
      );
    });
}

/** Copies a directory with everything that the processes in it have stored, also outside it. */
export type CopyDirectory = (from: string, to: string) => Promise<void>;

/** How a scenario is run. */
export interface RunOptions {
  readonly copyDirectory?: CopyDirectory;
  /** How many points processes are killed at while they resume, of each run that was killed before: all unless given. */
  readonly resumeKills?: number;
  /** How many points of the uninterrupted run processes are killed at: all unless given. */
  readonly kills?: number;
  /** Chooses the points, if not all are taken. */
  readonly random: Random;
}

/** Runs the cells of a scenario: all of them, or a spread. */
export async function runScenario(scenario: Scenario, run: RunChild, options: RunOptions): Promise<readonly Cell[]> {
  const { copyDirectory = async (from, to) => cpSync(from, to, { recursive: true }), random } = options;
  const { kills = Number.POSITIVE_INFINITY, resumeKills = Number.POSITIVE_INFINITY } = options;
  const root = mkdtempSync(join(scratchRoot(), 'holdfast-crash-'));
  try {
    const expected = await finished(run, scenario, directory(root, 'expected'));
    const cells: Cell[] = [];
    // The runs that are killed while they resume: the one that was killed after its first effect, and the middle one; of a spread, one of them.
    const middles = [expected.points.indexOf('after effect'), expected.points.length >> 1].filter((i) => i >= 0);
    const bases = spread(middles, Number.isFinite(kills) ? 1 : middles.length, random);
    const chosen = new Set(spread([...expected.points.keys()], kills, random));
    if (resumeKills > 0) for (const i of bases) chosen.add(i);
    const first = await pooled(
      [...chosen].sort((a, b) => a - b),
      async (i) => {
        const name = expected.points[i] ?? '';
        const dir = directory(root, `at-${i + 1}`);
        const killed = await run(scenario.name, dir, i + 1);
        if (killed !== 'killed')
          return { i, cell: notKilled(scenario, [], name, expected, { got: killed, at: i + 1 }), dir };
        const copy = directory(root, `resumed-${i + 1}`);
        await copyDirectory(dir, copy);
        const outcome = await finished(run, scenario, copy);
        return { i, cell: judge(scenario, [name], expected, outcome, 1), dir, resumed: outcome.points };
      },
    );
    for (const { cell } of first) cells.push(cell);
    for (const i of new Set(resumeKills > 0 ? bases : [])) {
      const base = first.find((one) => one.i === i);
      const killedAt = expected.points[i];
      if (!base?.resumed || killedAt === undefined) continue;
      const { dir, resumed } = base;
      cells.push(
        ...(await pooled(spread([...resumed.keys()], resumeKills, random), async (j) => {
          const name = resumed[j] ?? '';
          const copy = directory(root, `twice-${i}-${j + 1}`);
          await copyDirectory(dir, copy);
          const killed = await run(scenario.name, copy, j + 1);
          if (killed !== 'killed') return notKilled(scenario, [killedAt], name, expected, { got: killed, at: j + 1 });
          return judge(scenario, [killedAt, name], expected, await finished(run, scenario, copy), 2);
        })),
      );
    }
    return cells;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function directory(root: string, name: string): string {
  const dir = join(root, name);
  mkdirSync(dir, { recursive: true });
  return dir;
}

async function finished(run: RunChild, scenario: Scenario, dir: string): Promise<Outcome> {
  const outcome = await run(scenario.name, dir, 0);
  if (outcome === 'killed') throw new Error(`${scenario.name}: killed without being told to`);
  return outcome;
}

/**
 * A run that ended before its point: results that finish at the same moment share an append, so on a database a run has sometimes fewer
 * points than the one before it. It must end like an uninterrupted one.
 */
function notKilled(
  scenario: Scenario,
  earlier: readonly string[],
  name: string,
  expected: Outcome,
  { got, at }: { readonly got: Outcome; readonly at: number },
): Cell {
  const isShorter = got.points.length < at;
  return isShorter
    ? judge(scenario, earlier, expected, got, earlier.length)
    : wrong(scenario, [...earlier, name], 'it was not killed');
}

function judge(scenario: Scenario, killedAt: readonly string[], expected: Outcome, got: Outcome, kills: number): Cell {
  if (!isDeepStrictEqual(got.messages, expected.messages)) {
    return wrong(
      scenario,
      killedAt,
      `messages differ: ${JSON.stringify(got.messages)} instead of ${JSON.stringify(expected.messages)}`,
    );
  }
  if (!isDeepStrictEqual(got.slice, expected.slice))
    return wrong(scenario, killedAt, `slice is ${JSON.stringify(got.slice)}`);
  if (!isDeepStrictEqual(got.evaluations, expected.evaluations))
    return wrong(scenario, killedAt, `evaluations are ${got.evaluations}`);
  if (!isDeepStrictEqual(got.requests, expected.requests)) {
    return wrong(scenario, killedAt, `the model was asked ${got.requests} instead of ${expected.requests}`);
  }
  if (!isDeepStrictEqual(got.given, expected.given)) return wrong(scenario, killedAt, `tools were given ${got.given}`);
  if (expected.leaks.length + got.leaks.length > 0) return wrong(scenario, killedAt, `a secret is in ${got.leaks}`);
  if (got.ranAgain.length > 0) return wrong(scenario, killedAt, `finished calls ran again: ${got.ranAgain}`);
  const calls = Object.keys(got.effects).length;
  if (calls !== Object.keys(expected.effects).length) return wrong(scenario, killedAt, `${calls} calls acted`);
  const once = scenario.name.includes('once') || scenario.name === 'approval';
  const often = Object.entries(got.effects).find(([, count]) => count > (once ? 1 : 1 + kills));
  if (often) return wrong(scenario, killedAt, `${often[0]} acted ${often[1]} times`);
  if (got.unknown > 0 && !scenario.mayBeUnknown) return wrong(scenario, killedAt, 'an outcome was unknown');
  return { scenario: scenario.name, killedAt, outcome: got.unknown > 0 ? 'equal after settling' : 'equal' };
}

function wrong(scenario: Scenario, killedAt: readonly string[], why: string): Cell {
  return { scenario: scenario.name, killedAt, outcome: 'WRONG', why };
}

/** Maps with as much concurrency as there are cores. */
async function pooled<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<readonly U[]> {
  const results: U[] = new Array(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as T);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return results;
}

/** The matrix as a table: scenarios by the point of the kill, with the outcome of each. */
export function reportOf(cells: readonly Cell[]): string {
  const scenarios = [...new Set(cells.map((cell) => cell.scenario))];
  const points = new Set(cells.map((cell) => cell.killedAt.join(' + '))).size;
  const width = Math.max(8, ...scenarios.map((name) => name.length));
  const rows = scenarios.map((name) => {
    const own = cells.filter((cell) => cell.scenario === name);
    const count = (outcome: Cell['outcome'], kills: number): number =>
      own.filter((cell) => cell.outcome === outcome && cell.killedAt.length === kills).length;
    const of = (kills: number): string =>
      [count('equal', kills), count('equal after settling', kills), count('WRONG', kills)]
        .map((n) => String(n).padStart(4))
        .join(' ');
    return `${name.padEnd(width)} | ${of(1)}  | ${of(2)}`;
  });
  return [
    `crash matrix: ${scenarios.length} scenarios, ${points} kinds of point, ${cells.length} cells`,
    `${'scenario'.padEnd(width)} | killed once     | and again while resuming`,
    `${''.padEnd(width)} |   = after wrong |   = after wrong     (=: equal; after: equal after settling)`,
    ...rows,
  ].join('\n');
}
