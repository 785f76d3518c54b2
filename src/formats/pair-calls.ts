import { AskedCalls, StrayResults } from '../core/fold/asked-calls.ts';
import { type AssistantMessage, type ConversationMessage, callsOf, type ToolMessage } from '../core/log/messages.ts';
import type { FormatOptions } from './losses.ts';
import { placeBeside } from './message-parts.ts';
import { NO_RESULT } from './placeholders.ts';

/**
 * Calls with their results, as every API wants them: each call is followed by its result, in call order, before any other message. A
 * log may hold results that came late, twice, without a call, or not at all.
 */

/**
 * The messages with one result for each call, directly after the message that made it, in call order. A missing result becomes a
 * placeholder; results without a call are left out.
 */
export function pairCalls(
  messages: readonly ConversationMessage[],
  { onLoss }: FormatOptions = {},
): readonly ConversationMessage[] {
  const responses: AskedCalls<ToolMessage>[] = [];
  const strays = new StrayResults();
  const again: ToolMessage[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') responses.push(new AskedCalls(callsOf(message)));
    if (message.role !== 'tool') continue;
    const nearest = responses.at(-1);
    if (nearest && nearest.addResult(message.toolCallId, message) >= 0) continue;
    if (nearest?.has(message.toolCallId)) again.push(message);
    else strays.add(message);
  }
  let next = 0;
  const paired = messages.flatMap((message): readonly ConversationMessage[] => {
    if (message.role === 'tool') return [];
    const asked = message.role === 'assistant' ? responses[next++] : undefined;
    if (!asked || message.role !== 'assistant') return [message];
    strays.giveTo(message, asked);
    const found = asked.calls.map((call, i) => {
      const result = asked.results[i];
      if (!result) onLoss?.({ what: 'missing result', why: `"${NO_RESULT}" stands in its place`, id: call.callId });
      return result ?? missingResult(message, call);
    });
    return [message, ...found];
  });
  for (const { toolCallId: id } of [...again, ...strays.left()]) {
    onLoss?.({ what: 'tool result', why: 'its call is not in the conversation, or has a result', id });
  }
  return paired;
}

const missing = new WeakMap<AssistantMessage, Map<string, ToolMessage>>();

/** A result for a call that has none; its text says so. Returns the same object each time. */
function missingResult(
  asking: AssistantMessage,
  call: { readonly callId: string; readonly name: string },
): ToolMessage {
  const known = missing.get(asking)?.get(call.callId);
  if (known) return known;
  const result: ToolMessage = {
    ...placeBeside(asking),
    turn: asking.turn,
    id: `${asking.id}/${call.callId}`,
    role: 'tool',
    toolCallId: call.callId,
    toolName: call.name,
    content: [{ type: 'text', text: NO_RESULT }],
    isError: true,
  };
  const results = missing.get(asking) ?? new Map<string, ToolMessage>();
  missing.set(asking, results.set(call.callId, result));
  return result;
}
