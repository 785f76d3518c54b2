import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type AdapterState, type AdapterStateType, defineAdapterState } from '../core/adapter-state.ts';
import type { SessionView } from '../core/session-view.ts';
import { isDead, startTime } from '../session/process-identity.ts';

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

/** Marks of the agents that this process runs itself: no orphans. */
const ours = new Set<string>();

/** An agent's process and how to end it. */
export interface OwnedProcess {
  readonly child: ChildProcess;
  readonly state: AgentProcessState;
  /** The last of what it wrote to its standard error. */
  readonly errors: () => string;
}

const KEPT_ERRORS = 4_000;

/** Starts a process in its own group, marked as ours. */
export function startAgentProcess(options: {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}): OwnedProcess {
  const mark = randomUUID();
  const child = spawn(options.command, options.args, {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: { ...options.env, [MARK]: mark },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  ours.add(mark);
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-KEPT_ERRORS);
  });
  const pid = child.pid ?? 0;
  return {
    child,
    state: { adapterType: 'agent-process', host: hostname(), pid, startedAt: startTime(pid) ?? 'unknown', mark },
    errors: () => errors.trim(),
  };
}

/** Ends the processes that earlier holders of this session left running on this host. Resolves when they are gone. */
export async function endOrphans(session: SessionView): Promise<number> {
  const states = session.state.record.adapterStates
    .toArray()
    .flatMap(({ state }) => (state.adapterType === 'agent-process' ? [state as AgentProcessState] : []));
  let ended = 0;
  for (const state of states) if (!ours.has(state.mark) && (await endAgentProcess(state))) ended++;
  return ended;
}

const POLL_MS = 10;

/** Ends a process, its group and everything that carries its mark. True when there was something to end. */
export async function endAgentProcess(state: AgentProcessState): Promise<boolean> {
  if (state.host !== hostname() || state.pid === 0) return false;
  const holder = { id: state.mark, host: state.host, pid: state.pid, startedAt: state.startedAt };
  const left = (): readonly number[] => [...(isDead(holder) ? [] : [state.pid]), ...markedProcesses(state.mark)];
  const found = left();
  for (let pids = found; pids.length > 0; pids = left()) {
    // The group's number is the process's own; another's group only if that process were dead and its number reused.
    if (pids[0] === state.pid) end(-state.pid);
    for (const pid of pids) end(pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  ours.delete(state.mark);
  return found.length > 0;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** Processes on this host that inherited the mark, where the host tells (Linux). A zombie has already ended. */
function markedProcesses(mark: string): readonly number[] {
  let names: readonly string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  const wanted = `${MARK}=${mark}`;
  return names
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(wanted);
      } catch {
        return false; // it ended, or it is another user's
      }
    })
    .map(Number)
    .filter((pid) => startTime(pid) !== 'ended');
}
