/**
 * The agent's process, controlled by its parent. It always ends with its parent:
 *
 *     signal to the parent      → the parent kills it, then ends by that signal, unless another listener ends the parent
 *     exit, uncaught error      → the parent kills it on its way out
 *     SIGKILL to the parent     → the pipe to its standard input closes, and it exits (see agent.ts)
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A report of the agent to its parent. `failed` is an error that is not part of a response. */
export type Progress =
  | { readonly type: 'said'; readonly delta: string; readonly turn: number }
  | { readonly type: 'called'; readonly name: string; readonly arguments: string }
  | { readonly type: 'acted'; readonly name: string }
  | { readonly type: 'lookedUp'; readonly name: string; readonly happened: boolean }
  | { readonly type: 'returned'; readonly name: string; readonly text: string; readonly isError: boolean }
  | { readonly type: 'interrupted'; readonly text: string }
  | {
      readonly type: 'done';
      readonly status: string;
      readonly text: string;
      readonly message?: string;
      /** Calls that wait for a person: for an approval, or because their outcome is unknown. */
      readonly waitsFor: readonly { readonly name: string; readonly isUnknown: boolean }[];
    }
  | { readonly type: 'failed'; readonly message: string };

/** An agent's process. */
export interface RunningAgent {
  readonly pid: number;
  /** The agent's reports, until its process has ended. */
  readonly progress: AsyncIterable<Progress>;
  /** Sends SIGKILL: the process cannot clean up. */
  kill(): void;
}

/** What an agent's process is started with. */
export interface AgentOptions {
  /** The arguments of Node that name the agent's script. */
  readonly script: readonly string[];
  /** Holds the database and the workspace. */
  readonly dir: string;
  /** The name of a real model. */
  readonly model?: string | undefined;
  /** Runs what this session has left, instead of the first job. */
  readonly session?: string;
  /** Milliseconds before each word of the model of rules. */
  readonly wordMs?: number;
  /** Makes the text of a model or a tool safe for a terminal. */
  readonly printable: (text: string) => string;
}

/** Starts the agent's script. */
export function startAgent({ script, dir, model, session, wordMs, printable }: AgentOptions): RunningAgent {
  const args = ['--disable-warning=ExperimentalWarning', ...script, dir];
  if (model !== undefined) args.push('--model', model);
  if (session !== undefined) args.push(`--session=${session}`);
  if (wordMs !== undefined) args.push('--word-ms', String(wordMs));
  // The demo starts several of these. One that ends by itself keeps its compiled code for the others.
  const env = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'), ...process.env };
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
  child.stdin.on('error', () => {}); // `progress` reports its end
  return { pid: child.pid ?? 0, progress: progressOf(child, printable), kill: () => void child.kill('SIGKILL') };
}

async function* progressOf(
  child: ChildProcessByStdio<Writable, Readable, null>,
  printable: AgentOptions['printable'],
): AsyncIterable<Progress> {
  /** Of all texts, only what the model says has lines: another one cannot look like the next line of the output. */
  const shown = (name: string, value: unknown): unknown =>
    typeof value === 'string' ? printable(name === 'delta' ? value : value.replace(/\s+/g, ' ').trim()) : value;
  const kill = (): void => void child.kill('SIGKILL');
  const endBy = (signal: NodeJS.Signals): void => {
    kill();
    release();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal); // no listener is left: it ends the parent
  };
  const release = (): void => {
    process.off('exit', kill);
    for (const signal of SIGNALS) process.off(signal, endBy);
  };
  process.on('exit', kill);
  for (const signal of SIGNALS) process.on(signal, endBy);
  try {
    for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line, shown) as Progress;
  } finally {
    release();
  }
}
