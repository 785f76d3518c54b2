import { type CallState, type Evaluation, isOpen, latestEvaluation, openCalls } from '../fold/evaluations.ts';
import { createFold } from '../fold/fold.ts';
import type { SessionRecord } from '../fold/record.ts';
import type { SessionEvent } from '../log/events.ts';

/**
 * What is left to do for an evaluation, derived from the log alone. `loop/` carries it out; nothing else decides.
 *
 *     newest message            state in the log                   the plan
 *     system, user              —                                  request a response
 *     assistant without calls   —                                  finish (check the response)
 *     assistant with calls      a call has no result               run the calls, each by its own events
 *     the last result           every call has one                 request a response
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
 * `run`: it was not started; `rerun`: it was started and may be repeated; `reconcile`: it was started and its outcome is unknown;
 * `settle`: a person gave its result; `deny`: a person denied it; `defer`: it waits for a time, and may be due.
 */
export interface PlannedCall {
  readonly action: 'run' | 'rerun' | 'reconcile' | 'settle' | 'deny' | 'defer';
  readonly call: CallState;
}

/**
 * Plans the resumption of one evaluation: by default the newest of the main conversation. A child conversation is resumed by the
 * call that started it. Pure.
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

/** The same for a given evaluation. Costs the calls of its newest turn, however long it is. */
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
  if (call.approval === 'denied' && call.status === 'pending') return { action: 'deny', call }; // a start overrides a denial (D67)
  if (call.status === 'pending') return { action: 'run', call };
  if (call.settlement) return { action: 'rerun', call };
  if (call.deferred) return { action: 'defer', call };
  // An unknown effect is treated as `once`, the most careful one (D18).
  return { action: call.effect === 'read' || call.effect === 'idempotent' ? 'rerun' : 'reconcile', call };
}

function foldAll(log: Iterable<SessionEvent>): { readonly record: SessionRecord } {
  const fold = createFold();
  return fold.applyAll(fold.initial, [...log]);
}
