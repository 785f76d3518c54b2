import { HoldfastError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { AgentState, ResumeValidation } from './stateful-adapter.ts';

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

/** Throws when a state may not be resumed from here and now (D29). */
export function validateState(state: AgentState, around: ResumeSurroundings): void {
  const { validation, workspacePath, prompt, clock, maxAge } = around;
  if (validation === 'none') return;
  const advice =
    "create the adapter with onInvalid: 'restart' to begin again (settle open calls first: the agent may make them again)";
  if (state.complete || state.sessionId === '') {
    throw new HoldfastError(
      'ADAPTER_STATE_INVALID',
      `agent session "${state.sessionId}" is complete: there is nothing to resume; continue it with a new evaluation, or ${advice}`,
    );
  }
  if (validation === 'relaxed') return;
  if (state.workspacePath !== workspacePath) {
    throw new HoldfastError(
      'ADAPTER_STATE_INVALID',
      `agent session ${state.sessionId} worked in ${state.workspacePath}, not in ${workspacePath}; use resumeValidation: 'relaxed' if the files are the same, or ${advice}`,
    );
  }
  if (state.promptNs !== prompt.ns || state.promptKey !== prompt.key) {
    throw new HoldfastError(
      'PROMPT_MISMATCH',
      `agent session ${state.sessionId} was started by ${state.promptNs}/${state.promptKey}, not ${prompt.ns}/${prompt.key}; resume it with ${state.promptNs}/${state.promptKey}, or ${advice}`,
    );
  }
  if (state.promptHash !== prompt.hash) {
    throw new HoldfastError(
      'PROMPT_MISMATCH',
      `agent session ${state.sessionId} was started by another version of ${state.promptNs}/${state.promptKey}; use resumeValidation: 'relaxed' to continue with the changed prompt, or ${advice}`,
    );
  }
  const age = clock.now() - Date.parse(state.lastActivityAt);
  if (age >= maxAge) {
    throw new HoldfastError(
      'SESSION_EXPIRED',
      `agent session ${state.sessionId} was last active at ${state.lastActivityAt}; raise maxAge to resume it, or ${advice}`,
    );
  }
}
