import { HoldfastError } from '../../core/errors.ts';
import { editedKey, exactKey } from '../../core/fold/call-arguments.ts';
import { type CallState, findCall, hasResult } from '../../core/fold/evaluations.ts';
import type { CallRef } from '../../core/log/messages.ts';
import type { AnySession } from '../session.ts';

/**
 * Returns the arguments that a call runs with, as JSON: the exact ones, also where the log holds redacted ones, or those that a person
 * approved instead. Rejects with `CONTENT_NOT_FOUND` when the exact ones are not in this store: the session was restored
 * from a snapshot, or the call has ended.
 */
export async function readCallArguments(session: AnySession, call: CallRef): Promise<string> {
  await session.refresh();
  const now = findCall(session.state.record.evaluations, call);
  if (!now) {
    throw new HoldfastError(
      'TOOL_CALL_NOT_FOUND',
      `session ${session.id} has no call ${call.callId} in turn ${call.turn} of evaluation ${call.evaluationId}; list open ones with session.pending()`,
    );
  }
  const text = await argumentsOf(session, now);
  if (text !== undefined) return text;
  const why = hasResult(now) ? 'they were dropped when its result was recorded' : MISSING;
  throw missingArguments(now, `${why}; CallState.arguments has the redacted ones`);
}

/** The arguments that a call runs with; undefined when they are stored outside the log and are not in this store. */
export async function argumentsOf(
  session: Pick<AnySession, 'id' | 'store' | 'incarnation'>,
  call: CallState,
): Promise<string | undefined> {
  const { argumentsRedacted, edited, editedArguments } = call;
  if (editedArguments !== undefined) return editedArguments;
  if (!argumentsRedacted && !edited) return call.arguments;
  const { store, id, incarnation } = session;
  return store.readCallContent(id, edited ? editedKey(call) : exactKey(call), { incarnation });
}

/** Whether a person approved other arguments than the model's. */
export function isEdited({ edited, editedArguments }: CallState): boolean {
  return edited === true || editedArguments !== undefined;
}

/** Why a call cannot run. */
export const MISSING =
  'its exact arguments are not in this store; the log holds redacted ones, and snapshots and forks do not carry the others';

/** The error of a call that cannot run, or cannot be shown, without its exact arguments. */
export function missingArguments({ callId, name }: CallState, why: string): HoldfastError {
  return new HoldfastError('CONTENT_NOT_FOUND', `call ${callId} of "${name}": ${why}`);
}
