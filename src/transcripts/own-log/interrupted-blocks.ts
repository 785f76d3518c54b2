import type { ConversationBlock } from '../../conversation/blocks.ts';
import type { MessageInterrupted } from '../../core/log/events.ts';
import { kindOf, UNNAMED_TOOL } from './draft-blocks.ts';

/** The ids of blocks that were cut off begin with this. */
export const INTERRUPTED = 'interrupted:';

/** The blocks of a draft that a crash interrupted (D53). Their ids differ from those of the next attempt, which is shown beside them. */
export function interruptedBlocks(event: MessageInterrupted): readonly ConversationBlock[] {
  const { evaluationId, conversationId, turn, seq, at: timestamp } = event;
  return event.blocks.map(({ blockId, text, ...draft }): ConversationBlock => {
    const id = `${INTERRUPTED}${seq}:${blockId}`;
    const base = { id, conversationId, timestamp, status: 'error' } as const;
    const { kind = kindOf({ evaluationId, turn, blockId }), toolName = UNNAMED_TOOL } = draft;
    if (kind === 'tool-input') return { ...base, type: 'tool_use', toolUseId: id, toolName, inputText: text };
    return { ...base, type: kind === 'reasoning' ? 'thinking' : 'assistant_text', content: text };
  });
}
