import type { ConversationMessage } from '../../src/core/log/messages.ts';
import type { Provider } from '../../src/formats/provider-rules.ts';

/**
 * Messages in a provider's format, without renaming, moving or dropping anything, so that a server's rejection is about the messages.
 * Reasoning is dropped: only its signer can validate it.
 */
export function toWire(messages: readonly ConversationMessage[], provider: Provider): Record<string, unknown> {
  return provider === 'openai' ? { messages: messages.map(openAi) } : anthropic(messages);
}

function openAi(message: ConversationMessage): Record<string, unknown> {
  const text = message.content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('');
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.toolCallId, content: text };
  if (message.role !== 'assistant') return { role: message.role, content: text };
  const calls = message.toolCalls?.filter((call) => call.providerExecuted === undefined);
  const said = message.content.some((part) => part.type === 'text');
  if (!calls || calls.length === 0) return { role: 'assistant', content: said ? text : null };
  return {
    role: 'assistant',
    content: said ? text : null,
    tool_calls: calls.map((call) => ({
      id: call.callId,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

function anthropic(messages: readonly ConversationMessage[]): Record<string, unknown> {
  const leading = messages.findIndex(({ role }) => role !== 'system');
  const said = leading < 0 ? [] : messages.slice(leading);
  const turns: { role: string; content: unknown[] }[] = [];
  for (const message of said) {
    const role = message.role === 'tool' ? 'user' : message.role;
    const last = turns.at(-1);
    // The API joins consecutive messages of one side; so does this.
    if (last?.role === role) last.content.push(...blocksOf(message));
    else turns.push({ role, content: blocksOf(message) });
  }
  return { messages: turns };
}

function blocksOf(message: ConversationMessage): unknown[] {
  const blocks = message.content.flatMap((part): unknown[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    if (part.type !== 'image') return [];
    return [{ type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }];
  });
  if (message.role === 'tool') {
    return [{ type: 'tool_result', tool_use_id: message.toolCallId, content: blocks, is_error: message.isError }];
  }
  if (message.role !== 'assistant') return blocks;
  const calls = message.toolCalls ?? [];
  const ran = calls.flatMap(({ providerExecuted, name }) => {
    if (providerExecuted === undefined) return [];
    const id = `srvtoolu_${serverCalls++}`;
    const call = { type: 'server_tool_use', id, name, input: {} };
    return [call, { type: 'web_search_tool_result', tool_use_id: id, content: [] }];
  });
  const asked = calls.filter((call) => call.providerExecuted === undefined);
  return [...blocks, ...ran, ...asked.map(({ callId: id, name }) => ({ type: 'tool_use', id, name, input: {} }))];
}

/** The provider assigns the ids of calls that it ran. */
let serverCalls = 0;
