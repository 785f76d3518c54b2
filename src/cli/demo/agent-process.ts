/**
 * The agent's process, controlled by its parent. It always ends with its parent:
 *
 *     signal to the parent      → the parent kills it, then ends by that signal
 *     exit, uncaught error      → the parent kills it on its way out
 *     SIGKILL to the parent     → the pipe to its standard input closes, and it exits (see agent.ts)
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Progress } from './agent.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface AgentProcess {
  readonly pid: number;
  /** The agent's reports, until its process has ended. */
  readonly progress: AsyncIterable<Progress>;
  /** Sends SIGKILL: the process cannot clean up. */
  kill(): void;
}

/** Starts the agent's script in `dir`; `model` names a real model. */
export function startAgent(script: string, dir: string, model: string | undefined): AgentProcess {
  const args = ['--disable-warning=ExperimentalWarning', script, dir, ...(model ? [model] : [])];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {}); // `progress` reports its end
  return { pid: child.pid ?? 0, progress: progressOf(child), kill: () => void child.kill('SIGKILL') };
}

async function* progressOf(child: ChildProcessByStdio<Writable, Readable, null>): AsyncIterable<Progress> {
  const kill = (): void => void child.kill('SIGKILL');
  const endBy = (signal: NodeJS.Signals): void => {
    kill();
    release();
    process.kill(process.pid, signal); // our listener is removed: the signal ends the parent
  };
  const release = (): void => {
    process.off('exit', kill);
    for (const signal of SIGNALS) process.off(signal, endBy);
  };
  process.on('exit', kill);
  for (const signal of SIGNALS) process.on(signal, endBy);
  try {
    for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as Progress;
  } finally {
    release();
  }
}
