import type {
  EvaluationSuspended,
  ToolApprovalRequested,
  ToolApproved,
  ToolDeferred,
  ToolDenied,
  ToolSettled,
} from '../log/events.ts';
import type { CallRef } from '../log/messages.ts';
import { type CallState, hasResult } from './evaluations.ts';

/**
 * How a person's decision changes a call. The first decision wins: a second one, or one after the call was started, changes nothing
 * (D67). Appends are guarded in the same way; a log written before that may hold both decisions.
 */

/** The call waits for approval. An approval whose edited arguments are invalid is revoked. */
export function requested(call: CallState, { at, expiresAt, problem }: ToolApprovalRequested): CallState {
  if (call.status !== 'pending') return call;
  const isReturned = problem !== undefined && call.approval === 'approved';
  if (call.approvalRequest && !isReturned) return call;
  const { approval, decision, editedArguments, edited, ...undecided } = call;
  return {
    ...(isReturned ? undecided : call),
    approvalRequest: { at, ...(expiresAt !== undefined && { expiresAt }), ...(problem !== undefined && { problem }) },
  };
}

/** Calls listed by a suspension wait for a person: those that were not started wait for approval. */
export function requestedBySuspension(call: CallState, { at }: EvaluationSuspended): CallState {
  return call.status === 'pending' && !call.approvalRequest ? { ...call, approvalRequest: { at } } : call;
}

export function approved(call: CallState, event: ToolApproved): CallState {
  if (!isUndecided(call) || isOfOtherAttempt(call, event)) return call;
  const { arguments: written, edited, note } = event;
  return {
    ...call,
    approval: 'approved',
    decision: { ...decisionOf(event), ...(note !== undefined && { note }) },
    ...(written !== undefined && { editedArguments: JSON.stringify(written) }),
    ...(written === undefined && edited && { edited }),
  };
}

export function denied(call: CallState, event: ToolDenied): CallState {
  if (!isUndecided(call) || isOfOtherAttempt(call, event)) return call;
  const { reason } = event;
  return {
    ...call,
    approval: 'denied',
    decision: decisionOf(event),
    ...(reason !== undefined && { deniedBecause: reason }),
  };
}

/** A settlement without an attempt, as older versions recorded it, applies to the attempt at its position. */
export function settled(call: CallState, event: ToolSettled): CallState {
  if (hasResult(call) || isOfOtherAttempt(call, event)) return call;
  if (call.settlement && 'result' in call.settlement) return call;
  return { ...call, settlement: event.how };
}

/** The handler returned `suspendUntil`: the call is started, and no process runs it until then (D78). */
export function deferred(call: CallState, { attempt, effect, until, outcome }: ToolDeferred): CallState {
  if (hasResult(call)) return call;
  return { ...call, status: 'started', attempt, effect, deferred: { until, ...(outcome && { outcome }) } };
}

function isUndecided(call: CallState): boolean {
  return call.status === 'pending' && call.approval === undefined;
}

function isOfOtherAttempt(call: CallState, { attempt }: CallRef): boolean {
  return attempt !== undefined && attempt !== call.attempt;
}

function decisionOf({ at, by }: ToolApproved | ToolDenied): NonNullable<CallState['decision']> {
  return { at, ...(by !== undefined && { by }) };
}
