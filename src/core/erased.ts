import { type CallState, hasResult } from './evaluations.ts';
import type { HistorySummarized, InputContent, InputQueued, MessageInterrupted, Settlement } from './events.ts';
import type { ConversationMessage } from './messages.ts';

/** What stays of messages, calls, settlements and summaries when what they said is erased (D58). */

const ERASED = '[erased]';

/** A message without what was said: its place, its role and its calls' names stay (D58). */
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

/** A person's word on a call without what it said: the result was the message that is being erased. */
export function erasedSettlement(how: Settlement): Settlement {
  return 'rerun' in how ? how : { ...how, result: ERASED };
}

/** An attempt at a response that broke off, without what it said: the response was erased, and it says the beginning of that. */
export function erasedAttempt(event: MessageInterrupted): MessageInterrupted {
  return { ...event, blocks: event.blocks.map((block) => ({ ...block, text: ERASED })) };
}

/** A summary without its text, which may contain what an erased message said. */
export function erasedSummary(event: HistorySummarized): HistorySummarized {
  return { ...event, text: ERASED };
}

/** An input without what it said: the message that it became was erased. */
export function erasedInput(event: InputQueued): InputQueued {
  return { ...event, content: [{ type: 'text', text: ERASED }] };
}

/** Whether a content is what an erasure left. */
export function isErasedContent(content: InputContent): boolean {
  const [part] = content;
  return content.length === 1 && part?.type === 'text' && part.text === ERASED;
}

/** A call whose message, or whose result, was erased. */
export function erasedCall(call: CallState, message: ConversationMessage): CallState {
  const { editedArguments: _, edited: __, ...rest } = call;
  if (message.role === 'assistant') {
    const { argumentsRedacted: ___, ...said } = rest;
    return { ...said, arguments: '{}', ...(!hasResult(call) && { erased: true }) };
  }
  if (message.role !== 'tool' || message.toolCallId !== call.callId) return call;
  return call.settlement ? { ...rest, settlement: erasedSettlement(call.settlement) } : rest;
}
