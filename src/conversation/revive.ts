import { BlockVector } from './block-vector.ts';
import type { ConversationBlock } from './blocks.ts';
import { ConversationState, type Thread } from './conversation-state.ts';
import { MAIN_CONVERSATION } from './events.ts';
import { isFields, isStoredBlock, knownBlock } from './is-conversation-event.ts';
import type { SubagentStatus } from './state.ts';
import { ThreadIndex } from './thread-index.ts';

/**
 * A state from its JSON, or from anything: what is not a block or a thread is left out. The server sends a state as JSON, the
 * client goes on reducing it.
 */
export function reviveConversationState(value: unknown): ConversationState {
  const fields = isFields(value) ? value : {};
  const threads = new Map<string, Thread>();
  for (const item of iterate(fields.subagents)) {
    const thread = reviveThread(item);
    if (thread && !threads.has(thread.toolUseId)) threads.set(thread.toolUseId, thread);
  }
  const subagents = [...threads.values()];
  return new ConversationState(reviveBlocks(fields.blocks), subagents, ThreadIndex.of(subagents));
}

function reviveBlocks(value: unknown): BlockVector {
  if (value instanceof BlockVector) return value;
  const blocks: ConversationBlock[] = [];
  for (const block of iterate(value)) if (isStoredBlock(block)) blocks.push(knownBlock(block));
  return BlockVector.from(blocks);
}

const STATUSES: readonly unknown[] = ['pending', 'running', 'success', 'error'] satisfies SubagentStatus[];

function reviveThread(value: unknown): Thread | undefined {
  if (!isFields(value)) return undefined;
  const { toolUseId, parentConversationId, status } = value;
  if (typeof toolUseId !== 'string' || toolUseId === '' || toolUseId === MAIN_CONVERSATION) return undefined;
  const text = <K extends string>(key: K): { readonly [P in K]?: string } =>
    (typeof value[key] === 'string' ? { [key]: value[key] } : {}) as { readonly [P in K]?: string };
  return {
    toolUseId,
    ...text('agentId'),
    parentConversationId: typeof parentConversationId === 'string' ? parentConversationId : MAIN_CONVERSATION,
    status: STATUSES.includes(status) ? (status as SubagentStatus) : 'running',
    ...text('name'),
    ...text('description'),
    ...text('prompt'),
    ...text('output'),
    ...(typeof value.durationMs === 'number' && { durationMs: value.durationMs }),
    blocks: reviveBlocks(value.blocks),
  };
}

function iterate(value: unknown): Iterable<unknown> {
  return isFields(value) && Symbol.iterator in value && typeof value[Symbol.iterator] === 'function'
    ? (value as unknown as Iterable<unknown>)
    : [];
}
