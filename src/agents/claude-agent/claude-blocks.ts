import type { AssistantMessage, MediaPart, TextPart, ToolCall } from '../../core/log/messages.ts';
import type { Usage } from '../../core/log/usage.ts';
import { readThought, readUserBlock, userBlocks } from '../../formats/anthropic-blocks.ts';
import { inputOf } from '../../formats/call-arguments.ts';
import type { ToolOutcome } from '../../loop/define/tool-result.ts';
import { originalName, recordedName } from './built-in-tools.ts';
import type { ClaudeBlock } from './sdk-types.ts';

/** Claude Code's blocks of the Messages API and our messages, converted both ways. */

/** The SDK's way of requesting structured output: a call whose input is the output. */
export const OUTPUT_TOOL = 'StructuredOutput';

type Part = AssistantMessage['content'][number];

/** A response's blocks as content and calls. A structured response is recorded as our own loop records one: as JSON text. */
export function readResponse(blocks: readonly ClaudeBlock[]): {
  readonly content: readonly Part[];
  readonly toolCalls: readonly ToolCall[];
} {
  const content: Part[] = [];
  const toolCalls: ToolCall[] = [];
  for (const block of blocks) {
    if (block.type === 'tool_use' && block.name === OUTPUT_TOOL) {
      content.push({ type: 'text', text: JSON.stringify(block.input) });
    } else if (block.type === 'tool_use') {
      toolCalls.push({
        callId: String(block.id),
        name: recordedName(String(block.name)),
        arguments: JSON.stringify(block.input ?? {}),
        after: content.length,
      });
    } else if (block.type === 'text') content.push({ type: 'text', text: String(block.text) });
    else content.push(...[readThought(block) ?? []].flat());
  }
  return { content, toolCalls };
}

/** A response of our log as the blocks that Claude Code would have written. */
export function writeResponse(message: AssistantMessage, ours: ReadonlySet<string>): readonly ClaudeBlock[] {
  const blocks: ClaudeBlock[] = [];
  const calls = [...(message.toolCalls ?? [])];
  const takeCalls = (before: number): void => {
    while (calls[0] && (calls[0].after ?? message.content.length) <= before) {
      const call = calls.shift() as ToolCall;
      const name = originalName(call.name, ours);
      blocks.push({ type: 'tool_use', id: call.callId, name, input: inputOf(call) });
    }
  };
  for (const [i, part] of message.content.entries()) {
    takeCalls(i);
    if (part.type === 'text' && part.text !== '') blocks.push({ type: 'text', text: part.text });
    else if (part.type === 'reasoning' && part.redacted !== undefined)
      blocks.push({ type: 'redacted_thinking', data: part.redacted });
    else if (part.type === 'reasoning' && part.signature !== undefined)
      blocks.push({ type: 'thinking', thinking: part.text, signature: part.signature });
  }
  takeCalls(message.content.length);
  return blocks;
}

/** The content of a user or tool message as blocks. */
export function writeContent(content: readonly (TextPart | MediaPart)[]): readonly ClaudeBlock[] {
  return content.flatMap((part) => userBlocks(part).map((block) => ({ ...block })));
}

/** The outcome of a tool result block. */
export function readResult(block: ClaudeBlock): ToolOutcome {
  const { content, is_error: isError } = block;
  const parts = Array.isArray(content)
    ? content.flatMap((part: ClaudeBlock) => readUserBlock(part) ?? [])
    : [{ type: 'text' as const, text: typeof content === 'string' ? content : '' }];
  return { content: parts, isError: isError === true };
}

/** A message's content as blocks, however it was written. */
export function blocksOf(message: unknown): readonly ClaudeBlock[] {
  const { content } = (message ?? {}) as { readonly content?: unknown };
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter((block) => typeof block?.type === 'string') : [];
}

/** The usage of a response. The Messages API leaves the cache's tokens out of its input tokens. */
export function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const count = (name: string): number => Number((value as Record<string, unknown>)[name] ?? 0) || 0;
  const [cached, written] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')];
  return {
    inputTokens: count('input_tokens') + cached + written,
    outputTokens: count('output_tokens'),
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(written > 0 && { cacheWriteTokens: written }),
  };
}
