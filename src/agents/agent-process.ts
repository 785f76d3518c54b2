import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, resolve } from 'node:path';
import { HoldfastError } from '../core/errors.ts';
import type { AdapterState, AdapterStateType } from '../core/log/adapter-state.ts';
import type { SessionView } from '../core/views/session-view.ts';
import { isThere, PROC, startTime } from '../session/process-identity.ts';
import { defineCheckedState } from './agent-state.ts';

/** Something on a host that a run has to remove before it ends: a process, a directory. */
export interface HostState extends AdapterState {
  readonly host: string;
  /** The session that owns it. A fork inherits the state and must not act on it. */
  readonly sessionId?: string;
}

/**
 * The newest state of this kind of each evaluation, if a dead holder may have left it on this host. An evaluation that ended on
 * this host has removed its own.
 */
export function leftOnHost<T extends HostState>(session: SessionView, adapterType: T['adapterType']): readonly T[] {
  const { adapterStates, evaluations } = session.state.record;
  const host = hostname();
  const here = new Map<string, T>();
  const newestHost = new Map<string, string>();
  for (const { evaluationId, state: captured } of adapterStates) {
    if (captured.adapterType !== adapterType) continue;
    const state = captured as T;
    newestHost.set(evaluationId, state.host);
    if (state.host === host) here.set(evaluationId, state);
  }
  return [...here].flatMap(([evaluationId, state]) => {
    const status = evaluations.get(evaluationId)?.status;
    const isOver = (status === 'completed' || status === 'failed') && newestHost.get(evaluationId) === host;
    const isOthers = state.sessionId !== undefined && state.sessionId !== session.id;
    return isOver || isOthers ? [] : [state];
  });
}

/**
 * The agent's process belongs to us: it runs in a group of its own and carries a mark in its environment that whatever it starts
 * inherits. Its identity is captured before it can act. If our process dies, its successor ends the group and everything that
 * carries the mark, and only then continues: an orphan would finish its tool and ask the model again beside it.
 */
export interface AgentProcessState extends HostState {
  readonly adapterType: 'agent-process';
  readonly pid: number;
  readonly startedAt: string;
  readonly mark: string;
  /** A temporary directory that is only of use to this process. */
  readonly scratch?: string;
}

/** The kind of adapter state that names a process. Never resumed from: it is only ended. */
export const agentProcessState: AdapterStateType<AgentProcessState> = defineCheckedState<AgentProcessState>(
  'agent-process',
  ({ pid }) => (typeof pid === 'number' ? undefined : 'pid is not a number'),
);

const MARK = 'HOLDFAST_AGENT';
const MARKED = new RegExp(`(?:^|\0)${MARK}=([^\0]+)`);

/** Marks of the agents that this process runs itself: no orphans. */
const ours = new Set<string>();

/** An agent's process and how to end it. */
export interface OwnedProcess {
  readonly child: ChildProcess;
  readonly state: AgentProcessState;
  /** The last of what it wrote to its standard error. */
  readonly errors: () => string;
  /** Resolves when it has ended or could not be started: what is wrong then. */
  readonly exited: Promise<Error>;
}

const KEPT_ERRORS = 4_000;

/** Starts a process in its own group, marked as ours. */
export function startAgentProcess(options: {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly scratch?: string | undefined;
}): OwnedProcess {
  const { command, args, cwd, env, scratch } = options;
  const mark = randomUUID();
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...env, [MARK]: mark },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  ours.add(mark);
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-KEPT_ERRORS);
  });
  const exited = new Promise<Error>((resolve) => {
    child.once('error', (error) => resolve(startFailure(error, command, cwd)));
    child.once('exit', (code, signal) =>
      resolve(new Error(`${basename(command)} ended with ${signal ?? code}: ${errors.trim()}`)),
    );
  });
  const pid = child.pid ?? 0;
  const startedAt = startTime(pid) ?? 'unknown';
  return {
    child,
    state: {
      adapterType: 'agent-process',
      host: hostname(),
      pid,
      startedAt,
      mark,
      ...(scratch !== undefined && isInTemporary(scratch) && { scratch: resolve(scratch) }),
    },
    errors: () => errors.trim(),
    exited,
  };
}

