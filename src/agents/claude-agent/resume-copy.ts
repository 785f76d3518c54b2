import { existsSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AdapterStateType } from '../../core/log/adapter-state.ts';
import type { SessionView } from '../../core/views/session-view.ts';
import type { Run } from '../../loop/evaluate/run.ts';
import { type HostState, leftOnHost } from '../agent-process.ts';
import { defineCheckedState } from '../agent-state.ts';
import { recordState } from '../capture-state.ts';

/**
 * Before a resume the SDK copies the session and the credentials to `<TMPDIR>/claude-resume-<random>`; no process learns the random
 * part if the host dies before the agent starts. The copy holds the transcript under the id of the agent's session, so the log
 * names that id first: the next resume recognises the copy by it.
 *
 *     announced in the log ─▶ the SDK copies ─▶ the agent runs ─▶ removed by its run, or by the next resume on this host
 */
export interface ResumeCopyState extends HostState {
  readonly adapterType: 'claude-resume-copy';
  /** The temporary directory of the process that resumes: that of its successor may be another. */
  readonly directory: string;
  /** The agent's session that is copied. */
  readonly copyId: string;
}

const TYPE = 'claude-resume-copy';
/** Part of a file's name, so nothing that leads elsewhere. */
const COPY_ID = /^[\w-]+$/;

/** The kind of adapter state that names a copy. Never resumed from: the copy is only removed. */
export const resumeCopyState: AdapterStateType<ResumeCopyState> = defineCheckedState<ResumeCopyState>(
  TYPE,
  ({ directory, copyId }) =>
    typeof directory === 'string' && typeof copyId === 'string' && COPY_ID.test(copyId)
      ? undefined
      : 'it names no directory or no copy',
);

/** Sessions that agents of this process run on: their copies are in use. */
const inUse = new Set<string>();

/** Records that the SDK is about to copy a session. Returns what removes the copy when the run has ended. */
export async function announceCopy(run: Run, copyId: string): Promise<() => void> {
  const { id: sessionId } = run.session;
  const directory = resolve(tmpdir());
  const state: ResumeCopyState = { adapterType: TYPE, host: hostname(), directory, copyId, sessionId };
  inUse.add(copyId);
  try {
    await recordState(run, resumeCopyState, state);
  } catch (error) {
    inUse.delete(copyId);
    throw error;
  }
  return () => {
    removeCopies(state);
    inUse.delete(copyId);
  };
}

/** Removes the copies that earlier holders of this session left on this host. */
export function removeLeftCopies(session: SessionView): void {
  for (const state of leftOnHost<ResumeCopyState>(session, TYPE)) {
    if (!inUse.has(state.copyId)) removeCopies(state);
  }
}

const COPY = /^claude-resume-[\w-]+$/;

function removeCopies({ directory, copyId }: ResumeCopyState): void {
  if (!COPY_ID.test(copyId)) return;
  for (const place of new Set([directory, resolve(tmpdir())])) {
    for (const name of namesIn(place)) {
      const copy = join(place, name);
      const isOne = COPY.test(name) && holds(copy, copyId);
      if (isOne) rmSync(copy, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

/** Whether it is the copy of that session: another one may be in use. */
function holds(copy: string, copyId: string): boolean {
  const projects = join(copy, 'projects');
  return namesIn(projects).some((project) => existsSync(join(projects, project, `${copyId}.jsonl`)));
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // it does not exist, or is no directory
  }
}
