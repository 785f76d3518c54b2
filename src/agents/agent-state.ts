import { type ErrorCode, HoldfastError } from '../core/errors.ts';
import { type AdapterState, type AdapterStateType, defineAdapterState } from '../core/log/adapter-state.ts';
import { isRecord } from '../core/log/message-problem.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResumeValidation } from './stateful-adapter.ts';

/** States of agents: what every one of them has, how they are checked, and which may be resumed from. */

/** The fields that states of agents share: what validation looks at. */
export interface AgentState extends AdapterState {
  /** The agent's own name of the session. */
  readonly sessionId: string;
  readonly createdAt: string;
  readonly lastActivityAt: string;
  readonly workspacePath: string;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly promptHash: string;
  /** Messages that our log had of the evaluation. */
  readonly messageCount: number;
  /** The agent reported that it was done: there is nothing to resume. */
  readonly complete: boolean;
  /** What it has cost so far, as the agent estimates. */
  readonly costUsd?: number;
}

const TEXTS = [
  'sessionId',
  'createdAt',
  'lastActivityAt',
  'workspacePath',
  'promptNs',
  'promptKey',
  'promptHash',
] as const;

/** Defines the state of one kind of agent. Its fields are checked: every agent's state has those of `AgentState`. */
export function defineAgentState<T extends AgentState>(adapterType: T['adapterType']): AdapterStateType<T> {
  return defineCheckedState<T>(adapterType, problemOf, (state) => state.sessionId !== '' && !state.complete);
}

/** A kind of state that a function checks: it returns what is wrong. By default one that is never resumed from. */
export function defineCheckedState<T extends AdapterState>(
  adapterType: T['adapterType'],
  problem: (value: Readonly<Record<string, unknown>>) => string | undefined,
  resumable: (state: T) => boolean = () => false,
): AdapterStateType<T> {
  const validate = (value: unknown): { value: T } | { issues: { message: string }[] } => {
    const message = isRecord(value) ? problem(value) : 'it is not an object';
    return message === undefined ? { value: value as T } : { issues: [{ message }] };
  };
  const schema = { '~standard': { version: 1, vendor: 'holdfast', validate } } as const;
  return defineAdapterState<T>({ adapterType, schema, resumable });
}

function problemOf(fields: Readonly<Record<string, unknown>>): string | undefined {
  const missing = TEXTS.find((name) => typeof fields[name] !== 'string');
  if (missing) return `${missing} is not text`;
  if (Number.isNaN(Date.parse(String(fields.lastActivityAt)))) return 'lastActivityAt is not a time';
  if (!Number.isSafeInteger(fields.messageCount)) return 'messageCount is not a count';
  return typeof fields.complete === 'boolean' ? undefined : 'complete is neither true nor false';
}

/** What a state is compared with. */
export interface ResumeSurroundings {
  readonly workspacePath: string;
  readonly prompt: { readonly ns: string; readonly key: string; readonly hash: string };
  readonly clock: Clock;
  readonly maxAge: number;
  readonly validation: ResumeValidation;
}

/** A day: the default `maxAge` of strict validation. */
export const DEFAULT_MAX_AGE: number = 24 * 60 * 60 * 1000;

/** Throws when a state may not be resumed from here and now. */
export function validateState(state: AgentState, around: ResumeSurroundings): void {
  const { validation, workspacePath, prompt, clock, maxAge } = around;
  if (validation === 'none') return;
  const { sessionId, lastActivityAt } = state;
  const [theirs, ours] = [state, { promptNs: prompt.ns, promptKey: prompt.key }].map(
    ({ promptNs, promptKey }) => `${promptNs}/${promptKey}`,
  );
  const refuse = (code: ErrorCode, why: string): never => {
    const advice =
      "create the adapter with onInvalid: 'restart' to begin again (settle open calls first: the agent may make them again)";
    throw new HoldfastError(code, `agent session ${sessionId || '""'} ${why}, or ${advice}`);
  };
  if (state.complete || sessionId === '') {
    refuse('ADAPTER_STATE_INVALID', 'is complete: there is nothing to resume; continue it with a new evaluation');
  }
  if (validation === 'relaxed') return;
  if (state.workspacePath !== workspacePath) {
    const advice = "use resumeValidation: 'relaxed' if the files are the same";
    refuse('ADAPTER_STATE_INVALID', `worked in ${state.workspacePath}, not in ${workspacePath}; ${advice}`);
  }
  if (theirs !== ours) refuse('PROMPT_MISMATCH', `was started by ${theirs}, not ${ours}; resume it with ${theirs}`);
  if (state.promptHash !== prompt.hash) {
    const advice = "use resumeValidation: 'relaxed' to continue with the changed prompt";
    refuse('PROMPT_MISMATCH', `was started by another version of ${theirs}; ${advice}`);
  }
  if (clock.now() - Date.parse(lastActivityAt) >= maxAge) {
    refuse('SESSION_EXPIRED', `was last active at ${lastActivityAt}; raise maxAge to resume it`);
  }
}
