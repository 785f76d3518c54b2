import type { ConversationMessage } from '../core/log/messages.ts';
import { beginsSigned, findBreaches, type Provider, type ProviderViolation } from '../formats/provider-rules.ts';
import { checkCoherence, type Violation, withBreaches } from './coherence/coherence.ts';

/** Other properties of the request. */
export interface CanSendOptions {
  /** The request asks for extended thinking. */
  readonly thinking?: boolean;
}

/**
 * Whether a provider would take these messages: pairing, order, ids, empty content and signatures, by the rules of OpenAI's chat
 * API or Anthropic's messages API. Each violation says what `repairCoherence(messages, { provider })` does about it.
 */
export function canSend(
  messages: readonly ConversationMessage[],
  provider: Provider,
  options: CanSendOptions = {},
): { readonly ok: boolean; readonly violations: readonly (Violation | ProviderViolation)[] } {
  const thoughts = options.thinking && provider === 'anthropic' ? missingThoughts(messages) : [];
  const breaches = [...findBreaches(messages, provider), ...thoughts];
  const violations = withBreaches(checkCoherence(messages).violations, breaches);
  return { ok: violations.length === 0, violations };
}

/** With thinking, every turn since the newest user message must start with its thought. No repair can invent one. */
function missingThoughts(messages: readonly ConversationMessage[]): readonly ProviderViolation[] {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const repair = 'none: send this request without thinking';
  return messages.flatMap((message, index) =>
    index > asked && message.role === 'assistant' && !beginsSigned(message)
      ? { code: 'reasoning-missing' as const, index, repair }
      : [],
  );
}
