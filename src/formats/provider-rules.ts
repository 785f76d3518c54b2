import { HoldfastError } from '../core/errors.ts';
import {
  type AssistantMessage,
  type ConversationMessage,
  callsOf,
  type ToolCall,
  type UserMessage,
} from '../core/log/messages.ts';
import { isSignedByAnthropic, serverBlocks } from './anthropic-blocks.ts';
import { API_RULES } from './api-rules.ts';
import type { FormatOptions } from './losses.ts';
import { hasContent, isBlank, placeBeside, withParts } from './message-parts.ts';
import { pairCalls } from './pair-calls.ts';
import { BEGIN, BEGINNING_LEFT_OUT, CONTINUE, EMPTY_FAILURE, EMPTY_MESSAGE } from './placeholders.ts';
import { type Breach, badIds, badNames, renameCalls, repeatedIds } from './rename-calls.ts';

/**
 * What OpenAI's chat API and Anthropic's messages API refuse beyond wrong pairing: ids, names, empty content, the roles of the first
 * and the last message, and reasoning without its signature. Each rule finds the messages that break it and repairs them, so that a
 * check can say what a repair would do. `canSend` finds, `repairCoherence` repairs, and the codecs repair all but the shape of the
 * request.
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

/** A rule: `change` leaves no breach of it behind, and none of the rules before it. */
interface ProviderRule {
  readonly code: ProviderCode;
  readonly repair: string;
  /** What a codec reports as lost for each breach. */
  readonly loss?: string;
  /** Concerns the request as a whole: a codec writes a conversation that may be continued before it is sent. */
  readonly ofRequest?: true;
  readonly find: (messages: readonly ConversationMessage[]) => readonly Breach[];
  /** Called when `find` returns breaches. */
  readonly change: (messages: readonly ConversationMessage[]) => readonly ConversationMessage[];
}

function applyRule(
  { find, change }: ProviderRule,
  messages: readonly ConversationMessage[],
): readonly ConversationMessage[] {
  return find(messages).length > 0 ? change(messages) : messages;
}

/** Finds messages one by one; repairs each that is found, or leaves it out. */
function perMessage(
  rule: Pick<ProviderRule, 'code' | 'repair' | 'loss'>,
  breaks: (message: ConversationMessage) => boolean,
  change: (message: ConversationMessage) => ConversationMessage | undefined,
): ProviderRule {
  return {
    ...rule,
    find: (messages) => messages.flatMap((message, index) => (breaks(message) ? { index } : [])),
    change: (messages) => messages.flatMap((one) => (breaks(one) ? (change(one) ?? []) : one)),
  };
}

/** Leaves parts out, and messages of which nothing stays. */
function perPart(
  rule: Pick<ProviderRule, 'code' | 'repair' | 'loss'>,
  breaks: (part: ConversationMessage['content'][number]) => boolean,
): ProviderRule {
  const isBroken = (message: ConversationMessage): boolean => message.content.some(breaks);
  return perMessage(rule, isBroken, (message) => unlessBlank(withParts(message, (part) => !breaks(part))));
}

function unlessBlank(message: ConversationMessage): ConversationMessage | undefined {
  return isBlank(message) ? undefined : message;
}

