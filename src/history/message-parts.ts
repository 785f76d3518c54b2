import type { AssistantMessage, ConversationMessage } from '../core/messages.ts';

/** A message with only some of its parts; its calls keep their places between them. */
export function withParts(
  message: ConversationMessage,
  keeps: (part: ConversationMessage['content'][number], index: number) => boolean,
): ConversationMessage {
  const content = message.content.filter(keeps);
  if (message.role !== 'assistant' || !message.toolCalls) return { ...message, content } as ConversationMessage;
  const before = (count: number): number => message.content.slice(0, count).filter(keeps).length;
  const toolCalls = message.toolCalls.map((call) =>
    call.after === undefined ? call : { ...call, after: before(call.after) },
  );
  return { ...message, content, toolCalls } as AssistantMessage;
}
