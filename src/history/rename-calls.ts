import type { ConversationMessage, ToolCall } from '../core/messages.ts';

/** Call ids and tool names as providers take them: found where they do not fit, and changed on calls and results alike. */

/** Where a rule is broken. */
export interface Breach {
  readonly index: number;
  readonly callId?: string;
}

/** Calls and results whose id does not fit. */
export function badIds(fits: (id: string) => boolean): (messages: readonly ConversationMessage[]) => readonly Breach[] {
  return (messages) =>
    messages.flatMap((message, index) => {
      const ids = message.role === 'tool' ? [message.toolCallId] : callIds(message);
      return ids.filter((id) => !fits(id)).map((callId) => ({ index, callId }));
    });
}

function callIds(message: ConversationMessage): readonly string[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ callId }) => callId) : [];
}

/** Calls whose id another call of the request has. */
export function repeatedIds(messages: readonly ConversationMessage[]): readonly Breach[] {
  const seen = new Set<string>();
  return messages.flatMap((message, index) =>
    callIds(message).flatMap((callId) => {
      if (seen.has(callId)) return { index, callId };
      seen.add(callId);
      return [];
    }),
  );
}

/** Gives each call an id that fits and that no call before it has; results follow their calls. */
export function renameCalls(
  messages: readonly ConversationMessage[],
  fits: (id: string) => boolean,
): readonly ConversationMessage[] {
  const used = new Set<string>();
  let open: { readonly before: string; readonly now: string }[] = [];
  const rename = (call: ToolCall): ToolCall => {
    let now = call.callId;
    for (let n = 2; !fits(now) || used.has(now); n++) now = fittingId(call.callId, n);
    used.add(now);
    if (call.providerExecuted === undefined) open.push({ before: call.callId, now });
    return now === call.callId ? call : { ...call, callId: now };
  };
  return messages.map((message) => {
    if (message.role === 'assistant') {
      open = [];
      if (!message.toolCalls) return message;
      const toolCalls = message.toolCalls.map(rename);
      return toolCalls.every((call, i) => call === message.toolCalls?.[i]) ? message : { ...message, toolCalls };
    }
    if (message.role !== 'tool') return message;
    const at = open.findIndex(({ before }) => before === message.toolCallId);
    const now = open.splice(at < 0 ? open.length : at, 1)[0]?.now ?? message.toolCallId;
    return now === message.toolCallId ? message : { ...message, toolCallId: now };
  });
}

function fittingId(id: string, n: number): string {
  const suffix = `_${n}`;
  return (id.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'call').slice(0, 40 - suffix.length) + suffix;
}

/** Calls of tools whose name is too long or has in it what is not allowed. */
export function badNames(longest: number): (messages: readonly ConversationMessage[]) => readonly Breach[] {
  const fits = (name: string): boolean => name.length <= longest && /^[a-zA-Z0-9_-]+$/.test(name);
  return (messages) =>
    messages.flatMap((message, index) =>
      message.role === 'assistant'
        ? (message.toolCalls ?? []).filter(({ name }) => !fits(name)).map(({ callId }) => ({ index, callId }))
        : [],
    );
}

/** Leaves in the names of tools what is allowed in them. */
export function renameTools(messages: readonly ConversationMessage[], longest: number): readonly ConversationMessage[] {
  const allowed = (name: string): string => (name.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'tool').slice(0, longest);
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, toolName: allowed(message.toolName) };
    if (message.role !== 'assistant' || !message.toolCalls) return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, name: allowed(call.name) })) };
  });
}
