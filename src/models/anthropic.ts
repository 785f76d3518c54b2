import type {
  AssistantMessage,
  ConversationMessage,
  ReasoningPart,
  TextPart,
  ToolCall,
  ToolMessage,
} from '../core/messages.ts';
import {
  type AnthropicTextBlock,
  type AnthropicUserBlock,
  readText,
  readUserBlock,
  textBlock,
  type UnreadBlock,
  userBlock,
} from './anthropic-blocks.ts';
import { SentCallIds, safeIds, sentName } from './call-ids.ts';
import { ImportedMessages, type ImportOptions, isRecord, refuseMessage } from './imported-messages.ts';
import { FAILED_SILENTLY, isSaid, NOTHING_SAID } from './sent-text.ts';
import { objectOf } from './tool-input.ts';

/**
 * Messages of Anthropic's Messages API, for those who call it themselves. The types are our own, and fit the parameters of the
 * `@anthropic-ai/sdk` package.
 */

/** What came of a call. */
export type AnthropicToolResultBlock = {
  type: 'tool_result';
  tool_use_id: string;
  content?: string | AnthropicUserBlock[];
  is_error?: true;
};
/** What an assistant may say: text, thoughts, calls, and what Anthropic ran itself. */
export type AnthropicAssistantBlock =
  | AnthropicTextBlock
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'server_tool_use'; id: string; name: 'web_search'; input: Record<string, unknown> }
  | { type: 'web_search_tool_result'; tool_use_id: string; content: AnthropicSearchResult[] };
/** One thing that a search found; its content only Anthropic can read. */
export type AnthropicSearchResult = {
  type: 'web_search_result';
  url: string;
  title: string;
  encrypted_content: string;
};
/** A message of the Messages API. */
export type AnthropicMessage =
  | { role: 'user'; content: (AnthropicUserBlock | AnthropicToolResultBlock)[] }
  | { role: 'assistant'; content: AnthropicAssistantBlock[] };

/** A conversation as the Messages API takes it: `{ ...toAnthropic(messages), model, max_tokens }`. */
export interface AnthropicConversation {
  system?: AnthropicTextBlock[];
  messages: AnthropicMessage[];
}

/** A conversation as `fromAnthropic` takes it: anything that the API sends or accepts. It is checked when it is read. */
export interface AnthropicInput {
  readonly system?: unknown;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/**
 * Our messages as the Messages API takes them: system text apart, results together directly after their calls, thoughts
 * with their signature in their place, no blank text.
 *
 * What the API cannot hold: several system messages become one list of texts; reasoning that Anthropic did not sign, calls
 * that another provider executed itself and an assistant's media are left out; calls move behind the text of their thought.
 * Call ids get the characters that are allowed, arguments that are no JSON object are wrapped in one. Media of a type that
 * the API does not take is an `INVALID_ARGUMENT`.
 */
export function toAnthropic(messages: readonly ConversationMessage[]): AnthropicConversation {
  const ids = new SentCallIds(safeIds(64));
  const system: AnthropicTextBlock[] = [];
  const sent: AnthropicMessage[] = [];
  let results: AnthropicToolResultBlock[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (results.length === 0) sent.push({ role: 'user', content: results });
      results.push(resultOf(message, ids));
      continue;
    }
    results = [];
    if (message.role === 'system') system.push(...message.content.filter(isSaid).map(textBlock));
    else if (message.role === 'user') {
      const content = message.content.filter(isSaid).map(userBlock);
      sent.push({ role: 'user', content: content.length > 0 ? content : [{ type: 'text', text: NOTHING_SAID }] });
    } else {
      const content = assistantBlocks(message, ids);
      if (content.length > 0) sent.push({ role: 'assistant', content });
    }
  }
  return { ...(system.length > 0 ? { system } : {}), messages: sent };
}

function assistantBlocks(message: AssistantMessage, ids: SentCallIds): AnthropicAssistantBlock[] {
  const { content, toolCalls = [] } = message;
  const calls = toolCalls.filter((call) => call.providerExecuted === undefined);
  const sentIds = ids.open(calls);
  const blocks: AnthropicAssistantBlock[] = [];
  // Text behind a call is refused, so the calls of a stretch wait for its end; a thought ends it.
  let waiting: AnthropicAssistantBlock[] = [];
  const endStretch = (): void => {
    blocks.push(...waiting);
    waiting = [];
  };
  const placeOf = (call: ToolCall): number => Math.min(call.after ?? content.length, content.length);
  const callsAt = (place: number): void => {
    for (const call of toolCalls)
      if (call.providerExecuted && placeOf(call) === place) blocks.push(...serverBlocks(call));
    for (const [i, call] of calls.entries()) {
      if (placeOf(call) !== place) continue;
      waiting.push({
        type: 'tool_use',
        id: sentIds[i] as string,
        name: sentName(call.name),
        input: objectOf(call.arguments),
      });
    }
  };
  for (const [place, part] of content.entries()) {
    callsAt(place);
    if (part.type === 'reasoning') {
      const thought = thoughtBlock(part);
      if (!thought) continue;
      endStretch();
      blocks.push(thought);
    } else if (part.type === 'text' && isSaid(part)) blocks.push(textBlock(part));
  }
  callsAt(content.length);
  endStretch();
  while (blocks.at(-1)?.type.endsWith('thinking')) blocks.pop();
  return blocks;
}

function thoughtBlock(part: ReasoningPart): AnthropicAssistantBlock | undefined {
  if (part.provider !== 'anthropic') return undefined;
  if (part.signature !== undefined) return { type: 'thinking', thinking: part.text, signature: part.signature };
  return part.redacted === undefined ? undefined : { type: 'redacted_thinking', data: part.redacted };
}

