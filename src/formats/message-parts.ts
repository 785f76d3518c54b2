import type { AssistantMessage, ConversationMessage, ToolCall, UserMessage } from '../core/log/messages.ts';

type Part = ConversationMessage['content'][number];

/** The fields of a message of our own, beside a recorded one: it belongs to its conversation, and to no turn. */
export function placeBeside(message: ConversationMessage | undefined): Omit<UserMessage, 'id' | 'role' | 'content'> {
  const { evaluationId = '', conversationId = 'main', sequence = 0 } = message ?? {};
  const { promptNs = '', promptKey = '', createdAt = '' } = message ?? {};
  return { evaluationId, conversationId, sequence, turn: 0, promptNs, promptKey, createdAt, synthetic: true };
}

/** Whether a part is media, reasoning or text that is not blank: Anthropic refuses a request with blank text. */
export function hasContent(part: Part): boolean {
  return part.type !== 'text' || /\S/.test(part.text);
}

/** Whether a message holds nothing at all: no calls, no media, no reasoning, no text but blanks. A tool may return nothing. */
export function isBlank(message: ConversationMessage): boolean {
  if (message.role === 'tool') return false;
  if (message.role === 'assistant' && message.toolCalls !== undefined && message.toolCalls.length > 0) return false;
  for (const part of message.content) if (hasContent(part)) return false;
  return true;
}

/** A message with only some of its parts; its calls keep their places between them. */
export function withParts(
  message: ConversationMessage,
  keeps: (part: Part, index: number) => boolean,
): ConversationMessage {
  const content = message.content.filter(keeps);
  if (message.role !== 'assistant' || !message.toolCalls) return { ...message, content } as ConversationMessage;
  const before = (count: number): number => message.content.slice(0, count).filter(keeps).length;
  const toolCalls = message.toolCalls.map((call) =>
    call.after === undefined ? call : { ...call, after: before(call.after) },
  );
  return { ...message, content, toolCalls } as AssistantMessage;
}

/** The parts and the calls of a response in the order in which the model wrote them. A call has a `callId`, a part has a `type`. */
export function partsAndCalls(
  message: AssistantMessage,
): readonly (AssistantMessage['content'][number] | (ToolCall & { readonly type?: never }))[] {
  const { content, toolCalls = [] } = message;
  if (toolCalls.every(({ after = content.length }) => after >= content.length)) return [...content, ...toolCalls];
  const callsAt = (place: number): readonly ToolCall[] =>
    toolCalls.filter(({ after = content.length }) => Math.min(after, content.length) === place);
  return [...content.flatMap((part, place) => [...callsAt(place), part]), ...callsAt(content.length)];
}
