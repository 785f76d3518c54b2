import { type CallState, type Evaluation, isOpen, latestEvaluation, openCalls } from './evaluations.ts';
import type { SessionEvent } from './events.ts';
import { createFold } from './fold.ts';
import type { SessionRecord } from './record.ts';

/**
 * What is left to do for an evaluation, told by the log alone (D54). `loop/` carries it out; nothing else decides.
 *
 *     newest message            what the log says of it            the plan
 *     system, user              —                                  ask the model
 *     assistant without calls   —                                  finish (check the answer)
 *     assistant with calls      a call has no result               run the calls, each as its own trace demands
 *     the last result           every call has one                 ask the model
 */
export type ResumePlan =
  | { readonly do: 'nothing'; readonly evaluation?: Evaluation }
  | { readonly do: 'call-model'; readonly evaluation: Evaluation; readonly turn: number }
  | {
      readonly do: 'run-calls';
      readonly evaluation: Evaluation;
      readonly turn: number;
      readonly calls: readonly PlannedCall[];
    }
  | { readonly do: 'finish'; readonly evaluation: Evaluation; readonly turn: number };

/**
 * What to do with a call that has no result:
 * `run` it, it never began; `rerun` it, it began and may be repeated; `reconcile`, it began and may have happened (D18);
 * `settle`, a person said what came of it; `deny`, a person refused it.
 */
export interface PlannedCall {
  readonly action: 'run' | 'rerun' | 'reconcile' | 'settle' | 'deny';
  readonly call: CallState;
}

/**
 * Plans the resumption of one evaluation: unless one is named, the newest of the main conversation. A child conversation is
 * resumed by the call that asked for it (D52). Pure.
 */
export function planResume(
  log: Iterable<SessionEvent> | { readonly state: { readonly record: SessionRecord } },
  evaluationId?: string,
): ResumePlan {
  const { record } = 'state' in log ? log.state : foldAll(log);
  const evaluation =
    evaluationId === undefined ? latestEvaluation(record.evaluations.items) : record.evaluations.get(evaluationId);
  return evaluation ? planEvaluation(evaluation) : { do: 'nothing' };
}

/** The same for an evaluation that is at hand. Costs the calls of its newest turn, however long it is. */
export function planEvaluation(evaluation: Evaluation): ResumePlan {
  if (!isOpen(evaluation)) return { do: 'nothing', evaluation };
  const { turn } = evaluation;
  const open = openCalls(evaluation);
  if (open.length > 0) return { do: 'run-calls', evaluation, turn, calls: open.map(planCall) };
  const newest = evaluation.messages.at(-1);
  if (newest?.role === 'assistant' && evaluation.calls.length === 0) return { do: 'finish', evaluation, turn };
  return { do: 'call-model', evaluation, turn: turn + 1 };
}

/** What to do with a call that has no result. */
export function planCall(call: CallState): PlannedCall {
  if (call.settlement && !('rerun' in call.settlement)) return { action: 'settle', call };
  if (call.approval === 'denied' && call.status === 'pending') return { action: 'deny', call }; // a start beats it (D67)
  if (call.status === 'pending') return { action: 'run', call };
  if (call.settlement) return { action: 'rerun', call };
  // An effect that is not known here is taken for the most careful one (D18).
  return { action: call.effect === 'read' || call.effect === 'idempotent' ? 'rerun' : 'reconcile', call };
}

function foldAll(log: Iterable<SessionEvent>): { readonly record: SessionRecord } {
  const fold = createFold();
  return fold.applyAll(fold.initial, [...log]);
}
