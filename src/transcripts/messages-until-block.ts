/** The messages of a conversation up to one of its blocks: where a fork of an imported session begins (D55, D75). */
import type { ConversationBlock } from '../conversation/blocks.ts';
import type { AssistantMessage, ConversationMessage, ToolMessage } from '../core/log/messages.ts';
import { hasContent } from '../formats/message-parts.ts';

/** The result of a call that had none at that moment. */
const NO_RESULT_YET = 'This conversation was forked before the call finished; its outcome belongs to the original.';

/**
 * Cuts messages after a block of the same conversation; `undefined` when there is no such block. The message of that block keeps what came
 * before the cut, and calls whose results came later are closed as failed, so that a provider accepts the messages.
 */
export function messagesUntilBlock(
  messages: readonly ConversationMessage[],
  blocks: Iterable<ConversationBlock>,
  blockId: string,
): readonly ConversationMessage[] | undefined {
  const all = [...blocks];
  const index = all.findIndex(({ id }) => id === blockId);
  if (index < 0) return undefined;
  const before = new Part(all.slice(0, index + 1));
  const after = new Part(all.slice(index + 1));
  const kept: ConversationMessage[] = [];
  const calls = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (calls.has(message.toolCallId))
        kept.push(before.results.has(message.toolCallId) ? message : unfinished(message));
    } else if (message.role !== 'assistant') {
      if (after.others.has(message.id)) break;
      kept.push(message);
    } else {
      const cut = cutResponse(message, before, after);
      if (cut === undefined) break;
      kept.push(cut);
      for (const { callId } of cut.toolCalls ?? []) calls.add(callId);
    }
  }
  const first = messages[0]?.sequence ?? 0;
  return kept.map((message, i) => (message.sequence === first + i ? message : { ...message, sequence: first + i }));
}

/** What a part of the blocks shows. */
class Part {
  readonly calls = new Set<string>();
  readonly results = new Set<string>();
  /** Ids of blocks that are neither of a response nor of a result. */
  readonly others = new Set<string>();
  /** How many texts and thoughts each response has here. */
  readonly #parts = new Map<string, number>();

  constructor(blocks: readonly ConversationBlock[]) {
    for (const block of blocks) {
      if (block.type === 'tool_use') this.calls.add(block.toolUseId);
      else if (block.type === 'tool_result') this.results.add(block.toolUseId);
      else if (block.type === 'subagent') {
        this.calls.add(block.toolUseId);
        if (block.status !== 'pending') this.results.add(block.toolUseId);
      } else if (block.type === 'assistant_text' || block.type === 'thinking') {
        const id = block.message?.id;
        if (id !== undefined && block.content.trim() !== '') this.#parts.set(id, (this.#parts.get(id) ?? 0) + 1);
      } else this.others.add(block.id);
    }
  }

  /** Takes up to `count` parts of a response. A response of several steps is several messages, `<id>/<step>`. */
  takeParts(message: AssistantMessage, count: number): number {
    const name = message.providerMessageId ?? message.id;
    const id = this.#parts.has(name) ? name : name.replace(/\/\d+$/, '');
    const left = this.#parts.get(id) ?? 0;
    const taken = Math.min(left, count);
    this.#parts.set(id, left - taken);
    return taken;
  }
}

/** The part of a response that is before the cut; `undefined` when all of it is after. */
function cutResponse(message: AssistantMessage, before: Part, after: Part): AssistantMessage | undefined {
  const { content, toolCalls = [] } = message;
  const shown = content.filter(isShown).length;
  const parts = before.takeParts(message, shown);
  const isWhole = parts === shown && toolCalls.every(({ callId }) => !after.calls.has(callId));
  if (isWhole) return message;
  const calls = toolCalls.filter(({ callId }) => before.calls.has(callId));
  if (parts === 0 && calls.length === 0) return undefined;
  let left = parts;
  const kept = content.filter((part) => !isShown(part) || left-- > 0);
  if (calls.length === 0 && !kept.some((part) => part.type === 'text' && hasContent(part))) return undefined;
  const { toolCalls: _, ...rest } = message;
  if (calls.length === 0) return { ...rest, content: kept };
  return {
    ...rest,
    content: kept,
    toolCalls: calls.map((call) =>
      call.after === undefined ? call : { ...call, after: Math.min(call.after, kept.length) },
    ),
  };
}

function isShown(part: AssistantMessage['content'][number]): boolean {
  return (part.type === 'text' || part.type === 'reasoning') && part.text.trim() !== '';
}

function unfinished(message: ToolMessage): ToolMessage {
  return { ...message, content: [{ type: 'text', text: NO_RESULT_YET }], isError: true };
}
