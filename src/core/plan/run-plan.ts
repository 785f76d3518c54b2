import { type Evaluation, latestEvaluation } from '../fold/evaluations.ts';
import type { SessionState } from '../fold/fold.ts';
import { firstQueued, newestQueued, type QueuedItem, queuedAfter, type SessionInput } from '../fold/session-inputs.ts';
import type { KeyedList } from '../keyed-list.ts';
import { agentName } from '../log/agent-name.ts';
import type { SuspendReason } from '../log/events.ts';

/**
 * What is left to do in a session, derived from the log alone (D61). `loop/evaluate/run-session.ts` carries it out.
 *
 *     newest evaluation                            queued inputs             the step
 *     running                                      —                         resume it
 *     suspended, a person decided or requests it   —                         resume it
 *     suspended, waits for a person or a time      —                         wait
 *     suspended, that time has come (D78)          —                         resume it
 *     suspended, cancelled                         one sent after that       begin with the first; it supersedes
 *     suspended, cancelled                         none sent after that      wait
 *     suspended for another reason                 —                         resume it, once
 *     failed                                       —                         wait, until it is abandoned
 *     none, completed, superseded                  some                      begin with the first
 *     none, completed, superseded                  none                      idle
 */
export type RunStep =
  | { readonly do: 'resume'; readonly evaluation: Evaluation }
  | {
      readonly do: 'begin';
      readonly input: QueuedItem;
      /** The evaluation that the new one continues. */
      readonly continues?: string;
      /** The cancelled evaluation that this one supersedes. */
      readonly supersedes?: Evaluation;
    }
  | { readonly do: 'wait'; readonly evaluation: Evaluation }
  | { readonly do: 'idle' };

export interface RunPlanOptions {
  /** Milliseconds since the epoch: an approval may have expired. */
  readonly now: number;
  /** Resume a cancelled evaluation instead of superseding it. */
  readonly resumeCancelled?: boolean;
  /** Evaluations that this run has already resumed: they are not resumed again without a reason. */
  readonly tried: ReadonlySet<string>;
}

/** Plans the next step of a run. Pure. */
export function planRun(state: SessionState, options: RunPlanOptions): RunStep {
  const { evaluations, inbox } = state.record;
  const newest = newestRunnable(evaluations);
  const first = firstQueued(inbox);
  if (newest?.status === 'running') return { do: 'resume', evaluation: newest };
  if (newest?.status === 'failed') return { do: 'wait', evaluation: newest };
  if (newest?.status === 'suspended') {
    if (shouldResume(newest, state, options)) return { do: 'resume', evaluation: newest };
    const isStopped = newest.reason === 'CANCELLED' && !options.resumeCancelled;
    const sentSince = isStopped && (newestQueued(inbox)?.seq ?? 0) > stoppedAt(newest);
    if (!first || !sentSince) return { do: 'wait', evaluation: newest };
    return { do: 'begin', input: first, continues: newest.id, supersedes: newest };
  }
  if (!first) return { do: 'idle' };
  const continues = conversationEnd(evaluations);
  return { do: 'begin', input: first, ...(continues !== undefined && { continues }) };
}

/** The reasons of calls that wait. An evaluation that is suspended for another reason is resumed once by each `run`. */
export const CALL_REASONS: ReadonlySet<SuspendReason> = new Set([
  'APPROVAL_REQUIRED',
  'TOOL_OUTCOME_UNKNOWN',
  'TIMER_PENDING',
]);

function shouldResume(evaluation: Evaluation, { summary }: SessionState, options: RunPlanOptions): boolean {
  const { id, reason, resumeRequest, until } = evaluation;
  const { work, wakeAt } = summary?.suspended ?? summary ?? {};
  if (resumeRequest) return true;
  if (reason === 'CANCELLED') return options.resumeCancelled === true && !options.tried.has(id);
  if (until !== undefined && Date.parse(until) <= options.now) return true;
  const isWaiting = reason !== undefined && (until !== undefined || CALL_REASONS.has(reason));
  if (!isWaiting) return !options.tried.has(id);
  if (work === 'decision') return true;
  return wakeAt !== undefined && Date.parse(wakeAt) <= options.now && !options.tried.has(id);
}

/** The position at which an evaluation was cancelled: by a request, or by a signal that suspended it. */
function stoppedAt({ cancelRequest, suspendedSeq = 0 }: Evaluation): number {
  return cancelRequest?.seq ?? suspendedSeq;
}

/** Why a queued input waits; undefined when a runner would place it. */
export function inputObstacle(
  state: SessionState,
  input: SessionInput,
): SuspendReason | 'EVALUATION_FAILED' | undefined {
  const newest = newestRunnable(state.record.evaluations);
  if (newest?.status === 'failed') return 'EVALUATION_FAILED';
  if (newest?.status !== 'suspended') return undefined;
  return newest.reason === 'CANCELLED' && input.seq > stoppedAt(newest) ? undefined : newest.reason;
}

/** The newest evaluation of the main conversation that was started. Imported messages belong to evaluations that cannot run. */
export function newestRunnable(evaluations: KeyedList<Evaluation>): Evaluation | undefined {
  for (let i = evaluations.length - 1; i >= 0; i--) {
    const evaluation = evaluations.items.at(i);
    if (evaluation?.conversationId === 'main' && evaluation.promptHash !== '') return evaluation;
  }
  return undefined;
}

/** The evaluation that the next one continues: the newest, or the one that the abandoned ones after it continued (D61). */
function conversationEnd(evaluations: KeyedList<Evaluation>): string | undefined {
  let end = latestEvaluation(evaluations.items);
  while (end && isAbandoned(end)) {
    const before: Evaluation | undefined = end.continues === undefined ? undefined : evaluations.get(end.continues);
    end = before && before.startedSeq < end.startedSeq ? before : undefined;
  }
  return end?.id;
}

function isAbandoned({ status, supersededBy }: Evaluation): boolean {
  return status === 'superseded' && supersededBy === undefined;
}

/** The inputs that join a running evaluation before its next request: steers for its agent that were sent since it started. */
export function steersFor({ record: { inbox } }: SessionState, evaluation: Evaluation): readonly QueuedItem[] {
  if (inbox.queued === 0 || evaluation.parent || evaluation.conversationId !== 'main') return [];
  const own = agentName({ ns: evaluation.promptNs, key: evaluation.promptKey });
  return queuedAfter(inbox, evaluation.startedSeq).filter(({ mode, agent = own }) => mode === 'steer' && agent === own);
}
