import { type ConversationMessage, callsOf, type ToolCall } from '../core/log/messages.ts';
import type { ApiRules } from './api-rules.ts';
import { SentCallIds, sentName } from './call-ids.ts';
import type { FormatOptions } from './losses.ts';

/** Call ids and tool names that an API does not take: found, and changed on calls and results alike. */

/** Where a rule is broken. */
export interface Breach {
  readonly index: number;
  readonly callId?: string;
}

/** Calls and results whose id the API does not take. */
export function badIds(messages: readonly ConversationMessage[], { callIds }: ApiRules): readonly Breach[] {
  return messages.flatMap((message, index) => {
    const ids = message.role === 'tool' ? [message.toolCallId] : callsOf(message).map(({ callId }) => callId);
    return ids.filter((id) => !callIds.fits(id)).map((callId) => ({ index, callId }));
  });
}

/** Calls whose id another call of the request has. */
export function repeatedIds(messages: readonly ConversationMessage[]): readonly Breach[] {
  const seen = new Set<string>();
  return callsThat(messages, ({ callId }) => seen.has(callId) || !seen.add(callId));
}

/** Calls of tools whose name the API does not take. */
export function badNames(messages: readonly ConversationMessage[], { names }: ApiRules): readonly Breach[] {
  return callsThat(messages, ({ name }) => sentName(name, names) !== name);
}

function callsThat(messages: readonly ConversationMessage[], breaks: (call: ToolCall) => boolean): readonly Breach[] {
  return messages.flatMap((message, index) =>
    callsOf(message)
      .filter(breaks)
      .map(({ callId }) => ({ index, callId })),
  );
}

const NOT_TAKEN = 'changed: the API takes some characters, up to a length, and each id once';

/** Gives each call an id and a name that the API takes, the id only once; results follow their calls. */
export function renameCalls(
  messages: readonly ConversationMessage[],
  { callIds, names }: ApiRules,
  { onLoss }: FormatOptions = {},
): readonly ConversationMessage[] {
  const ids = new SentCallIds(callIds);
  return messages.map((message) => {
    if (message.role === 'tool') {
      const [toolCallId, toolName] = [ids.resultOf(message.toolCallId), sentName(message.toolName, names)];
      const isSame = toolCallId === message.toolCallId && toolName === message.toolName;
      return isSame ? message : { ...message, toolCallId, toolName };
    }
    if (message.role !== 'assistant' || !message.toolCalls) return message;
    const sent = ids.open(callsOf(message));
    let next = 0;
    const rename = (call: ToolCall): ToolCall => {
      if (call.providerExecuted) return call;
      const callId = sent[next++] as string;
      const name = sentName(call.name, names);
      if (callId !== call.callId) onLoss?.({ what: 'call id', why: NOT_TAKEN, id: call.callId });
      if (name !== call.name) onLoss?.({ what: 'tool name', why: NOT_TAKEN, id: call.name });
      return callId === call.callId && name === call.name ? call : { ...call, callId, name };
    };
    const toolCalls = message.toolCalls.map(rename);
    return toolCalls.every((call, i) => call === message.toolCalls?.[i]) ? message : { ...message, toolCalls };
  });
}
