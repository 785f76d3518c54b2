import type { ConversationBlock } from '../../conversation/blocks.ts';
import { erased } from '../../core/fold/erased.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import { blocksOfMessage, type MessageDetails } from './message-blocks.ts';

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
