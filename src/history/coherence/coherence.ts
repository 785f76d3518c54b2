import type { ConversationMessage } from '../../core/log/messages.ts';
import { isBlank } from '../../formats/message-parts.ts';
import { pairCalls } from '../../formats/pair-calls.ts';
import {
  beginsSigned,
  findBreaches,
  type Provider,
  type ProviderViolation,
  repairFor,
} from '../../formats/provider-rules.ts';
import { isAddition, isVersionOf, Origin } from '../origin.ts';
import { arrange } from './arrange-messages.ts';
import { MessageIndex, pairingViolations } from './message-index.ts';

/**
 * Whether a provider could read a list of messages: each call has its result, each result its call, in call order, directly
 * after the message that made the call. With the conversation the list was made from, also: nothing moved, nothing invented, the
 * leading system messages still there.
 *
 * A result pairs with the nearest assistant message before it, because call ids repeat (D11). A call that the provider ran
 * itself has no result message. A message marked synthetic was made by a manager and is checked for pairing only (D56).
 */

/** One rule that a list of messages breaks, and what `repairCoherence` does about it. */
export interface Violation {
  readonly code:
    | 'call-without-result'
    | 'result-without-call'
    | 'result-out-of-order'
    | 'duplicate-result'
    | 'system-lost'
    | 'reordered'
    | 'invented'
    | 'empty-content';
  /** Where in the checked list; its length when what is missing would come last. */
  readonly index: number;
  readonly callId?: string;
  /** The repair, as a sentence. */
  readonly repair: string;
}

/** What to check against. */
export interface CoherenceOptions {
  /** The conversation that the messages were selected from. */
  readonly original?: readonly ConversationMessage[];
}

/** What a check found: `ok` when there is no violation; they come by index. */
export interface Coherence {
  readonly ok: boolean;
  readonly violations: readonly Violation[];
}

/** What to repair for. */
export interface RepairOptions extends CoherenceOptions {
  /** Also what this provider refuses. What comes out is for sending: its ids may no longer be those of the record. */
  readonly provider?: Provider;
}

/** Checks pairing and order and, against `original`, that nothing was moved, invented or lost that must stay. */
export function checkCoherence(messages: readonly ConversationMessage[], options: CoherenceOptions = {}): Coherence {
  return check(messages, options.original && new Origin(options.original));
}

/**
 * Returns the messages made coherent, deterministically, and what had to be repaired. With nothing to repair it returns the same
 * array. What was dropped stays dropped; a call whose result was dropped gets a short placeholder.
 */
export function repairCoherence(
  messages: readonly ConversationMessage[],
  options: RepairOptions = {},
): {
  readonly messages: readonly ConversationMessage[];
  readonly violations: readonly (Violation | ProviderViolation)[];
} {
  const { original, provider } = options;
  const coherent = repair(messages, original && new Origin(original));
  if (provider === undefined) return coherent;
  return {
    messages: repairFor(coherent.messages, provider),
    violations: withBreaches(coherent.violations, findBreaches(messages, provider)),
  };
}

/** Other properties of the request. */
interface CanSendOptions {
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

/** Both kinds of violation by index, each place once. */
function withBreaches(
  violations: readonly Violation[],
  breaches: readonly ProviderViolation[],
): readonly (Violation | ProviderViolation)[] {
  const known = new Set(violations.map(({ code, index }) => `${code}/${index}`));
  const others = breaches.filter(({ code, index }) => !known.has(`${code}/${index}`));
  return [...violations, ...others].sort((a, b) => a.index - b.index);
}

/** `checkCoherence` against a record that is already indexed. */
export function check(messages: readonly ConversationMessage[], origin: Origin | undefined): Coherence {
  const pairing = new MessageIndex();
  pairing.grow(messages);
  const violations = pairingViolations(pairing).map(({ group: _, ...violation }): Violation => violation);
  if (origin) checkOrigin(messages, origin, violations);
  violations.sort((a, b) => a.index - b.index);
  return { ok: violations.length === 0, violations };
}

/** `repairCoherence` against a record that is already indexed. */
export function repair(
  messages: readonly ConversationMessage[],
  origin: Origin | undefined,
): { readonly messages: readonly ConversationMessage[]; readonly violations: readonly Violation[] } {
  const { ok, violations } = check(messages, origin);
  if (ok) return { messages, violations };
  const arranged = origin ? arrange(messages, origin) : messages;
  return { messages: pairCalls(arranged.filter((message) => !isBlank(message))), violations };
}

function checkOrigin(messages: readonly ConversationMessage[], origin: Origin, violations: Violation[]): void {
  const seen = new Set<number>();
  const emptied = new Set<number>();
  let last = -1;
  let asking: ConversationMessage | undefined;
  messages.forEach((message, index) => {
    if (message.role === 'assistant') asking = message;
    const position = origin.positionOf(message, seen);
    const recorded = origin.messages[position];
    if (!recorded) {
      if (isAddition(message)) return;
      violations.push({ code: 'invented', index, repair: 'a message that was never recorded is left out' });
      return;
    }
    if (!isVersionOf(message, recorded)) {
      violations.push({ code: 'invented', index, repair: 'the message is sent with its recorded role and calls' });
    }
    if (recorded.role === 'tool') {
      const owner = origin.ownerOf(position);
      if (owner && asking && owner.id !== asking.id) {
        violations.push({ code: 'reordered', index, repair: 'the result goes back to its own call' });
      }
    } else if (seen.has(position)) {
      violations.push({ code: 'reordered', index, repair: 'the first copy stays, this one is left out' });
    } else {
      if (position < last) violations.push({ code: 'reordered', index, repair: 'the message goes back to its place' });
      last = Math.max(last, position);
    }
    seen.add(position);
    if (isBlank(message)) emptied.add(position);
  });
  for (let index = 0; index < origin.leadingSystem(); index++) {
    const system = origin.messages[index];
    if (system && !isBlank(system) && (!seen.has(index) || emptied.has(index))) {
      violations.push({ code: 'system-lost', index, repair: 'the leading system message is put back' });
    }
  }
  if (origin.newestWithContent() >= 0 && !messages.some((message) => message.role !== 'system' && !isBlank(message))) {
    const repair = 'no user or assistant message is left: the newest one is put back';
    violations.push({ code: 'empty-content', index: messages.length, repair });
  }
}
