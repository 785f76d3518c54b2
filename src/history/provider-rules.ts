import { HoldfastError } from '../core/errors.ts';
import { type AssistantMessage, type ConversationMessage, callsOf, type UserMessage } from '../core/messages.ts';
import { isSignedByAnthropic } from '../formats/anthropic-messages.ts';
import { API_RULES } from '../formats/api-rules.ts';
import { BEGIN, BEGINNING_LEFT_OUT, CONTINUE, EMPTY_FAILURE, hasContent } from '../formats/placeholders.ts';
import { withParts } from './message-parts.ts';
import { isBlank } from './origin.ts';
import { type Breach, badIds, badNames, renameCalls, repeatedIds } from './rename-calls.ts';

/**
 * What OpenAI's chat API and Anthropic's messages API refuse beyond incoherence (coherence.ts): ids, names, empty content, who
 * speaks first and last, and reasoning without its signature. Each rule finds the messages that break it and repairs them, so that a
 * check can say what a repair would do. Limits and texts are those of the codecs (formats/).
 */

/** The APIs whose rules are known. */
export type Provider = 'openai' | 'anthropic';

/** A rule of a provider beyond coherence. */
type ProviderCode =
  | 'id-invalid'
  | 'id-repeated'
  | 'name-invalid'
  | 'empty-content'
  | 'calls-empty'
  | 'no-messages'
  | 'opens-with-assistant'
  | 'ends-with-assistant'
  | 'system-misplaced'
  | 'reasoning-unsigned'
  | 'reasoning-last';

/** A provider's rule that is broken, and the repair. */
export interface ProviderViolation extends Breach {
  readonly code: ProviderCode | 'reasoning-missing';
  readonly repair: string;
}

/** A rule: `mend` leaves no breach of it behind, and none of the rules before it. */
interface ProviderRule {
  readonly code: ProviderCode;
  readonly repair: string;
  find(messages: readonly ConversationMessage[]): readonly Breach[];
  mend(messages: readonly ConversationMessage[]): readonly ConversationMessage[];
}

/** Finds messages one by one; mends each that is found, or leaves it out. */
function perMessage(
  code: ProviderCode,
  repair: string,
  breaks: (message: ConversationMessage) => boolean,
  mend: (message: ConversationMessage) => ConversationMessage | undefined,
): ProviderRule {
  return {
    code,
    repair,
    find: (messages) => messages.flatMap((message, index) => (breaks(message) ? { index } : [])),
    mend: (messages) =>
      messages.some(breaks) ? messages.flatMap((one) => (breaks(one) ? (mend(one) ?? []) : one)) : messages,
  };
}

/** The rules about call ids and tool names; one repair changes all of them. */
function callRules(provider: Provider): readonly ProviderRule[] {
  const rules = API_RULES[provider];
  const rule = (code: ProviderCode, repair: string, find: ProviderRule['find']): ProviderRule => ({
    ...{ code, repair, find },
    mend: (messages) => (find(messages).length > 0 ? renameCalls(messages, rules) : messages),
  });
  const sentWith = 'call and result are sent under an id that is allowed';
  return [
    rule('name-invalid', 'the name is sent with what is allowed in it', (messages) => badNames(messages, rules)),
    rule('id-invalid', sentWith, (messages) => badIds(messages, rules)),
    rule('id-repeated', 'the later call and its result are sent under another id', repeatedIds),
  ];
}

const isUnsigned = (part: ConversationMessage['content'][number]): boolean =>
  part.type === 'reasoning' && !isSignedByAnthropic(part);

const isEmptyText = (part: ConversationMessage['content'][number]): boolean => !hasContent(part);

/** Whether reasoning is the last thing in an assistant message: no text and no call comes after it. */
function endsInReasoning(message: ConversationMessage): boolean {
  if (message.role !== 'assistant' || message.content.at(-1)?.type !== 'reasoning') return false;
  const { length } = message.content;
  return !(message.toolCalls ?? []).some((call) => (call.after ?? length) >= length);
}

function withoutLastReasoning(message: ConversationMessage): ConversationMessage | undefined {
  const last = message.content.findLastIndex((part) => part.type !== 'reasoning');
  const rest = withParts(message, (_, index) => index <= last);
  return isBlank(rest) ? undefined : rest;
}

/** A user message of our own, to open or to close a request. */
function says(text: string, id: string, beside: ConversationMessage | undefined): UserMessage {
  const {
    evaluationId = '',
    conversationId = 'main',
    sequence = 0,
    promptNs = '',
    promptKey = '',
    createdAt = '',
  } = beside ?? {};
  return {
    ...{ evaluationId, conversationId, sequence, turn: 0, promptNs, promptKey, createdAt },
    ...{ id, role: 'user', synthetic: true, content: [{ type: 'text', text }] },
  };
}

const opening = (messages: readonly ConversationMessage[]): number =>
  messages.findIndex(({ role }) => role !== 'system');

/** Whether the model would have to go on with its own words. A turn that was paused while the provider ran a tool may. */
function endsWithAnswer(messages: readonly ConversationMessage[]): boolean {
  const last = messages.at(-1);
  return last?.role === 'assistant' && !last.toolCalls?.some((call) => call.providerExecuted !== undefined);
}