/** The rules about call ids and tool names; one repair changes all of them. */
function callRules(provider: Provider): readonly ProviderRule[] {
  const rules = API_RULES[provider];
  const rule = (code: ProviderCode, repair: string, find: ProviderRule['find']): ProviderRule => ({
    ...{ code, repair, find },
    change: (messages) => renameCalls(messages, rules),
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

/** Whether reasoning is the last thing in an assistant message: no text and no call comes after it. */
function endsInReasoning(message: ConversationMessage): boolean {
  if (message.role !== 'assistant' || message.content.at(-1)?.type !== 'reasoning') return false;
  const { length } = message.content;
  return !(message.toolCalls ?? []).some((call) => (call.after ?? length) >= length);
}

function withoutLastReasoning(message: ConversationMessage): ConversationMessage | undefined {
  const last = message.content.findLastIndex((part) => part.type !== 'reasoning');
  return unlessBlank(withParts(message, (_, index) => index <= last));
}

/** A user message of our own, to open or to close a request. */
function ourMessage(text: string, id: string, beside: ConversationMessage | undefined): UserMessage {
  return { ...placeBeside(beside), id, role: 'user', content: [{ type: 'text', text }] };
}

const opening = (messages: readonly ConversationMessage[]): number =>
  messages.findIndex(({ role }) => role !== 'system');

/** Whether the model would have to continue its own text. A turn that was paused while the provider ran a tool may. */
function endsWithResponse(messages: readonly ConversationMessage[]): boolean {
  const last = messages.at(-1);
  return last?.role === 'assistant' && !last.toolCalls?.some((call) => call.providerExecuted !== undefined);
}

const NO_MESSAGES: Pick<ProviderRule, 'code' | 'repair' | 'ofRequest'> = {
  code: 'no-messages',
  repair: `a user message that says "${BEGIN}" is added`,
  ofRequest: true,
};

const withText = (message: ConversationMessage, text: string): ConversationMessage =>
  ({ ...message, content: [{ type: 'text', text }] }) as ConversationMessage;

const ANTHROPIC: readonly ProviderRule[] = [
  perMessage(
    { code: 'empty-content', repair: `"${EMPTY_MESSAGE}" stands in its place`, loss: 'empty message' },
    (message) => message.role === 'user' && isBlank(message),
    (message) => withText(message, EMPTY_MESSAGE),
  ),
  perPart({ code: 'empty-content', repair: 'the empty text is left out' }, (part) => !hasContent(part)),
  perMessage(
    { code: 'empty-content', repair: `"${EMPTY_FAILURE}" stands in its place`, loss: 'empty error' },
    (message) => message.role === 'tool' && message.isError && message.content.length === 0,
    (message) => withText(message, EMPTY_FAILURE),
  ),
  perPart(
    { code: 'reasoning-unsigned', repair: 'reasoning that Anthropic did not sign is left out', loss: 'reasoning' },
    isUnsigned,
  ),
  perMessage(
    { code: 'reasoning-last', repair: 'reasoning that nothing follows is left out', loss: 'reasoning' },
    endsInReasoning,
    withoutLastReasoning,
  ),
  {
    code: 'system-misplaced',
    repair: 'the system message is moved to the front',
    loss: 'place of instructions',
    find: (messages) => {
      const first = opening(messages);
      return messages.flatMap(({ role }, index) => (first >= 0 && index > first && role === 'system' ? { index } : []));
    },
    change: (messages) => {
      const isSystem = ({ role }: ConversationMessage): boolean => role === 'system';
      return [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))];
    },
  },
  {
    ...NO_MESSAGES,
    find: (messages) => (opening(messages) < 0 ? [{ index: messages.length }] : []),
    change: (messages) => [...messages, ourMessage(BEGIN, 'opening', messages.at(-1))],
  },
  {
    code: 'opens-with-assistant',
    repair: 'a user message that says that the beginning was left out is put first',
    loss: 'beginning',
    ofRequest: true,
    find: (messages) => (messages[opening(messages)]?.role === 'assistant' ? [{ index: opening(messages) }] : []),
    change: (messages) => {
      const first = opening(messages);
      return messages.toSpliced(first, 0, ourMessage(BEGINNING_LEFT_OUT, 'opening', messages[first]));
    },
  },
  {
    code: 'ends-with-assistant',
    repair: `a user message that says "${CONTINUE}" is added`,
    ofRequest: true,
    find: (messages) => (endsWithResponse(messages) ? [{ index: messages.length - 1 }] : []),
    change: (messages) => [...messages, ourMessage(CONTINUE, 'closing', messages.at(-1))],
  },
];

const OPENAI: readonly ProviderRule[] = [
  perMessage(
    { code: 'calls-empty', repair: 'the empty list of calls is left out' },
    (message) => message.role === 'assistant' && message.toolCalls?.length === 0,
    (message) => {
      const { toolCalls: _, ...rest } = message as AssistantMessage;
      return rest.content.length > 0 ? rest : undefined;
    },
  ),
  perMessage(
    { code: 'empty-content', repair: 'a message of which nothing can be sent is left out' },
    (message) =>
      message.role === 'assistant' &&
      callsOf(message).length === 0 &&
      !message.content.some((part) => part.type === 'text' && part.text !== ''),
    () => undefined,
  ),
  {
    ...NO_MESSAGES,
    find: (messages) => (messages.length === 0 ? [{ index: 0 }] : []),
    change: () => [ourMessage(BEGIN, 'opening', undefined)],
  },
];

/** The rules of each provider about content and order, in the order of their repairs. */
const RULES: Readonly<Record<Provider, readonly ProviderRule[]>> = { anthropic: ANTHROPIC, openai: OPENAI };

function rulesOf(provider: Provider): readonly ProviderRule[] {
  if (Object.hasOwn(RULES, provider)) return [...RULES[provider], ...callRules(provider)];
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

/** Coherent messages, repaired such that a provider takes them. */
export function repairFor(
  messages: readonly ConversationMessage[],
  provider: Provider,
): readonly ConversationMessage[] {
  return rulesOf(provider).reduce((current, rule) => applyRule(rule, current), messages);
}

/** A conversation as an API takes it, but for the shape of the request: calls with their results, ids, names and content. */
export function prepare(
  messages: readonly ConversationMessage[],
  provider: Provider,
  options: FormatOptions,
): readonly ConversationMessage[] {
  const { onLoss } = options;
  let current: readonly ConversationMessage[] = pairCalls(messages, options).flatMap((message) =>
    message.role === 'assistant' ? (sendableResponse(message, provider, options) ?? []) : message,
  );
  for (const rule of RULES[provider]) {
    const { loss: what, repair: why } = rule;
    if (onLoss && what !== undefined) {
      for (const { index } of rule.find(current)) onLoss({ what, why, id: current[index]?.id ?? '' });
    }
    if (!rule.ofRequest) current = applyRule(rule, current);
  }
  return renameCalls(current, API_RULES[provider], options);
}

/** A response without media and without calls that the provider cannot take back. */
function sendableResponse(
  message: AssistantMessage,
  provider: Provider,
  { onLoss }: FormatOptions,
): ConversationMessage | undefined {
  const isMedia = ({ type }: { readonly type: string }): boolean => type === 'image' || type === 'file';
  const isForeign = (call: ToolCall): boolean =>
    call.providerExecuted !== undefined && (provider !== 'anthropic' || !serverBlocks(call));
  const { id, toolCalls = [] } = message;
  for (const _ of message.content.filter(isMedia)) {
    onLoss?.({ what: 'medium of a response', why: 'the API takes none in a response', id });
  }
  for (const { callId } of toolCalls.filter(isForeign)) {
    onLoss?.({ what: 'call that a provider ran', why: 'the API takes back only its own', id: callId });
  }
  const { toolCalls: calls = [], ...rest } = withParts(message, (part) => !isMedia(part)) as AssistantMessage;
  const kept = calls.filter((call) => !isForeign(call));
  if (kept.length > 0) return { ...rest, toolCalls: kept };
  return rest.content.length > 0 ? rest : undefined;
}

/** Whether an assistant message with calls starts with reasoning that was signed. */
export function beginsSigned(message: ConversationMessage): boolean {
  const [first] = message.content;
  return callsOf(message).length === 0 || (first?.type === 'reasoning' && !isUnsigned(first));
}
