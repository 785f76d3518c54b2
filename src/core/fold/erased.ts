import type { HistorySummarized, InputQueued, MessageInterrupted, Settlement } from '../log/events.ts';
import type { ConversationMessage } from '../log/messages.ts';
import { type CallState, hasResult } from './evaluations.ts';

/** Erased messages, calls, settlements and summaries: their content is replaced, their structure stays (D58). */

const ERASED = '[erased]';

/** A message without its content: its position, its role and the names of its calls stay (D58). */
export function erased(message: ConversationMessage): ConversationMessage {
  const content = [{ type: 'text', text: ERASED }] as const;
  if (message.role !== 'assistant') return { ...message, content };
  const { providerMetadata: _, ...rest } = message;
  return {
    ...rest,
    content,
    ...(message.toolCalls && {
      toolCalls: message.toolCalls.map(({ callId, name, providerExecuted }) => ({
        callId,
        name,
        arguments: '{}',
        after: 1,
        ...(providerExecuted && { providerExecuted: {} }),
      })),
    }),
  };
}

/** A settlement without its result, which is the content of the erased message. */
export function erasedSettlement(how: Settlement): Settlement {
  return 'rerun' in how ? how : { ...how, result: ERASED };
}

/** An interrupted response without its text, which is the beginning of the erased response. */
export function erasedAttempt(event: MessageInterrupted): MessageInterrupted {
  return { ...event, blocks: event.blocks.map((block) => ({ ...block, text: ERASED })) };
}

/** A summary without its text, which may quote the erased message. */
export function erasedSummary(event: HistorySummarized): HistorySummarized {
  return { ...event, text: ERASED };
}

/** An input without its content, which is that of the erased message. */
export function erasedInput(event: InputQueued): InputQueued {
  return { ...event, content: [{ type: 'text', text: ERASED }] };
}

/** Whether a content was erased. */
export function isErasedContent(content: ConversationMessage['content']): boolean {
  const [part] = content;
  return content.length === 1 && part?.type === 'text' && part.text === ERASED;
}

/** A call whose message, or whose result, was erased. */
export function erasedCall(call: CallState, message: ConversationMessage): CallState {
  const { editedArguments: _, edited: __, ...rest } = call;
  if (message.role === 'assistant') {
    const { argumentsRedacted: ___, ...unmarked } = rest;
    return { ...unmarked, arguments: '{}', ...(!hasResult(call) && { erased: true }) };
  }
  if (message.role !== 'tool' || message.toolCallId !== call.callId) return call;
  return call.settlement ? { ...rest, settlement: erasedSettlement(call.settlement) } : rest;
}
