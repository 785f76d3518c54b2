import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, dirname } from 'node:path';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type AdapterState, type AdapterStateType, defineAdapterState } from '../core/adapter-state.ts';
import { HoldfastError } from '../core/errors.ts';
import type { SessionView } from '../core/session-view.ts';
import { isThere, PROC, startTime } from '../session/process-identity.ts';

/**
 * The agent's process belongs to us: it runs in a group of its own and carries a mark in its environment that whatever it starts
 * inherits. Its identity is captured before it can act. If our process dies, its successor ends the group and everything that
 * carries the mark, and only then goes on: an orphan would finish its tool and ask the model again beside it.
 */
export interface AgentProcessState extends AdapterState {
  readonly adapterType: 'agent-process';
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly mark: string;
  /** Whose it is: a fork of that session is told of it, and must leave it alone. */
  readonly sessionId?: string;
  /** A temporary directory that is only of use to this process. */
  readonly scratch?: string;
}

const anyObject: StandardSchemaV1<unknown, AgentProcessState> = {
  '~standard': {
    version: 1,
    vendor: 'holdfast',
    validate: (value) =>
      typeof (value as AgentProcessState | undefined)?.pid === 'number'
        ? { value: value as AgentProcessState }
        : { issues: [{ message: 'pid is not a number' }] },
  },
};

/** The kind of adapter state that names a process. Never resumed from: it is only ended. */
export const agentProcessState: AdapterStateType<AgentProcessState> = defineAdapterState<AgentProcessState>({
  adapterType: 'agent-process',
  schema: anyObject,
  resumable: () => false,
});

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
      ...(isScratch(scratch) && { scratch }),
    },
    errors: () => errors.trim(),
    exited,
  };
}

/** Why a process could not be started. The system names the program also when it is its directory that is missing. */
function startFailure(error: NodeJS.ErrnoException, command: string, cwd: string | undefined): Error {
  if (error.code !== 'ENOENT') return error;
  if (cwd !== undefined && !existsSync(cwd)) {
    return new HoldfastError('INVALID_ARGUMENT', `the directory ${cwd} is not there; give another \`cwd\``, {
      cause: error,
    });
  }
  const what = `the program "${command}" is not there; install it, or say where it is`;
  return new HoldfastError('DEPENDENCY_MISSING', what, { cause: error });
}

/** Ends a process that this one has started, its group, everything that carries its mark, and what it left. */
export async function endOwnProcess({ child, state }: OwnedProcess): Promise<void> {
  const runs = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  await endAll(state, runs);
  if (hasGroupOnly(state)) end(-state.pid);
  ours.delete(state.mark);
}

/** Ends the processes that earlier holders of this session left running on this host. Resolves when they are gone. */
export async function endOrphans(session: SessionView): Promise<void> {
  const { adapterStates, evaluations } = session.state.record;
  const host = hostname();
  /** The newest process of each evaluation on this host, and where its newest of all is. */
  const here = new Map<string, AgentProcessState>();
  const newestHost = new Map<string, string>();
  for (const { evaluationId, state: captured } of adapterStates) {
    if (captured.adapterType !== 'agent-process') continue;
    const state = captured as AgentProcessState;
    newestHost.set(evaluationId, state.host);
    if (state.host === host) here.set(evaluationId, state);
  }
  const left = [...here].flatMap(([evaluationId, state]) => {
    const status = evaluations.get(evaluationId)?.status;
    // An evaluation ends after its process: that of the host where it ended.
    const isOver = (status === 'completed' || status === 'failed') && newestHost.get(evaluationId) === host;
    const isOthers = state.sessionId !== undefined && state.sessionId !== session.id;
    return isOver || isOthers || ours.has(state.mark) || state.pid === 0 ? [] : [state];
  });
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

/** Processes on this host that inherited a mark, where the host tells (Linux). A zombie has already ended. */
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

function isScratch(path: string | undefined): path is string {
  return path !== undefined && dirname(path) === tmpdir() && SCRATCH.test(basename(path));
}

function removeScratch({ scratch }: AgentProcessState): void {
  if (isScratch(scratch)) rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
}