const NO_MESSAGES: Pick<ProviderRule, 'code' | 'repair'> = {
  code: 'no-messages',
  repair: `a user message that says "${BEGIN}" is added`,
};

const ANTHROPIC: readonly ProviderRule[] = [
  perMessage(
    'empty-content',
    'the empty text is left out',
    (message) => message.content.some(isEmptyText),
    (message) => {
      const rest = withParts(message, (part) => !isEmptyText(part));
      return isBlank(rest) ? undefined : rest;
    },
  ),
  perMessage(
    'empty-content',
    'a failure without a word gets one',
    (message) => message.role === 'tool' && message.isError && message.content.length === 0,
    (message) => ({ ...message, content: [{ type: 'text', text: EMPTY_FAILURE }] }) as ConversationMessage,
  ),
  perMessage(
    'reasoning-unsigned',
    'reasoning that this provider did not sign is left out',
    (message) => message.content.some(isUnsigned),
    (message) => {
      const rest = withParts(message, (part) => !isUnsigned(part));
      return isBlank(rest) ? undefined : rest;
    },
  ),
  perMessage('reasoning-last', 'reasoning that nothing follows is left out', endsInReasoning, withoutLastReasoning),
  {
    code: 'system-misplaced',
    repair: 'the system message is moved to the front',
    find: (messages) => {
      const first = opening(messages);
      return messages.flatMap(({ role }, index) => (first >= 0 && index > first && role === 'system' ? { index } : []));
    },
    mend(messages) {
      if (this.find(messages).length === 0) return messages;
      const isSystem = ({ role }: ConversationMessage): boolean => role === 'system';
      return [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))];
    },
  },
  {
    ...NO_MESSAGES,
    find: (messages) => (opening(messages) < 0 ? [{ index: messages.length }] : []),
    mend: (messages) => (opening(messages) < 0 ? [...messages, says(BEGIN, 'opening', messages.at(-1))] : messages),
  },
  {
    code: 'opens-with-assistant',
    repair: 'a user message that says that the beginning was left out is put first',
    find: (messages) => (messages[opening(messages)]?.role === 'assistant' ? [{ index: opening(messages) }] : []),
    mend(messages) {
      const first = opening(messages);
      if (messages[first]?.role !== 'assistant') return messages;
      return messages.toSpliced(first, 0, says(BEGINNING_LEFT_OUT, 'opening', messages[first]));
    },
  },
  {
    code: 'ends-with-assistant',
    repair: `a user message that says "${CONTINUE}" is added`,
    find: (messages) => (endsWithAnswer(messages) ? [{ index: messages.length - 1 }] : []),
    mend: (messages) =>
      endsWithAnswer(messages) ? [...messages, says(CONTINUE, 'closing', messages.at(-1))] : messages,
  },
  ...callRules('anthropic'),
];

const OPENAI: readonly ProviderRule[] = [
  perMessage(
    'calls-empty',
    'the empty list of calls is left out',
    (message) => message.role === 'assistant' && message.toolCalls?.length === 0,
    (message) => {
      const { toolCalls: _, ...rest } = message as AssistantMessage;
      return isBlank(rest) ? undefined : rest;
    },
  ),
  perMessage(
    'empty-content',
    'a message of which nothing can be sent is left out',
    (message) =>
      message.role === 'assistant' &&
      callsOf(message).length === 0 &&
      message.content.every((part) => part.type === 'reasoning' || isEmptyText(part)),
    () => undefined,
  ),
  {
    ...NO_MESSAGES,
    find: (messages) => (messages.length === 0 ? [{ index: 0 }] : []),
    mend: (messages) => (messages.length === 0 ? [says(BEGIN, 'opening', undefined)] : messages),
  },
  ...callRules('openai'),
];

/** The rules of each provider, in the order in which they are mended. */
const RULES: Readonly<Record<Provider, readonly ProviderRule[]>> = { anthropic: ANTHROPIC, openai: OPENAI };

function rulesOf(provider: Provider): readonly ProviderRule[] {
  if (Object.hasOwn(RULES, provider)) return RULES[provider];
  const known = Object.keys(RULES).join(', ');
  throw new HoldfastError('INVALID_ARGUMENT', `no rules are known for the provider "${provider}"; there are: ${known}`);
}

/** Every rule of a provider that the messages break. */
export function findBreaches(
  messages: readonly ConversationMessage[],
  provider: Provider,
): readonly ProviderViolation[] {
  return rulesOf(provider).flatMap((rule) =>
    rule.find(messages).map((breach) => ({ code: rule.code, ...breach, repair: rule.repair })),
  );
}

/** Coherent messages made such that a provider takes them. */
export function mendFor(messages: readonly ConversationMessage[], provider: Provider): readonly ConversationMessage[] {
  return rulesOf(provider).reduce((current, rule) => rule.mend(current), messages);
}

/** Whether an assistant message that asks for calls begins with reasoning that was signed. */
export function beginsSigned(message: ConversationMessage): boolean {
  const [first] = message.content;
  return callsOf(message).length === 0 || (first?.type === 'reasoning' && !isUnsigned(first));
}
