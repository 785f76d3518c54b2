import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type AgentProcessState, agentProcessState, endOrphans } from '../../src/agents/agent-process.ts';
import { captureState } from '../../src/agents/capture-state.ts';
import { announceCopy, removeLeftCopies, resumeCopyState } from '../../src/agents/claude-agent/resume-copy.ts';
import type { Run } from '../../src/loop/run.ts';
import { startTime } from '../../src/session/process-identity.ts';
import { asAgent } from './as-agent.ts';

/** Processes that a dead host left running: those are ended, certainly those and no others. */

const started: ChildProcess[] = [];
const directories: string[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const path of directories.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** A temporary directory of a host whose TMPDIR is not that of this process. */
function otherTemporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-other-tmp-'));
  directories.push(path);
  return path;
}

/** A copy of a session as the SDK makes it. */
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

/** A process as an agent's is: it leads a group and carries a mark. */
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

const capture = (run: Run, { state }: Sleeper): Promise<unknown> => captureState(run, agentProcessState, state);

test('an orphan is ended, with what it started and what it left', async () => {
  const scratch = join(tmpdir(), `claude-resume-${randomUUID()}`);
  mkdirSync(scratch);
  const orphan = sleeper({ scratch });
  const helper = sleeper({}, orphan.state.mark); // in a group of its own
  await asAgent(async ({ run, session }) => {
    await capture(run, orphan);
    await endOrphans(session);
    await Promise.all([orphan.exited, helper.exited]);
  });
  expect(existsSync(scratch)).toBe(false);
});

test('a process that was given the number of one that is gone is left alone', async () => {
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

test('an evaluation that ended has ended its process: it is not looked for again', async () => {
  const one = sleeper();
  const session = await asAgent(async ({ run }) => void (await capture(run, one)));
  await endOrphans(session);
  expect(one.isAlive()).toBe(true);
});

test('an orphan on this host is found also when another host went on, and ended the evaluation', async () => {
  const orphan = sleeper();
  const session = await asAgent(async ({ run }) => {
    await capture(run, orphan);
    await captureState(run, agentProcessState, { ...orphan.state, host: 'another-host', pid: 1, mark: randomUUID() });
  });
  await endOrphans(session);
  await orphan.exited;
});

test('a fork leaves the agent of its original alone', async () => {
  const one = sleeper({ sessionId: 'one' });
  await asAgent(async ({ run, session }) => {
    await capture(run, one);
    await endOrphans(await session.fork({ id: 'two' }));
    expect(one.isAlive()).toBe(true);
    await endOrphans(session);
    await one.exited;
  });
});

test('nothing is removed but directories of agents', async () => {
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

test('what an orphan left is removed also when TMPDIR is another by then', async () => {
  const scratch = join(otherTemporary(), `holdfast-opencode-${randomUUID()}`);
  mkdirSync(scratch);
  await asAgent(async ({ run, session }) => {
    await capture(run, sleeper({ scratch }));
    await endOrphans(session);
  });
  expect(existsSync(scratch)).toBe(false);
});

test('the copy of a session is recognised by the id in the log, wherever it is; other copies are kept', async () => {
  const directory = otherTemporary();
  const copyId = randomUUID();
  makeCopy(directory, copyId);
  const other = makeCopy(directory, randomUUID());
  const moved = join(tmpdir(), makeCopy(tmpdir(), copyId)); // TMPDIR was changed between the log and the copy
  directories.push(moved);
  await asAgent(async ({ run, session }) => {
    const state = { adapterType: 'claude-resume-copy', host: hostname(), directory, copyId, sessionId: 'one' } as const;
    await captureState(run, resumeCopyState, state);
    removeLeftCopies(await session.fork({ id: 'two' })); // it is not the fork's
    expect(readdirSync(directory)).toHaveLength(2);
    removeLeftCopies(session);
  });
  expect(readdirSync(directory)).toEqual([other]);
  expect(existsSync(moved)).toBe(false);
});

test('the copy of a session that an agent of this process runs on is kept until that run ends', async () => {
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
