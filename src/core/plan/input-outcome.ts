import type { Evaluation } from '../fold/evaluations.ts';
import type { SessionState } from '../fold/fold.ts';
import type { SessionInput } from '../fold/session-inputs.ts';
import { agentName } from '../log/agent-name.ts';
import { newestRunnable, type RunStep } from './run-plan.ts';

/** What became of an input, and of the evaluation that it began or joined. */
export interface InputOutcome {
  readonly input: SessionInput;
  readonly evaluation?: Evaluation;
  /** No runner would change it now: the evaluation has ended, or waits for a person or a time. `step` is what a runner would do next. */
  readonly isFinal: boolean;
}

/** The outcome of an input, from the log alone. Pure. */
export function inputOutcome({ record }: SessionState, inputId: string, step: RunStep): InputOutcome | undefined {
  const input = record.inbox.items.get(inputId);
  if (!input) return undefined;
  const evaluation = input.placed && record.evaluations.get(input.placed.evaluationId);
  if (!evaluation) return { input, isFinal: input.status !== 'queued' };
  const isResumed = step.do === 'resume' && step.evaluation.id === evaluation.id;
  return { input, evaluation, isFinal: evaluation.status !== 'running' && !isResumed };
}

/**
 * The agent that does the next step: the evaluation's own; for an input the one that it names, or else that of the newest evaluation;
 * `undefined` when every agent may do it.
 */
export function agentOfStep({ record }: SessionState, step: RunStep): string | undefined {
  if (step.do === 'begin' && step.input.agent !== undefined) return step.input.agent;
  const evaluation = step.do === 'resume' || step.do === 'wait' ? step.evaluation : newestRunnable(record.evaluations);
  return evaluation && agentName({ ns: evaluation.promptNs, key: evaluation.promptKey });
}
