/** Conversations as flat lists, to compare what was handed over with what was read: written apart from the code under test. */
import type { ContentPart, ConversationMessage, MediaPart, TextPart } from '../../../src/core/log/messages.ts';

export type SaidItem =
  | { readonly said: 'user' | 'assistant'; readonly text: string }
  | { readonly medium: string; readonly of: string }
  | { readonly call: string; readonly name: string; readonly input: unknown }
  | { readonly result: string; readonly text: string; readonly isError: boolean };

/** Whether a message says anything that is handed over. */
export function isHanded(message: ConversationMessage): boolean {
  return message.role !== 'user' || saidItems([message]).length > 0;
}

/** Attachments that the agent put into its request: no user typed them, and they are not handed over. */
const INJECTED = /^<system-reminder>[\s\S]*<\/system-reminder>\s*$/;

const isText = (part: ContentPart): part is TextPart => part.type === 'text';
const isMedium = (part: ContentPart): part is MediaPart => part.type === 'image' || part.type === 'file';

/** What was said, called and returned, in order; calls after the texts of their response. Without reasoning and instructions. */
export function saidItems(messages: readonly ConversationMessage[]): readonly SaidItem[] {
  return messages.flatMap((message): readonly SaidItem[] => {
    const parts: readonly ContentPart[] = message.content;
    const texts = parts.filter(isText).map(({ text }) => text);
    const media = parts.filter(isMedium);
    const of = message.role === 'tool' ? message.toolCallId : message.role;
    const shown = media.map(({ mediaType }): SaidItem => ({ medium: mediaType, of }));
    switch (message.role) {
      case 'system':
        return [];
      case 'tool': {
        const { toolCallId: result, isError } = message;
        return [{ result, text: texts.filter(Boolean).join('\n'), isError }, ...shown];
      }
      case 'user':
        return [
          ...spoken(
            'user',
            texts.filter((text) => !INJECTED.test(text)),
          ),
          ...shown,
        ];
      default: {
        const calls = (message.toolCalls ?? []).map(
          ({ callId, name, arguments: input }): SaidItem => ({ call: callId, name, input: objectOf(input) }),
        );
        return [...spoken('assistant', texts), ...calls];
      }
    }
  });
}

function spoken(said: 'user' | 'assistant', texts: readonly string[]): readonly SaidItem[] {
  return texts.filter((text) => text.trim() !== '').map((text) => ({ said, text }));
}

/** The arguments as an object: wrapped when the model wrote none. */
function objectOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { input: value };
  } catch {
    return { input: text };
  }
}