/** Why a process could not be started. The system names the program also when it is its directory that is missing. */
function startFailure(error: NodeJS.ErrnoException, command: string, cwd: string | undefined): Error {
  if (error.code !== 'ENOENT') return error;
  if (cwd !== undefined && !existsSync(cwd)) {
    return new HoldfastError('INVALID_ARGUMENT', `the directory ${cwd} does not exist; give another \`cwd\``, {
      cause: error,
    });
  }
  const what = `the program "${command}" does not exist; install it, or give its path`;
  return new HoldfastError('DEPENDENCY_MISSING', what, { cause: error });
}

/** Ends a process that this one has started, its group, everything that carries its mark, and what it left. */
export async function endOwnProcess({ child, state }: OwnedProcess): Promise<void> {
  const runs = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  await endAll(state, runs);
  if (hasGroupOnly(state)) end(-state.pid);
  ours.delete(state.mark);
}

/** Ends the processes that earlier holders of this session left running on this host. Resolves when they have ended. */
export async function endOrphans(session: SessionView): Promise<void> {
  const left = leftOnHost<AgentProcessState>(session, 'agent-process').filter(
    ({ mark, pid }) => !ours.has(mark) && pid !== 0,
  );
  if (left.length === 0) return;
  const marked = processesByMark();
  for (const state of left) {
    if (isIt(state) || marked.has(state.mark)) await endAll(state, () => isIt(state));
    else removeScratch(state);
  }
}

const POLL_MS = 10;

async function endAll(state: AgentProcessState, runs: () => boolean): Promise<void> {
  for (;;) {
    const leads = runs();
    const marked = processesByMark().get(state.mark) ?? [];
    if (!leads && marked.length === 0) break;
    if (leads) end(-state.pid); // the group's number is its leader's own
    for (const pid of leads ? [state.pid, ...marked] : marked) end(pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  removeScratch(state);
}

/** Whether the process is there, certainly that one and not another that was given its number. */
function isIt(state: AgentProcessState): boolean {
  return state.startedAt !== 'unknown' && startTime(state.pid) === state.startedAt;
}

/** Whether its group outlived it, where marks cannot be read. Only asked as it ends: later its number may be another's. */
function hasGroupOnly(state: AgentProcessState): boolean {
  return !canReadMarks() && state.pid > 0 && !isThere(state.pid) && isThere(-state.pid);
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function canReadMarks(): boolean {
  return existsSync(`${PROC}/self/environ`);
}

/** Processes on this host that inherited a mark, where the host lists them (Linux). A zombie has already ended. */
function processesByMark(): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  let names: readonly string[];
  try {
    names = readdirSync(PROC);
  } catch {
    return found;
  }
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const mark = markOf(name);
    if (mark === undefined || startTime(Number(name)) === 'ended') continue;
    const pids = found.get(mark);
    if (pids) pids.push(Number(name));
    else found.set(mark, [Number(name)]);
  }
  return found;
}

function markOf(pid: string): string | undefined {
  try {
    const environment = readFileSync(`${PROC}/${pid}/environ`, 'latin1');
    return MARKED.exec(environment)?.[1];
  } catch {
    return undefined; // it ended, or it is another user's
  }
}

/** Directories of an agent's run: what the SDK copies for a resume, credentials among it, and our plugin for OpenCode. */
const SCRATCH = /^(?:claude-resume|holdfast-opencode)-[\w-]+$/;

function isInTemporary(path: string): boolean {
  return dirname(resolve(path)) === resolve(tmpdir()) && SCRATCH.test(basename(path));
}

/** The process that removes it may have another temporary directory than the process that recorded it. */
function removeScratch({ scratch }: AgentProcessState): void {
  if (scratch === undefined || !isAbsolute(scratch) || !SCRATCH.test(basename(scratch))) return;
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
}
