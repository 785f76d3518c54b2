import type { ConversationMessage } from '../../core/log/messages.ts';
import type { Violation } from './coherence.ts';
import type { MessageIndex } from './message-index.ts';

/** A violation of pairing, and the group of the index that it concerns: -1 for a result that comes before every group. */
export interface PairingViolation extends Violation {
  readonly group: number;
}

/**
 * The calls without a result, results without a call, results out of order and empty messages of a conversation. The index finds
 * them as it grows, so that a check of a list and the repairs of a request name the same violations.
 */
export function pairingViolations(index: MessageIndex): readonly PairingViolation[] {
  const { flawed, strays, late, messages, starts } = index;
  const violations: PairingViolation[] = [];
  for (const { position, group, again } of strays) {
    const repair = again ? 'the first result stays, this one is left out' : 'the result is left out';
    const code = again ? 'duplicate-result' : 'result-without-call';
    violations.push({ code, index: position, group, ...callOf(messages[position]), repair });
  }
  for (const { position, group } of late) {
    const repair = 'the result is moved behind its call, in call order';
    violations.push({ code: 'result-out-of-order', index: position, group, ...callOf(messages[position]), repair });
  }
  for (const [group, flaw] of flawed) {
    const position = starts[group] as number;
    if (flaw.kind === 'empty') {
      violations.push({ code: 'empty-content', index: position, group, repair: 'the empty message is left out' });
      continue;
    }
    const repair = 'a placeholder takes the place of its result, or says that none was recorded';
    for (const { callId } of flaw.missing) {
      violations.push({ code: 'call-without-result', index: position, group, callId, repair });
    }
  }
  return violations;
}

function callOf(result: ConversationMessage | undefined): { readonly callId?: string } {
  return result?.role === 'tool' ? { callId: result.toolCallId } : {};
}
