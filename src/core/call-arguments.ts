import { type CallState, type Evaluation, endedEvaluation, hasResult } from './evaluations.ts';
import { type CallRef, callKey } from './messages.ts';

/**
 * Arguments outside the log (D77). The log holds redacted arguments; the exact ones are a content of the call, stored with the
 * message and dropped when the call ends:
 *
 *     call of a message that was redacted    argumentsRedacted    under exactKey, until the call ends or runs with edited ones
 *     approved with edited arguments         edited               under editedKey, until the call ends or waits again
 */

/** The name of the content that holds the arguments that the model wrote. A provider may make ids that no store takes as they are. */
export function exactKey(call: CallRef): string {
  const key = callKey(call);
  const escaped = JSON.stringify(key);
  return escaped.length === key.length + 2 ? key : escaped;
}

/** The name of the content that holds the edited arguments of a call. */
export function editedKey(call: CallRef): string {
  return `edited:${exactKey(call)}`;
}

/** Whether a call runs, or ran, with arguments that are not in the log. */
export function hasArgumentsOutside({ argumentsRedacted, edited }: CallState): boolean {
  return argumentsRedacted === true || edited === true;
}

/** The names of the contents that an evaluation's calls still need; none once it, or one above it, has ended. */
export function argumentKeysOf(
  evaluations: { get(id: string): Evaluation | undefined },
  evaluationId: string,
): readonly string[] {
  const evaluation = evaluations.get(evaluationId);
  if (!evaluation?.calls.some(hasArgumentsOutside) || endedEvaluation(evaluations, evaluationId)) return [];
  return evaluation.calls.flatMap(argumentKeys);
}

function argumentKeys(call: CallState): readonly string[] {
  const { argumentsRedacted, edited, status } = call;
  if (!mayRun(call)) return [];
  if (!edited) return argumentsRedacted ? [exactKey(call)] : [];
  // Until it starts, edited arguments may turn out to be invalid, and the call waits again as the model wrote it (D67).
  return argumentsRedacted && status === 'pending' ? [exactKey(call), editedKey(call)] : [editedKey(call)];
}

/** Whether a call may still run: it has no result, and no person has decided that it gets one without running. */
function mayRun(call: CallState): boolean {
  if (hasResult(call) || call.erased || (call.settlement && 'result' in call.settlement)) return false;
  return call.approval !== 'denied' || call.status !== 'pending';
}
