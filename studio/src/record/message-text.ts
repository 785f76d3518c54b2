/** A recorded message as text: what it says, its calls, and a word for each image or file. */
import type { ConversationMessage } from 'holdfast';

export function messageText({ content, ...message }: ConversationMessage): string {
  const parts = content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type === 'reasoning') return part.text === '' ? '' : `(thinking) ${part.text}`;
    return `[${part.type} ${part.filename ?? part.mediaType}]`;
  });
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return [...parts, ...calls.map(({ name, arguments: given }) => `→ ${name}(${given})`)].filter(Boolean).join('\n');
}

/** Who said it: a role, and of a result the tool. */
export function speakerOf(message: ConversationMessage): string {
  return message.role === 'tool' ? message.toolName : message.role;
}