/** Marks calls whose result is as this API sent it; the AI SDK has it in a form of its own. */
const SERVER_TOOLS = 'anthropic-messages';

/** A tool that Anthropic ran: its call and its result, as they came. */
function serverBlocks(call: ToolCall): AnthropicAssistantBlock[] {
  const { providerData, providerExecuted } = call;
  if (providerData?.provider !== SERVER_TOOLS) return [];
  const { call: called, result } = providerData.data as { call?: object; result?: object };
  if (!called || !result) return [];
  // Blocks of any server tool; the types name the one that everybody has.
  return [
    { ...called, id: call.callId, name: call.name, input: objectOf(call.arguments) },
    { ...result, tool_use_id: call.callId, content: providerExecuted?.result },
  ] as AnthropicAssistantBlock[];
}

function resultOf(message: ToolMessage, ids: SentCallIds): AnthropicToolResultBlock {
  const parts = message.content.filter(isSaid).map(userBlock);
  const [only] = parts;
  const content = parts.length === 1 && only?.type === 'text' ? only.text : parts;
  return {
    type: 'tool_result',
    tool_use_id: ids.resultOf(message.toolCallId),
    ...(content.length > 0 ? { content } : message.isError ? { content: FAILED_SILENTLY } : {}),
    ...(message.isError ? { is_error: true } : {}),
  };
}

/**
 * A Messages API conversation as ours: a user message's tool results become messages of their own, before the rest of it.
 * Tools that Anthropic ran itself are kept as calls with their result, which `toAnthropic` puts side by side. Citations and
 * cache marks are left out. Throws `INVALID_ARGUMENT` for what is no such message.
 */
export function fromAnthropic(input: AnthropicInput, options: ImportOptions = {}): readonly ConversationMessage[] {
  const imported = new ImportedMessages(options);
  const system = readBlocks(input.system ?? [], () => refuseMessage('Messages API', -1, 'system is not text'));
  const instructions = system.flatMap((block) => readText(block) ?? []);
  if (instructions.length > 0) imported.push({ role: 'system', content: instructions });
  for (const [index, message] of input.messages.entries()) {
    const refuse = (why: string): never => refuseMessage('Messages API', index, why);
    if (!isRecord(message)) refuse('it is not an object');
    const blocks = readBlocks(message.content, refuse);
    if (message.role === 'assistant') imported.push({ role: 'assistant', ...readAnswer(blocks, refuse) });
    else if (message.role === 'user') {
      for (const block of blocks) {
        if (block.type !== 'tool_result') continue;
        const { tool_use_id: toolCallId } = block;
        if (typeof toolCallId !== 'string') return refuse('a tool_result lacks its tool_use_id');
        const content = readBlocks(block.content ?? [], refuse).flatMap((part) => readUserBlock(part) ?? []);
        imported.push({
          role: 'tool',
          toolCallId,
          toolName: imported.nameOf(toolCallId),
          content,
          isError: block.is_error === true,
        });
      }
      const rest = blocks.filter(({ type }) => type !== 'tool_result');
      if (rest.length > 0 || blocks.length === 0) {
        imported.push({ role: 'user', content: rest.flatMap((block) => readUserBlock(block) ?? []) });
      }
    } else refuse(`its role is "${message.role}"`);
  }
  return imported.messages;
}

function readBlocks(content: unknown, refuse: (why: string) => never): readonly UnreadBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content) || !content.every(isRecord))
    return refuse('its content is neither text nor a list of blocks');
  return content;
}

function readAnswer(
  blocks: readonly UnreadBlock[],
  refuse: (why: string) => never,
): Pick<AssistantMessage, 'content' | 'toolCalls'> {
  const content: (TextPart | ReasoningPart)[] = [];
  const calls: { call: ToolCall; after: number }[] = [];
  for (const block of blocks) {
    const { type, id, name, input } = block;
    if (typeof type === 'string' && type !== 'tool_use' && type.endsWith('tool_use')) {
      const call = readServerCall(block, blocks);
      if (call) calls.push({ call, after: content.length });
      continue;
    }
    if (type === 'thinking') {
      const { thinking, signature } = block;
      const signed = typeof signature === 'string' ? { signature } : {};
      content.push({
        type: 'reasoning',
        text: typeof thinking === 'string' ? thinking : '',
        ...signed,
        provider: 'anthropic',
      });
    } else if (type === 'redacted_thinking' && typeof block.data === 'string') {
      content.push({ type: 'reasoning', text: '', redacted: block.data, provider: 'anthropic' });
    } else if (type === 'tool_use') {
      if (typeof id !== 'string' || typeof name !== 'string') return refuse('a tool_use lacks its id or its name');
      calls.push({ call: { callId: id, name, arguments: JSON.stringify(input ?? {}) }, after: content.length });
    } else {
      const text = readText(block);
      if (text) content.push(text);
    }
  }
  const toolCalls = calls.map(({ call, after }) => (after === content.length ? call : { ...call, after }));
  return { content, ...(toolCalls.length > 0 ? { toolCalls } : {}) };
}

/** A call that Anthropic ran, with its result; one that has none yet is left out, because it cannot be sent back. */
function readServerCall(block: UnreadBlock, blocks: readonly UnreadBlock[]): ToolCall | undefined {
  const { id, name, input, cache_control: _, ...call } = block;
  const answer = blocks.find(({ tool_use_id }) => tool_use_id === id);
  if (typeof id !== 'string' || typeof name !== 'string' || !answer) return undefined;
  const { tool_use_id: _id, content, cache_control: _cache, ...result } = answer;
  return {
    callId: id,
    name,
    arguments: JSON.stringify(input ?? {}),
    providerExecuted: { result: content },
    providerData: { provider: SERVER_TOOLS, data: { call, result } },
  };
}
