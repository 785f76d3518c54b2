import type {
  BuiltInEvent,
  EvaluationCancelRequested,
  EvaluationResumed,
  EvaluationResumeRequested,
} from '../log/events.ts';
import { type CallState, type Evaluation, type RaisedLimits, statusAfter } from './evaluations.ts';

/** How requests to cancel and to resume, and the resume itself, change an evaluation. Pure. */

/** An evaluation with its status after an event, and without what described the suspension before it. */
export function withStatusAfter(evaluation: Evaluation, event: BuiltInEvent): Evaluation {
  const status = statusAfter(evaluation.status, event);
  if (evaluation.status !== 'suspended') return status === evaluation.status ? evaluation : { ...evaluation, status };
  const { reason: _, suspendedSeq: __, resumeRequest: ___, until: ____, suspension: _____, ...rest } = evaluation;
  return { ...rest, status };
}

/** A resume overrules the requests to cancel that its process had read; a later one still applies (D73). */
export function resume(evaluation: Evaluation, event: EvaluationResumed): Evaluation {
  const { attempt, after, seq } = event;
  const resumed = { ...withStatusAfter(evaluation, event), attempt };
  const { cancelRequest, ...rest } = resumed;
  return cancelRequest && cancelRequest.seq <= (after ?? seq) ? rest : resumed;
}

/** A suspended evaluation has nothing to stop: it is cancelled at once, and an earlier request to resume it is void. */
export function requestCancel(evaluation: Evaluation, event: EvaluationCancelRequested): Evaluation {
  const { seq, at, by, reason } = event;
  const cancelRequest = { seq, at, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const { resumeRequest: _, until: __, suspension: ___, ...rest } = evaluation;
  const requested: Evaluation = { ...rest, cancelRequest };
  return evaluation.status === 'suspended' ? { ...requested, reason: 'CANCELLED' } : requested;
}

/** Calls that wait for a time do not wait any longer: a person wants them to continue now (D78). */
export function withoutTimers(evaluation: Evaluation, now: string): Evaluation {
  if (!evaluation.calls.some(({ deferred }) => deferred && Date.parse(deferred.until) > Date.parse(now)))
    return evaluation;
  const due = (call: CallState): CallState =>
    call.deferred ? { ...call, deferred: { ...call.deferred, until: now } } : call;
  return { ...evaluation, calls: evaluation.calls.map(due) };
}

/** A request raises the limits that it names; limits raised by earlier requests stay raised. A running evaluation needs no resume. */
export function requestResume(evaluation: Evaluation, event: EvaluationResumeRequested): Evaluation {
  const { seq, by, budget, maxTurns } = event;
  const { raised: before } = evaluation;
  const raised: RaisedLimits = {
    ...before,
    ...(budget && { budget: { ...before?.budget, ...budget } }),
    ...(maxTurns !== undefined && { maxTurns }),
  };
  return {
    ...withoutTimers(evaluation, event.at),
    ...(evaluation.status === 'suspended' && { resumeRequest: { seq, ...(by !== undefined && { by }) } }),
    ...(Object.keys(raised).length > 0 && { raised }),
  };
}
