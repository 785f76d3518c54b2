/** The handlers of events about blocks. */
import { BlockVector } from './block-vector.ts';
import type { BlockStatus, ConversationBlock, ToolUseBlock } from './blocks.ts';
import { type Draft, NONE, normalAgentId } from './draft.ts';
import { type BlockDelta, type BlockRemoved, type BlockUpsert, MAIN_CONVERSATION, type SessionIdle } from './events.ts';
import { knownBlock } from './is-conversation-event.ts';
import { sameValue } from './same-value.ts';
import { isOpen } from './thread-index.ts';

/** Creates the block or replaces it whole, in the thread that the event names (D36, D43). */
export function upsertBlock(draft: Draft, event: BlockUpsert): void {
  const thread = findOrCreateThread(draft, event.conversationId);
  if (thread === NONE) return;
  const block = addressed(knownBlock(event.block), draft.conversationId(thread), event.timestamp ?? '');
  draft.setBlocks(thread, withBlock(draft.blocks(thread), block));
}

/** Appends text to a block that is still being written (D42). */
export function appendDelta(draft: Draft, event: BlockDelta): void {
  const thread = draft.find(event.conversationId);
  if (thread === NONE) return;
  const blocks = draft.blocks(thread);
  const position = blocks.positionOf(event.blockId);
  const block = blocks.at(position);
  if (position < 0 || block?.status !== 'pending') return;
  switch (block.type) {
    case 'assistant_text':
    case 'thinking': {
      const news = unknownPart(block.content, event);
      if (news !== '') draft.setBlocks(thread, blocks.set(position, { ...block, content: block.content + news }));
      return;
    }
    case 'tool_use': {
      const inputText = block.inputText ?? '';
      const news = unknownPart(inputText, event);
      if (news !== '') draft.setBlocks(thread, blocks.set(position, { ...block, inputText: inputText + news }));
      return;
    }
    default:
      return;
  }
}

/** Takes a block away (D44). A subagent's thread outlives its block. */
export function removeBlock(draft: Draft, event: BlockRemoved): void {
  const thread = draft.find(event.conversationId);
  if (thread !== NONE) draft.setBlocks(thread, draft.blocks(thread).remove(event.blockId));
}

/** Ends what is pending in one thread, but no subagent that still runs (D45). */
export function settlePending(draft: Draft, event: SessionIdle): void {
  const thread = draft.find(event.conversationId);
  if (thread === NONE) return;
  const status: BlockStatus = event.reason === 'interrupted' || event.reason === 'failed' ? 'error' : 'complete';
  let blocks = draft.blocks(thread);
  for (const position of blocks.pendingPositions()) {
    const block = blocks.at(position);
    if (block === undefined) continue;
    if (block.type === 'subagent') {
      const agent = draft.thread(draft.find(block.toolUseId));
      if (agent && isOpen(agent)) continue;
    }
    blocks = blocks.set(position, { ...block, status });
  }
  draft.setBlocks(thread, blocks);
}

/** The thread of a conversation id; one that nobody spawned yet is begun under main, to be linked later (D40, D41). */
export function findOrCreateThread(draft: Draft, conversationId: string | undefined): number {
  const found = draft.find(conversationId);
  if (found !== NONE || conversationId === undefined) return found;
  const toolUseId = normalAgentId(conversationId);
  if (toolUseId === '' || toolUseId === MAIN_CONVERSATION) return NONE;
  return draft.addThread({
    toolUseId,
    parentConversationId: MAIN_CONVERSATION,
    status: 'running',
    blocks: BlockVector.empty,
  });
}

/** The blocks with `block` in its place, by the rules of D43; the same list when that says nothing new (D48). */
export function withBlock(blocks: BlockVector, block: ConversationBlock): BlockVector {
  const position = blocks.positionOf(block.id);
  const before = position < 0 ? undefined : blocks.at(position);
  if (before === undefined)
    return paired(blocks.push(block.type === 'tool_use' ? closedByResult(blocks, block) : block), block);
  if (before.type !== block.type) return blocks;
  if (before.status !== 'pending' && block.status === 'pending') return blocks;
  const next = block.type === 'tool_use' ? closedByResult(blocks, block) : block;
  // What is being said may not know its time yet; the first time that is known stays.
  const timestamp = before.timestamp || next.timestamp;
  const kept = next.timestamp === timestamp ? next : { ...next, timestamp };
  return sameValue(before, kept) ? blocks : paired(blocks.set(position, kept), kept);
}

/** A result closes its call: complete, or error when it reports one. */
function paired(blocks: BlockVector, block: ConversationBlock): BlockVector {
  if (block.type !== 'tool_result' || block.status === 'pending') return blocks;
  const position = blocks.positionOfCall(block.toolUseId);
  const call = blocks.at(position);
  if (position < 0 || call === undefined) return blocks;
  const status: BlockStatus = block.isError ? 'error' : 'complete';
  return call.status === status ? blocks : blocks.set(position, { ...call, status });
}

/** A call whose result came first is closed from the start. */
function closedByResult(blocks: BlockVector, call: ToolUseBlock): ToolUseBlock {
  const result = blocks.get(`result:${call.toolUseId}`);
  if (result?.type !== 'tool_result' || result.toolUseId !== call.toolUseId || result.status === 'pending') return call;
  const status: BlockStatus = result.isError ? 'error' : 'complete';
  return call.status === status ? call : { ...call, status };
}

/** The block with its event's conversation (D36), and with the event's time when it has none. */
function addressed(block: ConversationBlock, conversationId: string, timestamp: string): ConversationBlock {
  if (block.timestamp === undefined) return { ...block, conversationId, timestamp };
  return block.conversationId === conversationId ? block : { ...block, conversationId };
}

/** What a delta adds: nothing when it lies beyond the end, all of it when it carries no offset. */
function unknownPart(known: string, { delta, offset }: BlockDelta): string {
  if (offset === undefined || offset === known.length) return delta;
  return offset > known.length ? '' : delta.slice(known.length - offset);
}
