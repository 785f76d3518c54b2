import type { ConversationBlock } from './blocks.ts';
import type { ConversationEvent } from './events.ts';
import { findBlock } from './selectors.ts';
import type { SessionConversationState, SubagentState } from './state.ts';
import { isOpen, subagentBlockId } from './subagent.ts';

/** Converts a state to events that reduce to the same blocks and subagents, for a file or for a reader that connects late. */
export function conversationToEvents(state: SessionConversationState): ConversationEvent[] {
  const events: ConversationEvent[] = [];
  // First the blocks of every conversation, in order; then the parents.
  for (const block of state.blocks) events.push(upsert(block));
  for (const { blocks } of state.subagents) for (const block of blocks) events.push(upsert(block));
  for (const subagent of state.subagents) events.push(spawned(subagent, timeOf(subagent, state)));
  for (const subagent of state.subagents) {
    if (!isOpen(subagent)) events.push(completed(subagent, timeOf(subagent, state)));
  }
  for (const subagent of state.subagents) {
    // A spawn creates the subagent's block; where that was removed, it must be removed again.
    if (!shownBlock(subagent, state)) {
      events.push({
        type: 'block:removed',
        conversationId: subagent.parentConversationId,
        timestamp: '',
        blockId: subagentBlockId(subagent.toolUseId),
      });
    }
  }
  return events;
}

function upsert(block: ConversationBlock): ConversationEvent {
  return { type: 'block:upsert', conversationId: block.conversationId, timestamp: block.timestamp, block };
}

function spawned(subagent: SubagentState, timestamp: string): ConversationEvent {
  const { toolUseId, agentId, prompt, name, description } = subagent;
  return {
    type: 'subagent:spawned',
    conversationId: subagent.parentConversationId,
    timestamp,
    toolUseId,
    ...(agentId !== undefined && { agentId }),
    ...(prompt !== undefined && { prompt }),
    ...(name !== undefined && { subagentType: name }),
    ...(description !== undefined && { description }),
  };
}

function completed(subagent: SubagentState, timestamp: string): ConversationEvent {
  const { toolUseId, output, durationMs, status } = subagent;
  return {
    type: 'subagent:completed',
    conversationId: subagent.parentConversationId,
    timestamp,
    toolUseId,
    status: status === 'success' ? 'completed' : 'error',
    ...(output !== undefined && { output }),
    ...(durationMs !== undefined && { durationMs }),
  };
}

/** The start of a subagent: the time of the block that shows it. */
function timeOf(subagent: SubagentState, state: SessionConversationState): string {
  return shownBlock(subagent, state)?.timestamp ?? subagent.blocks.at(0)?.timestamp ?? '';
}

function shownBlock(subagent: SubagentState, state: SessionConversationState): ConversationBlock | undefined {
  return findBlock(state, subagentBlockId(subagent.toolUseId), subagent.parentConversationId);
}
