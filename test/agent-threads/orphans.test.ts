import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type AgentProcessState, agentProcessState, endOrphans } from '../../src/agents/agent-process.ts';
import { recordState } from '../../src/agents/capture-state.ts';
import { announceCopy, removeLeftCopies, resumeCopyState } from '../../src/agents/claude-agent/resume-copy.ts';
import type { Run } from '../../src/loop/evaluate/run.ts';
import { startTime } from '../../src/session/process-identity.ts';
import { asAgent } from './as-agent.ts';

/** Processes that a killed host left running: those are ended, and no others. */

const started: ChildProcess[] = [];
const directories: string[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const path of directories.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** A temporary directory of a host with another TMPDIR. */
function otherTemporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-other-tmp-'));
  directories.push(path);
  return path;
}

/** A copy of a session as the SDK creates it. */
function makeCopy(directory: string, copyId: string): string {
  const name = `claude-resume-${randomUUID()}`;
  mkdirSync(join(directory, name, 'projects', '-work'), { recursive: true });
  writeFileSync(join(directory, name, 'projects', '-work', `${copyId}.jsonl`), '');
  return name;
}

interface Sleeper {
  readonly state: AgentProcessState;
  readonly exited: Promise<unknown>;
  isAlive(): boolean;
}

/** A process like an agent's: it leads a group and has a mark. */
function sleeper(changes: Partial<AgentProcessState> = {}, mark: string = randomUUID()): Sleeper {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, HOLDFAST_AGENT: mark },
  });
  started.push(child);
  const pid = child.pid ?? 0;
  const startedAt = startTime(pid) ?? 'unknown';
  return {
    state: { adapterType: 'agent-process', host: hostname(), pid, startedAt, mark, ...changes },
    exited: once(child, 'exit'),
    isAlive: () => child.exitCode === null && child.signalCode === null,
  };
}

const capture = (run: Run, { state }: Sleeper): Promise<unknown> => recordState(run, agentProcessState, state);

test('an orphan is ended, with its children and its leftover files', async () => {
  const scratch = join(tmpdir(), `claude-resume-${randomUUID()}`);
  mkdirSync(scratch);
  const orphan = sleeper({ scratch });
  const helper = sleeper({}, orphan.state.mark); // in its own group
  await asAgent(async ({ run, session }) => {
    await capture(run, orphan);
    await endOrphans(session);
    await Promise.all([orphan.exited, helper.exited]);
  });
  expect(existsSync(scratch)).toBe(false);
});

test('a process that reuses the pid of a dead one is not ended', async () => {
  const other = sleeper({ startedAt: '1', mark: randomUUID() });
  const unknown = sleeper({ startedAt: 'unknown', mark: randomUUID() });
  const elsewhere = sleeper({ host: 'another-host' });
  for (const one of [other, unknown, elsewhere]) {
    await asAgent(async ({ run, session }) => {
      await capture(run, one);
      await endOrphans(session);
    });
    expect(one.isAlive()).toBe(true);
  }
});

test('an evaluation that has ended has no process to look for', async () => {
  const one = sleeper();
  const session = await asAgent(async ({ run }) => void (await capture(run, one)));
  await endOrphans(session);
  expect(one.isAlive()).toBe(true);
});

test('an orphan on this host is found even if another host continued and ended the evaluation', async () => {
  const orphan = sleeper();
  const session = await asAgent(async ({ run }) => {
    await capture(run, orphan);
    await recordState(run, agentProcessState, { ...orphan.state, host: 'another-host', pid: 1, mark: randomUUID() });
  });
  await endOrphans(session);
  await orphan.exited;
});

test('a fork does not end the agent of its original', async () => {
  const one = sleeper({ sessionId: 'one' });
  await asAgent(async ({ run, session }) => {
    await capture(run, one);
    await endOrphans(await session.fork({ id: 'two' }));
    expect(one.isAlive()).toBe(true);
    await endOrphans(session);
    await one.exited;
  });
});

test('nothing is removed except directories of agents', async () => {
  const [kept, scratch] = ['holdfast-kept', 'claude-resume'].map((name) => join(tmpdir(), `${name}-${randomUUID()}`));
  if (!kept || !scratch) throw new Error('two paths');
  try {
    for (const path of [kept, scratch]) {
      mkdirSync(path);
      await asAgent(async ({ run, session }) => {
        await capture(run, sleeper({ startedAt: '1', mark: randomUUID(), scratch: path }));
        await endOrphans(session);
      });
    }
    expect([existsSync(kept), existsSync(scratch)]).toEqual([true, false]);
  } finally {
    for (const path of [kept, scratch]) rmSync(path, { recursive: true, force: true });
  }
});

test('the leftovers of an orphan are removed even if TMPDIR has changed', async () => {
  const scratch = join(otherTemporary(), `holdfast-opencode-${randomUUID()}`);
  mkdirSync(scratch);
  await asAgent(async ({ run, session }) => {
    await capture(run, sleeper({ scratch }));
    await endOrphans(session);
  });
  expect(existsSync(scratch)).toBe(false);
});

test("a session's copy is recognised by the id in the log, in any directory; other copies are kept", async () => {
  const directory = otherTemporary();
  const copyId = randomUUID();
  makeCopy(directory, copyId);
  const other = makeCopy(directory, randomUUID());
  const moved = join(tmpdir(), makeCopy(tmpdir(), copyId)); // TMPDIR changed between the log and the copy
  directories.push(moved);
  await asAgent(async ({ run, session }) => {
    const state = { adapterType: 'claude-resume-copy', host: hostname(), directory, copyId, sessionId: 'one' } as const;
    await recordState(run, resumeCopyState, state);
    removeLeftCopies(await session.fork({ id: 'two' })); // it does not belong to the fork
    expect(readdirSync(directory)).toHaveLength(2);
    removeLeftCopies(session);
  });
  expect(readdirSync(directory)).toEqual([other]);
  expect(existsSync(moved)).toBe(false);
});

test('a copy that an agent of this process uses is kept until its run ends', async () => {
  const copyId = randomUUID();
  await asAgent(async ({ run, session }) => {
    const remove = await announceCopy(run, copyId);
    const copy = join(tmpdir(), makeCopy(tmpdir(), copyId));
    directories.push(copy);
    removeLeftCopies(session); // as a child conversation with the same agent does
    expect(existsSync(copy)).toBe(true);
    remove();
    expect(existsSync(copy)).toBe(false);
  });
});
