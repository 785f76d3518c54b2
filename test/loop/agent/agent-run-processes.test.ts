/** `agent.run` in real processes over SQLite: killed at every point, and followed by another one (D80). */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { AgentResponse } from '../../../src/index.ts';

const CHILD = join(import.meta.dirname, 'agent-run-child.ts');

interface Outcome {
  readonly responses: readonly AgentResponse[];
  readonly points: number;
}

function stage() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-agent-run-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const effects = join(directory, 'effects');
  return {
    args: [CHILD, join(directory, 'agent.db'), effects],
    effects: (): readonly string[] => readFileSync(effects, 'utf8').split('\n').filter(Boolean),
  };
}

async function finish(args: readonly string[]): Promise<Outcome> {
  const { stdout } = await promisify(execFile)(process.execPath, [...args]);
  return JSON.parse(stdout) as Outcome;
}

/** Lets a process kill itself at the nth point; false when it came to its end. */
async function killedAt(args: readonly string[], crashAt: number): Promise<boolean> {
  const child = spawn(process.execPath, [...args, String(crashAt)], { stdio: 'ignore' });
  const [, signal] = await once(child, 'exit');
  return signal === 'SIGKILL';
}

const ANSWERED = [
  { status: 'completed', inputId: 'm1', text: 'Done: Pay m1.' },
  { status: 'completed', inputId: 'm2', text: 'Done: Pay m2.' },
];

test('killed at a point, the same lines return the responses, and no call has two keys (D80)', async () => {
  const { points } = await finish(stage().args);
  for (let crashAt = 1; crashAt <= points; crashAt += STEP) {
    const { args, effects } = stage();
    expect(await killedAt(args, crashAt)).toBe(true);
    expect((await finish(args)).responses).toMatchObject(ANSWERED);
    expect(new Set(effects()).size).toBe(2);
  }
});

/** A prime: the points before and after writes, inside responses and around effects are all among those. */
const STEP = 5;

test('killed again and again, each time a little later, it ends (D80)', async () => {
  const { args, effects } = stage();
  let kills = 0;
  while (await killedAt(args, 4 + kills)) kills++;
  expect(kills).toBeGreaterThan(3);
  expect((await finish(args)).responses).toMatchObject(ANSWERED);
  expect(new Set(effects()).size).toBe(2);
});

/** `left` says what the session has left at the time: one process may have sent the second input when the other reads the first response. */
const withoutLeft = ({ left: _, ...response }: AgentResponse): unknown => response;

test('processes that run the same lines at once, one of which is killed, all return the same responses (D80)', async () => {
  const { args, effects } = stage();
  await finish(stage().args); // the code is compiled
  const killed = killedAt(args, 14);
  const [first, second] = await Promise.all([finish(args), finish(args)]);
  await killed;
  expect(first.responses).toMatchObject(ANSWERED);
  expect(second.responses.map(withoutLeft)).toEqual(first.responses.map(withoutLeft));
  expect(new Set(effects()).size).toBe(2);
});
