import { isRecord } from '../core/log/message-problem.ts';
import type {
  AssistantMessage,
  ConversationMessage,
  ReasoningPart,
  ToolCall,
  ToolMessage,
} from '../core/log/messages.ts';
import {
  type AnthropicTextBlock,
  type AnthropicUserBlock,
  isServerCall,
  readBlocks,
  readServerCall,
  readText,
  readThought,
  readUserBlock,
  serverBlocks,
  textBlock,
  type UnreadBlock,
  userBlocks,
} from './anthropic-blocks.ts';
import { inputOf } from './call-arguments.ts';
import { ImportedMessages, type MessageImportOptions, refuseMessage } from './imported-messages.ts';
import type { FormatOptions } from './losses.ts';
import { partsAndCalls } from './message-parts.ts';
import { EMPTY_FAILURE, EMPTY_MESSAGE } from './placeholders.ts';
import { prepare } from './provider-rules.ts';

/**
 * The codec of Anthropic's Messages API. `toAnthropic` and `fromAnthropic` are for callers that use the API themselves; the exporter
 * writes the same. The types are our own, and fit the parameters of the `@anthropic-ai/sdk` package.
 */

/** The result of a call. */
export type AnthropicToolResultBlock = {
  type: 'tool_result';
  tool_use_id: string;
  content?: string | AnthropicUserBlock[];
  is_error?: true;
};
/** The content of a response: text, thoughts, calls, and the calls that Anthropic ran itself. */
export type AnthropicAssistantBlock =
  | AnthropicTextBlock
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'server_tool_use'; id: string; name: 'web_search'; input: Record<string, unknown> }
  | { type: 'web_search_tool_result'; tool_use_id: string; content: AnthropicSearchResult[] };
/** One result of a search; only Anthropic can read its content. */
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
 * Our messages as the Messages API takes them: system text apart, results together directly after their calls, thoughts with their
 * signature in their place, no blank text.
 *
 * What the API cannot hold, `onLoss` receives: several system messages become one list of texts; reasoning that Anthropic did not
 * sign, calls that another provider ran itself and a response's media are left out; calls move behind the text of their thought. Call
 * ids get the characters that are allowed, arguments that are no JSON object are wrapped in one, and a call without a result gets a
 * placeholder. Without `onLoss`, media of a type that the API does not take is an `INVALID_ARGUMENT`.
 */
export function toAnthropic(
  messages: readonly ConversationMessage[],
  options: FormatOptions = {},
): AnthropicConversation {
  const system: AnthropicTextBlock[] = [];
  const sent: AnthropicMessage[] = [];
  let results: AnthropicToolResultBlock[] = [];
  for (const message of prepare(messages, 'anthropic', options)) {
    if (message.role === 'tool') {
      if (results.length === 0) sent.push({ role: 'user', content: results });
      results.push(resultBlock(message, options));
      continue;
    }
    results = [];
    if (message.role === 'system') system.push(...message.content.map(textBlock));
    else if (message.role === 'assistant') sent.push({ role: 'assistant', content: assistantBlocks(message, options) });
    else {
      const content = message.content.flatMap((part) => userBlocks(part, message.id, options));
      sent.push({ role: 'user', content: content.length > 0 ? content : [{ type: 'text', text: EMPTY_MESSAGE }] });
    }
  }
  return { ...(system.length > 0 ? { system } : {}), messages: sent };
}

function assistantBlocks(message: AssistantMessage, options: FormatOptions): AnthropicAssistantBlock[] {
  const blocks: AnthropicAssistantBlock[] = [];
  // Text behind a call is refused, so the calls of a stretch wait for its end; a thought ends it.
  let waiting: Extract<AnthropicAssistantBlock, { type: 'tool_use' }>[] = [];
  const endStretch = (): void => {
    blocks.push(...waiting);
    waiting = [];
  };
  for (const step of partsAndCalls(message)) {
    if ('callId' in step) {
      // Blocks of any server tool; the types name the most common one.
      if (step.providerExecuted) blocks.push(...((serverBlocks(step) ?? []) as AnthropicAssistantBlock[]));
      else waiting.push({ type: 'tool_use', id: step.callId, name: step.name, input: inputOf(step, options) });
    } else if (step.type === 'reasoning') {
      endStretch();
      blocks.push(thoughtBlock(step));
    } else if (step.type === 'text') {
      for (const { id } of waiting)
        options.onLoss?.({ what: 'place of a call in its response', why: NO_TEXT_AFTER, id });
      blocks.push(textBlock(step));
    }
  }
  endStretch();
  return blocks;
}

