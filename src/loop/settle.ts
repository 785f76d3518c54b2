import { isDeepStrictEqual } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import { type CallState, isOpen } from '../core/evaluations.ts';
import type { Settlement } from '../core/events.ts';
import type { CallRef } from '../core/messages.ts';
import type { AnySession } from '../session/session.ts';

/** A person's word on a call that waits. Each is one event, needs no lease, and is carried out by the next resume (D51). */

/** Says what came of a call whose outcome is unknown, or allows it to run again (D18). */
export async function settleToolCall(session: AnySession, call: CallRef, how: Settlement): Promise<void> {
  if (!('result' in how) && how.rerun !== true) {
    throw new HoldfastError('INVALID_ARGUMENT', 'settle a call with { result } or { rerun: true }');
  }
  const { settlement } = await openCall(session, call);
  if (settlement && isDeepStrictEqual(settlement, how)) return;
  if (settlement && !('rerun' in settlement)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `call ${call.callId} was settled with another result already; resume to record it`,
    );
  }
  await session.append([{ type: 'tool/settled', ...ref(call), how }]);
}

/** Lets a call that needs approval run. */
export async function approveToolCall(session: AnySession, call: CallRef): Promise<void> {
  const state = await openCall(session, call);
  if (state.approval === 'denied')
    throw new HoldfastError('INVALID_ARGUMENT', `call ${call.callId} was denied already`);
  if (state.approval !== 'approved') await session.append([{ type: 'tool/approved', ...ref(call) }]);
}

/** Refuses a call that needs approval; the model is told why. */
export async function denyToolCall(session: AnySession, call: CallRef, reason?: string): Promise<void> {
  const state = await openCall(session, call);
  if (state.status === 'started')
    throw new HoldfastError('INVALID_ARGUMENT', `call ${call.callId} was started already; settle it instead`);
  if (state.approval === 'approved')
    throw new HoldfastError('INVALID_ARGUMENT', `call ${call.callId} was approved already`);
  if (state.approval !== 'denied')
    await session.append([{ type: 'tool/denied', ...ref(call), ...(reason !== undefined && { reason }) }]);
}

/** The call, if it still waits; who settles it may be late, or wrong. */
async function openCall(session: AnySession, call: CallRef): Promise<CallState> {
  await session.refresh();
  const evaluation = session.state.record.evaluations.get(call.evaluationId);
  if (evaluation && !isOpen(evaluation)) {
    throw new HoldfastError(
      'TOOL_CALL_NOT_FOUND',
      `evaluation ${evaluation.id} is ${evaluation.status}; nothing is left to settle`,
    );
  }
  const state = evaluation?.calls.find((one) => one.callId === call.callId && one.turn === call.turn);
  if (!state) {
    throw new HoldfastError(
      'TOOL_CALL_NOT_FOUND',
      `session ${session.id} has no open call ${call.callId} in turn ${call.turn} of evaluation ${call.evaluationId}; list them with getPendingToolCalls`,
    );
  }
  if (state.status === 'completed' || state.status === 'failed') {
    throw new HoldfastError(
      'TOOL_CALL_NOT_FOUND',
      `call ${call.callId} has its result already; nothing is left to settle`,
    );
  }
  return state;
}

function ref({ evaluationId, turn, callId }: CallRef): CallRef {
  return { evaluationId, turn, callId };
}
