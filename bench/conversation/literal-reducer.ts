/**
 * A reducer in the simplest form: `findIndex`, and a spread of the whole list for every event. Only the part that the comparison
 * needs: the main conversation's blocks.
 */
import type { ConversationBlock, ConversationEvent } from '../../src/conversation.ts';

export interface LiteralState {
  readonly blocks: readonly ConversationBlock[];
  readonly subagents: readonly unknown[];
}

export function literalReducer(state: LiteralState, event: ConversationEvent): LiteralState {
  if (event.type === 'block:upsert') {
    const { block } = event;
    const idx = state.blocks.findIndex((b) => b.id === block.id);
    if (idx < 0) return { ...state, blocks: [...state.blocks, block] };
    const newBlocks = [...state.blocks];
    newBlocks[idx] = block;
    return { ...state, blocks: newBlocks };
  }
  if (event.type === 'block:delta') {
    if (!event.delta) return state;
    const idx = state.blocks.findIndex((b) => b.id === event.blockId);
    const block = state.blocks[idx];
    if (!block || !('content' in block)) return state;
    const newBlocks = [...state.blocks];
    newBlocks[idx] = { ...block, content: (block.content ?? '') + event.delta };
    return { ...state, blocks: newBlocks };
  }
  return state;
}
