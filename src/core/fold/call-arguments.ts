import { type CallRef, callKey } from '../log/messages.ts';
import { type CallState, type Evaluation, endedEvaluation, hasResult } from './evaluations.ts';

/**
 * Arguments outside the log (D77). The log holds redacted arguments; the exact ones are a content of the call, stored with the
 * message and dropped when the call ends:
 *
 *     call of a redacted message             argumentsRedacted    under exactKey, until the call ends or runs with edited ones
 *     approved with edited arguments         edited               under editedKey, until the call ends or waits again
 */

/** The name of the content that holds the model's own arguments. Escaped: a provider's call id may be one that no store accepts. */
export function exactKey(call: CallRef): string {
  const key = callKey(call);
  const escaped = JSON.stringify(key);
  return escaped.length === key.length + 2 ? key : escaped;
}

/** The name of the content that holds the edited arguments of a call. */
export function editedKey(call: CallRef): string {
  return `edited:${exactKey(call)}`;
}

/** Whether a call runs, or ran, with arguments that are stored outside the log. */
export function hasArgumentsOutside({ argumentsRedacted, edited }: CallState): boolean {
  return argumentsRedacted === true || edited === true;
}

/** The names of the contents that an evaluation's calls still need; none once it, or an ancestor, has ended. */
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
  // Edited arguments may turn out to be invalid until the call starts; it then waits again with the model's arguments (D67).
  return argumentsRedacted && status === 'pending' ? [exactKey(call), editedKey(call)] : [editedKey(call)];
}

/** Whether a call may still run: it has no result, and no person has decided to give it one without running it. */
function mayRun(call: CallState): boolean {
  if (hasResult(call) || call.erased || (call.settlement && 'result' in call.settlement)) return false;
  return call.approval !== 'denied' || call.status !== 'pending';
}
