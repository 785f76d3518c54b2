import { HoldfastError } from '../../core/errors.ts';
import {
  type CallState,
  type Evaluation,
  endedEvaluation,
  findCall,
  hasResult,
  openChildren,
} from '../../core/fold/evaluations.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { type CallRef, type ConversationMessage, callKey, callsOf } from '../../core/log/messages.ts';
import { isoTime } from '../append/iso-time.ts';
import { isSequenceTaken } from '../append/message-sequences.ts';
import type { AnySession } from '../session.ts';
import { closingResults } from './close-calls.ts';

/**
 * Closes the calls of a message that is about to be erased, so that none runs without its arguments: those that were not started
 * are closed as failed. A call that may be running, or may have happened, refuses the erasure with `CALL_OPEN`.
 */
export async function closeErasedCalls(session: AnySession, message: ConversationMessage): Promise<void> {
  const refs = callsOf(message).map(({ callId }) => ({
    evaluationId: message.evaluationId,
    turn: message.turn,
    callId,
  }));
  if (refs.length === 0) return;
  await session.refresh();
  for (;;) {
    const calls = callsToClose(session.state, refs);
    const evaluation = session.state.record.evaluations.get(message.evaluationId);
    if (!evaluation || calls.length === 0) return;
    try {
      const text = 'This call never ran: the message that asked for it was erased.';
      const results = closingResults(evaluation, calls, { closing: text, at: isoTime(session.clock) });
      await session.append(results, {
        endsDrafts: calls.map(callKey), // what a running one has reported goes, too
        guard: (state) => {
          if (callsToClose(state, refs).length !== calls.length) throw new Overtaken();
        },
      });
      return;
    } catch (error) {
      if (!(error instanceof Overtaken) && !isSequenceTaken(error)) throw error; // else: another try, by the newer log
    }
  }
}

/** A call has its result meanwhile. */
class Overtaken extends Error {}

/** The calls without a result that were not started, nor settled with a result that a resume will record. */
function callsToClose({ record: { evaluations } }: SessionState, refs: readonly CallRef[]): readonly CallState[] {
  const open: CallState[] = [];
  for (const ref of refs) {
    const evaluation = evaluations.get(ref.evaluationId);
    const call = findCall(evaluations, ref);
    if (!evaluation || !call || hasResult(call) || endedEvaluation(evaluations, ref.evaluationId)) continue;
    if (call.settlement && 'result' in call.settlement) continue;
    if (call.status === 'started' || openChildren(evaluations.items, call, evaluation.startedSeq).length > 0) {
      throw callOpen(evaluation, call);
    }
    open.push(call);
  }
  return open;
}

function callOpen({ id }: Evaluation, { callId, name }: CallState): HoldfastError {
  return new HoldfastError(
    'CALL_OPEN',
    `call ${callId} of "${name}" in evaluation ${id} was started and has no result: it may be running, and would run again without its arguments; wait for its result, or settle it with { result }, and erase the message then`,
    { data: { evaluationId: id, callId } },
  );
}
