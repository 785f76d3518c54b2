import { isRecord } from '../core/message-problem.ts';
import type { AssistantMessage, ConversationMessage, ReasoningPart, ToolCall, ToolMessage } from '../core/messages.ts';
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
import { API_RULES } from './api-rules.ts';
import { ImportedMessages, type ImportOptions, refuseMessage } from './imported-messages.ts';
import type { FormatOptions } from './losses.ts';
import { pairCalls } from './pair-calls.ts';
import { EMPTY_FAILURE, EMPTY_MESSAGE, hasContent } from './placeholders.ts';
import { partsAndCalls, SentCalls } from './sent-calls.ts';

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
  const { onLoss } = options;
  const calls = new SentCalls(API_RULES.anthropic, options);
  const system: AnthropicTextBlock[] = [];
  const sent: AnthropicMessage[] = [];
  let results: AnthropicToolResultBlock[] = [];
  for (const message of pairCalls(messages, options)) {
    if (message.role === 'tool') {
      if (results.length === 0) sent.push({ role: 'user', content: results });
      results.push(resultBlock(message, calls.resultOf(message).id, options));
      continue;
    }
    results = [];
    const { id } = message;
    if (message.role === 'system') {
      if (sent.length > 0) {
        onLoss?.({ what: 'place of instructions', why: 'Anthropic takes them before the messages', id });
      }
      system.push(...message.content.filter(hasContent).map(textBlock));
    } else if (message.role === 'user') {
      const content = message.content.filter(hasContent).flatMap((part) => userBlocks(part, id, options));
      if (content.length === 0) {
        onLoss?.({ what: 'empty message', why: `"${EMPTY_MESSAGE}" stands in its place`, id });
        content.push({ type: 'text', text: EMPTY_MESSAGE });
      }
      sent.push({ role: 'user', content });
    } else {
      const content = assistantBlocks(message, calls, options);
      if (content.length === 0) continue;
      if (sent.length === 0) {
        onLoss?.({ what: 'beginning', why: 'Anthropic wants a user message first; add one before you send it', id });
      }
      sent.push({ role: 'assistant', content });
    }
  }
  return { ...(system.length > 0 ? { system } : {}), messages: sent };
}

function assistantBlocks(
  message: AssistantMessage,
  calls: SentCalls,
  { onLoss }: FormatOptions,
): AnthropicAssistantBlock[] {
  const { id } = message;
  const sentCalls = calls.open(message);
  const blocks: AnthropicAssistantBlock[] = [];
  // Text behind a call is refused, so the calls of a stretch wait for its end; a thought ends it.
  let waiting: AnthropicAssistantBlock[] = [];
  const endStretch = (): void => {
    blocks.push(...waiting);
    waiting = [];
  };
  for (const step of partsAndCalls(message)) {
    if ('call' in step) {
      const { call } = step;
      const sent = sentCalls.get(call);
      // Blocks of any server tool; the types name the one that everybody has.
      const ran = sent ? undefined : (serverBlocks(call) as AnthropicAssistantBlock[] | undefined);
      if (sent) waiting.push({ type: 'tool_use', ...sent });
      else if (ran) blocks.push(...ran);
      else onLoss?.({ what: 'call that a provider ran', why: 'Anthropic takes back only its own', id: call.callId });
    } else if (step.part.type === 'reasoning') {
      const thought = thoughtBlock(step.part);
      if (!thought) {
        onLoss?.({ what: 'reasoning', why: 'Anthropic takes back only what it signed', id });
        continue;
      }
      endStretch();
      blocks.push(thought);
    } else if (step.part.type !== 'text') {
      onLoss?.({ what: 'medium of an answer', why: 'Anthropic takes none in a response', id });
    } else if (hasContent(step.part)) {
      for (const call of waiting) {
        if (call.type !== 'tool_use') continue;
        onLoss?.({ what: 'place of a call in its answer', why: 'Anthropic takes no text behind a call', id: call.id });
      }
      blocks.push(textBlock(step.part));
    }
  }
  endStretch();
  while (blocks.at(-1)?.type.endsWith('thinking')) {
    blocks.pop();
    onLoss?.({ what: 'reasoning', why: 'Anthropic refuses a response that ends with it', id });
  }
  return blocks;
}

/** A thought that Anthropic signed. One of unknown origin is not sent: a foreign signature makes the API refuse the request. */
function thoughtBlock(part: ReasoningPart): AnthropicAssistantBlock | undefined {
  if (!isSignedByAnthropic(part)) return undefined;
  if (part.signature !== undefined) return { type: 'thinking', thinking: part.text, signature: part.signature };
  return { type: 'redacted_thinking', data: part.redacted as string };
}

/** Whether Anthropic takes a thought back. */
export function isSignedByAnthropic({ provider, signature, redacted }: ReasoningPart): boolean {
  return provider === 'anthropic' && (signature ?? redacted) !== undefined;
}

function resultBlock(message: ToolMessage, tool_use_id: string, options: FormatOptions): AnthropicToolResultBlock {
  const { toolCallId, isError } = message;
  const parts = message.content.filter(hasContent).flatMap((part) => userBlocks(part, toolCallId, options));
  const [only] = parts;
  const content = parts.length === 1 && only?.type === 'text' ? only.text : parts;
  if (content.length === 0 && isError) {
    options.onLoss?.({ what: 'empty error', why: `"${EMPTY_FAILURE}" stands in its place`, id: toolCallId });
  }
  return {
    type: 'tool_result',
    tool_use_id,
    ...(content.length > 0 ? { content } : isError ? { content: EMPTY_FAILURE } : {}),
    ...(isError ? { is_error: true } : {}),
  };
}

/**
 * A Messages API conversation as ours: a user message's tool results become messages of their own, before the rest of it. Calls that
 * Anthropic ran itself are kept with their result, which `toAnthropic` puts side by side. Citations and cache marks are left out.
 * Throws `INVALID_ARGUMENT` for what is no such message.
 */
export function fromAnthropic(input: AnthropicInput, options: ImportOptions = {}): readonly ConversationMessage[] {
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
