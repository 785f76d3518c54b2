import type { ConversationBlock, SessionConversationState, SubagentState } from './blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION, type SubagentSpawned } from './events.ts';
import { present } from './same-value.ts';
import { isOpen, subagentBlockId } from './subagent.ts';

/**
 * Converts a state to events that reduce to the same state, for a file or for a reader that connects late.
 *
 *     subagents, in their order ─▶ the blocks that show them, removed ─▶ the blocks of every conversation, in their order
 *
 * A spawn creates a block where the conversation ends at that moment. The blocks follow as they are, so those are removed first.
 */
export function conversationToEvents(state: SessionConversationState): ConversationEvent[] {
  const events: ConversationEvent[] = [];
  const ids = new Set(state.subagents.map(({ toolUseId }) => toolUseId));
  const created = new Set([MAIN_CONVERSATION]);
  const later: SubagentState[] = [];
  for (const subagent of state.subagents) {
    created.add(subagent.toolUseId);
    // A spawn creates a parent that does not exist yet, and an agent id that is also a call's claims that call's subagent.
    const isComplete = created.has(subagent.parentConversationId) && !ids.has(subagent.agentId ?? '');
    if (!isComplete) later.push(subagent);
    events.push(isComplete ? spawned(subagent) : bareSpawn(subagent));
  }
  for (const subagent of later) {
    const { agentId: _, ...unlinked } = subagent;
    events.push(spawned(unlinked));
  }
  // Without its parent's id, which may be the agent's id, too: the subagent stays where it is.
  for (const subagent of later) {
    if (subagent.agentId !== undefined) events.push({ ...bareSpawn(subagent), agentId: subagent.agentId });
  }
  for (const subagent of state.subagents) if (!isOpen(subagent)) events.push(completed(subagent));
  for (const { toolUseId, parentConversationId } of state.subagents) {
    const blockId = subagentBlockId(toolUseId);
    events.push({ type: 'block:removed', conversationId: parentConversationId, timestamp: '', blockId });
  }
  for (const block of state.blocks) events.push(upsert(block));
  for (const { blocks } of state.subagents) for (const block of blocks) events.push(upsert(block));
  return events;
}

function upsert(block: ConversationBlock): ConversationEvent {
  return { type: 'block:upsert', conversationId: block.conversationId, timestamp: block.timestamp, block };
}

/** Creates a subagent below main, where a later spawn moves it to its parent. */
function bareSpawn({ toolUseId, blocks }: SubagentState): SubagentSpawned {
  return { type: 'subagent:spawned', conversationId: MAIN_CONVERSATION, timestamp: startOf({ blocks }), toolUseId };
}

function spawned(subagent: SubagentState): ConversationEvent {
  const { toolUseId, agentId, prompt, name, description } = subagent;
  return {
    type: 'subagent:spawned',
    conversationId: subagent.parentConversationId,
    timestamp: startOf(subagent),
    toolUseId,
    ...present({ agentId, prompt, subagentType: name, description }),
  };
}

function completed(subagent: SubagentState): ConversationEvent {
  const { toolUseId, output, durationMs, status } = subagent;
  return {
    type: 'subagent:completed',
    conversationId: subagent.parentConversationId,
    timestamp: startOf(subagent),
    toolUseId,
    status: status === 'success' ? 'completed' : 'error',
    ...present({ output, durationMs }),
  };
}

function startOf({ blocks }: Pick<SubagentState, 'blocks'>): string {
  return blocks.at(0)?.timestamp ?? '';
}