const NO_TEXT_AFTER = 'Anthropic takes no text behind a call';

function thoughtBlock({ text, signature, redacted = '' }: ReasoningPart): AnthropicAssistantBlock {
  if (signature === undefined) return { type: 'redacted_thinking', data: redacted };
  return { type: 'thinking', thinking: text, signature };
}

function resultBlock(message: ToolMessage, options: FormatOptions): AnthropicToolResultBlock {
  const { toolCallId, isError } = message;
  const parts = message.content.flatMap((part) => userBlocks(part, toolCallId, options));
  const [only] = parts;
  const content = parts.length === 1 && only?.type === 'text' ? only.text : parts;
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    ...(content.length > 0 ? { content } : isError ? { content: EMPTY_FAILURE } : {}),
    ...(isError ? { is_error: true } : {}),
  };
}

/**
 * A Messages API conversation as ours: a user message's tool results become messages of their own, before the rest of it. Calls that
 * Anthropic ran itself are kept with their result, which `toAnthropic` puts side by side. Citations and cache marks are left out.
 * Throws `INVALID_ARGUMENT` for what is no such message.
 */
export function fromAnthropic(
  input: AnthropicInput,
  options: MessageImportOptions = {},
): readonly ConversationMessage[] {
  const imported = new ImportedMessages(options);
  const system = readBlocks(input.system ?? []) ?? refuseMessage('Messages API', -1, 'system is not text');
  const instructions = system.flatMap((block) => readText(block) ?? []);
  if (instructions.length > 0) imported.push({ role: 'system', content: instructions });
  for (const [index, message] of input.messages.entries()) {
    const refuse = (why: string): never => refuseMessage('Messages API', index, why);
    if (!isRecord(message)) refuse('it is not an object');
    const blocks = readBlocks(message.content) ?? refuse(NO_BLOCKS);
    if (message.role === 'assistant') imported.push({ role: 'assistant', ...readResponse(blocks, refuse) });
    else if (message.role === 'user') {
      for (const block of blocks) {
        if (block.type !== 'tool_result') continue;
        const { tool_use_id: toolCallId } = block;
        if (typeof toolCallId !== 'string') return refuse('a tool_result lacks its tool_use_id');
        const parts = readBlocks(block.content ?? []) ?? refuse(NO_BLOCKS);
        const content = parts.flatMap((part) => readUserBlock(part) ?? []);
        const toolName = imported.nameOf(toolCallId);
        imported.push({ role: 'tool', toolCallId, toolName, content, isError: block.is_error === true });
      }
      const rest = blocks.filter(({ type }) => type !== 'tool_result');
      if (rest.length > 0 || blocks.length === 0) {
        imported.push({ role: 'user', content: rest.flatMap((block) => readUserBlock(block) ?? []) });
      }
    } else refuse(`its role is "${message.role}"`);
  }
  return imported.messages;
}

const NO_BLOCKS = 'its content is neither text nor a list of blocks';

/** A response's blocks. A server call that has no result yet is left out, because it cannot be sent back. */
function readResponse(
  blocks: readonly UnreadBlock[],
  refuse: (why: string) => never,
): Pick<AssistantMessage, 'content' | 'toolCalls'> {
  const content: AssistantMessage['content'][number][] = [];
  const calls: { call: ToolCall; after: number }[] = [];
  for (const block of blocks) {
    const { type, id, name, input } = block;
    if (type === 'tool_use') {
      if (typeof id !== 'string' || typeof name !== 'string') return refuse('a tool_use lacks its id or its name');
      calls.push({ call: { callId: id, name, arguments: JSON.stringify(input ?? {}) }, after: content.length });
    } else if (isServerCall(block)) {
      const call = readServerCall(
        block,
        blocks.find(({ tool_use_id }) => tool_use_id === id),
      );
      if (call) calls.push({ call, after: content.length });
    } else content.push(...[readThought(block) ?? readText(block) ?? []].flat());
  }
  const toolCalls = calls.map(({ call, after }) => (after === content.length ? call : { ...call, after }));
  return { content, ...(toolCalls.length > 0 ? { toolCalls } : {}) };
}
