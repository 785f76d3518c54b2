/** Converts a recorded message to blocks. */
import type { Attachment, BlockMessage, ConversationBlock, ToolUseBlock } from '../../conversation/blocks.ts';
import { erased } from '../../core/fold/erased.ts';
import {
  type AssistantMessage,
  type ConversationMessage,
  type MediaPart,
  type SystemMessage,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  textOf,
} from '../../core/log/messages.ts';
import type { Usage } from '../../core/log/usage.ts';
import { attachment } from '../block-base.ts';
import { keep, parseJson } from '../json-access.ts';

/** What the log knows about a message besides its content. */
export interface MessageDetails {
  readonly timestamp: string;
  readonly usage?: Usage;
  readonly model?: string;
  /** The name of each of the message's calls, in call order (D46). */
  readonly callNames: readonly string[];
  /** The name of the call whose result a tool message is. */
  readonly resultOf: string;
}

type Base = Pick<ConversationBlock, 'conversationId' | 'timestamp' | 'status' | 'message'>;

/** The blocks of a message, in the order of its parts and calls. */
function blocksOfMessage(message: ConversationMessage, details: MessageDetails): ConversationBlock[] {
  const base: Base = { conversationId: message.conversationId, timestamp: details.timestamp, status: 'complete' };
  switch (message.role) {
    case 'system':
      return [instructionsBlock(message, base)];
    case 'user':
      return [
        { ...base, id: message.id, type: 'user_message', content: textOf(message), ...attached(message.content) },
      ];
    case 'assistant':
      return assistantBlocks(message, { ...base, message: responseOf(message, details) }, details);
    case 'tool':
      return [resultBlock(message, base, details.resultOf)];
    default:
      message satisfies never;
      return [];
  }
}

/**
 * The instructions of a conversation. Every evaluation of a chat repeats them, so they are one block, wherever the reading of the log
 * starts: newer instructions replace older ones.
 */
function instructionsBlock(message: SystemMessage, base: Base): ConversationBlock {
  const id = message.sequence === 0 ? `instructions:${message.conversationId}` : message.id;
  return { ...base, id, type: 'system', subtype: 'instructions', content: textOf(message), machinery: true };
}

function assistantBlocks(message: AssistantMessage, base: Base, details: MessageDetails): ConversationBlock[] {
  const blocks: ConversationBlock[] = [];
  const calls = [...(message.toolCalls ?? []).entries()];
  const pushCallsUpTo = (place: number): void => {
    for (let next = calls[0]; next && (next[1].after ?? Number.POSITIVE_INFINITY) <= place; next = calls[0]) {
      calls.shift();
      blocks.push(...callBlocks(next[1], base, details.callNames[next[0]] ?? next[1].callId));
    }
  };
  let texts = 0;
  for (const [place, part] of message.content.entries()) {
    pushCallsUpTo(place);
    if (part.type === 'text' || part.type === 'reasoning') {
      // Counted as in drafts, which have only texts and reasoning with text (D46).
      if (part.text === '') continue;
      const type = part.type === 'text' ? 'assistant_text' : 'thinking';
      blocks.push({ ...base, id: `${message.id}:${texts++}`, type, content: part.text });
    } else {
      const id = `${message.id}:media:${place}`;
      blocks.push({ ...base, id, type: 'assistant_text', content: '', attachments: [attachment(part)] });
    }
  }
  pushCallsUpTo(Number.POSITIVE_INFINITY);
  return blocks;
}

function callBlocks(call: ToolCall, base: Base, name: string): ConversationBlock[] {
  const named = { id: name, type: 'tool_use', toolUseId: name, toolName: call.name } as const;
  const use: ToolUseBlock = { ...base, status: 'pending', ...named, ...inputOf(call.arguments) };
  const { providerExecuted } = call;
  if (providerExecuted?.result === undefined) return [use];
  const { result, isError = false } = providerExecuted;
  const output = typeof result === 'string' ? result : (JSON.stringify(keep(result)) ?? '');
  return [use, { ...base, id: `result:${name}`, type: 'tool_result', toolUseId: name, output, isError }];
}

/** Arguments as data; as the model's text when that is not JSON. */
function inputOf(text: string): Pick<ToolUseBlock, 'input' | 'inputText'> {
  const input = parseJson(text);
  return input === undefined ? { inputText: text } : { input: keep(input) };
}

function resultBlock(message: ToolMessage, base: Base, toolUseId: string): ConversationBlock {
  const { content, isError } = message;
  const named = { id: `result:${toolUseId}`, type: 'tool_result', toolUseId } as const;
  const parts = content.some((part) => part.type !== 'text') && { parts: content };
  return { ...base, ...named, output: textOf(message), isError, ...parts };
}

function responseOf(message: AssistantMessage, { usage, model }: MessageDetails): BlockMessage {
  return { id: message.id, ...(model !== undefined && { model }), ...(usage && { usage }) };
}

function attached(content: readonly (TextPart | MediaPart)[]): { attachments?: readonly Attachment[] } {
  const attachments = content.flatMap((part) => (part.type === 'text' ? [] : [attachment(part)]));
  return attachments.length > 0 ? { attachments } : {};
}

interface ShownMessage {
  readonly blank: ConversationMessage;
  readonly details: MessageDetails;
  readonly blocks: readonly Pick<ConversationBlock, 'id' | 'type'>[];
}

/** An erased message, the blocks that show it now, and the blocks that no longer do. */
interface ErasedMessage {
  readonly message: ConversationMessage;
  readonly blocks: readonly ConversationBlock[];
  readonly removed: readonly string[];
}

/** The messages that are shown, without their content: what remains of them when they are erased (D58). */
export class ShownMessages {
  readonly #messages = new Map<string, ShownMessage>();
  /** For each block of instructions, the message that it shows. */
  readonly #instructions = new Map<string, string>();

  get size(): number {
    return this.#messages.size;
  }

  has(messageId: string): boolean {
    return this.#messages.has(messageId);
  }

  /** Adds a message; returns its blocks. */
  add(message: ConversationMessage, details: MessageDetails): readonly ConversationBlock[] {
    const blocks = blocksOfMessage(message, details);
    for (const { id, type } of blocks) if (type === 'system') this.#instructions.set(id, message.id);
    const kept = blocks.map(({ id, type }) => ({ id, type }));
    this.#messages.set(message.id, { blank: erased(message), details, blocks: kept });
    return blocks;
  }

  /** Erases a message; `undefined` when it is not shown. */
  erase(messageId: string): ErasedMessage | undefined {
    const shown = this.#messages.get(messageId);
    if (!shown || shown.blocks.length === 0) return undefined;
    // The block shows newer instructions than the erased ones.
    if (shown.blocks.some(({ id }) => (this.#instructions.get(id) ?? messageId) !== messageId)) return undefined;
    const blocks = blocksOfMessage(shown.blank, shown.details);
    this.#messages.set(messageId, { ...shown, blocks });
    const isKept = (before: ShownMessage['blocks'][number]): boolean =>
      blocks.some((block) => block.id === before.id && block.type === before.type);
    const removed = shown.blocks.flatMap((before) => (isKept(before) ? [] : [before.id]));
    return { message: shown.blank, blocks, removed };
  }
}
