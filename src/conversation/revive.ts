import { isRecord } from '../core/log/message-problem.ts';
import { BlockVector } from './block-vector.ts';
import type { ConversationBlock, SessionConversationState, SubagentStatus } from './blocks.ts';
import { MAIN_CONVERSATION } from './events.ts';
import { IndexedState, SubagentIndex } from './indexed-state.ts';
import { isStoredBlock, knownBlock } from './is-conversation-event.ts';
import { makeSubagent, type Subagent } from './subagent.ts';

/**
 * Restores a state from its JSON, so that a client can continue to reduce what a server sent. Accepts any value: what is not a
 * block or a subagent is dropped.
 */
export function reviveConversationState(value: unknown): SessionConversationState {
  return reviveIndexed(value);
}

/** As `reviveConversationState`, for the reducer. */
export function reviveIndexed(value: unknown): IndexedState {
  const fields = isRecord(value) ? value : {};
  const byToolUse = new Map<string, Subagent>();
  for (const item of iterate(fields.subagents)) {
    const subagent = reviveSubagent(item);
    if (subagent && !byToolUse.has(subagent.toolUseId)) byToolUse.set(subagent.toolUseId, subagent);
  }
  const subagents = [...byToolUse.values()];
  return new IndexedState(reviveBlocks(fields.blocks), subagents, SubagentIndex.of(subagents));
}

function reviveBlocks(value: unknown): BlockVector {
  if (value instanceof BlockVector) return value;
  const blocks: ConversationBlock[] = [];
  for (const block of iterate(value)) if (isStoredBlock(block)) blocks.push(knownBlock(block));
  return BlockVector.from(blocks);
}

const STATUSES: readonly unknown[] = ['pending', 'running', 'success', 'error'] satisfies SubagentStatus[];

function reviveSubagent(value: unknown): Subagent | undefined {
  if (!isRecord(value)) return undefined;
  const { toolUseId, parentConversationId, status } = value;
  if (typeof toolUseId !== 'string' || toolUseId === '' || toolUseId === MAIN_CONVERSATION) return undefined;
  const text = (field: unknown): string | undefined => (typeof field === 'string' ? field : undefined);
  return makeSubagent({
    toolUseId,
    agentId: text(value.agentId),
    parentConversationId: text(parentConversationId) ?? MAIN_CONVERSATION,
    status: STATUSES.includes(status) ? (status as SubagentStatus) : 'running',
    ...{ name: text(value.name), description: text(value.description), prompt: text(value.prompt) },
    output: text(value.output),
    durationMs: typeof value.durationMs === 'number' ? value.durationMs : undefined,
    blocks: reviveBlocks(value.blocks),
  });
}

function iterate(value: unknown): Iterable<unknown> {
  const isIterable = typeof value === 'object' && value !== null && Symbol.iterator in value;
  return isIterable && typeof value[Symbol.iterator] === 'function' ? (value as Iterable<unknown>) : [];
}
