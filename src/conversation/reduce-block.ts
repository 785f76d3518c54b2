/** Handlers of the events that change blocks. */
import { BlockVector } from './block-vector.ts';
import type { BlockStatus, ConversationBlock, ToolUseBlock } from './blocks.ts';
import { type BlockDelta, type BlockRemoved, type BlockUpsert, MAIN_CONVERSATION, type SessionIdle } from './events.ts';
import { knownBlock } from './is-conversation-event.ts';
import { sameValue } from './same-value.ts';
import { isOpen } from './subagent.ts';
import { NONE, normalAgentId, type WorkingCopy } from './working-copy.ts';

/** Creates the block or replaces it, in the conversation that the event names (D36, D43). */
export function upsertBlock(copy: WorkingCopy, event: BlockUpsert): void {
  const conversation = findOrCreateConversation(copy, event.conversationId);
  if (conversation === NONE) return;
  const block = addressed(knownBlock(event.block), copy.conversationId(conversation), event.timestamp ?? '');
  copy.setBlocks(conversation, withBlock(copy.blocks(conversation), block));
}

/** Appends text to a pending block (D42). */
export function appendDelta(copy: WorkingCopy, event: BlockDelta): void {
  const conversation = copy.find(event.conversationId);
  if (conversation === NONE) return;
  const blocks = copy.blocks(conversation);
  const position = blocks.positionOf(event.blockId);
  const block = blocks.blockAt(position);
  if (position < 0 || block?.status !== 'pending') return;
  switch (block.type) {
    case 'assistant_text':
    case 'thinking': {
      const news = unknownPart(block.content, event);
      if (news !== '') copy.setBlocks(conversation, blocks.set(position, { ...block, content: block.content + news }));
      return;
    }
    case 'tool_use': {
      const inputText = block.inputText ?? '';
      const news = unknownPart(inputText, event);
      if (news !== '') copy.setBlocks(conversation, blocks.set(position, { ...block, inputText: inputText + news }));
      return;
    }
    default:
      return;
  }
}

/** Removes a block (D44). A subagent stays when its block is removed. */
export function removeBlock(copy: WorkingCopy, event: BlockRemoved): void {
  const conversation = copy.find(event.conversationId);
  if (conversation !== NONE) copy.setBlocks(conversation, copy.blocks(conversation).remove(event.blockId));
}

/** Ends the pending blocks of one conversation, except subagents that are still running (D45). */
export function settlePending(copy: WorkingCopy, event: SessionIdle): void {
  const conversation = copy.find(event.conversationId);
  if (conversation === NONE) return;
  const status: BlockStatus = event.reason === 'interrupted' || event.reason === 'failed' ? 'error' : 'complete';
  let blocks = copy.blocks(conversation);
  const results: ConversationBlock[] = [];
  for (const position of blocks.pendingPositions()) {
    const block = blocks.blockAt(position);
    if (block === undefined) continue;
    if (block.type === 'subagent') {
      const agent = copy.subagent(copy.find(block.toolUseId));
      if (agent && isOpen(agent)) continue;
    }
    const settled: ConversationBlock = { ...block, status };
    blocks = blocks.set(position, settled);
    if (settled.type === 'tool_result') results.push(settled);
  }
  // A result that ends closes its call, as one that arrives ended does.
  for (const result of results) blocks = paired(blocks, result);
  copy.setBlocks(conversation, blocks);
}

/** The position of a conversation. One without a spawn is created under main, to be linked later (D40, D41). */
export function findOrCreateConversation(copy: WorkingCopy, conversationId: string | undefined): number {
  const found = copy.find(conversationId);
  if (found !== NONE || conversationId === undefined) return found;
  const toolUseId = normalAgentId(conversationId);
  if (toolUseId === '' || toolUseId === MAIN_CONVERSATION) return NONE;
  return copy.addSubagent({
    toolUseId,
    parentConversationId: MAIN_CONVERSATION,
    status: 'running',
    blocks: BlockVector.empty,
  });
}

/** The blocks with `block` added or replaced, by the rules of D43; the same list when nothing changes (D48). */
export function withBlock(blocks: BlockVector, block: ConversationBlock): BlockVector {
  const position = blocks.positionOf(block.id);
  const before = position < 0 ? undefined : blocks.blockAt(position);
  if (before === undefined)
    return paired(blocks.push(block.type === 'tool_use' ? closedByResult(blocks, block) : block), block);
  if (before.type !== block.type) return blocks;
  if (before.status !== 'pending' && block.status === 'pending') return blocks;
  const next = block.type === 'tool_use' ? closedByResult(blocks, block) : block;
  // A streaming block may not have its time yet; the first known time is kept.
  const timestamp = before.timestamp || next.timestamp;
  const kept = next.timestamp === timestamp ? next : { ...next, timestamp };
  return sameValue(before, kept) ? blocks : paired(blocks.set(position, kept), kept);
}

/** Closes the call of a result: complete, or error when the result is one. */
function paired(blocks: BlockVector, block: ConversationBlock): BlockVector {
  if (block.type !== 'tool_result' || block.status === 'pending') return blocks;
  const position = blocks.positionOfCall(block.toolUseId);
  const call = blocks.blockAt(position);
  if (position < 0 || call === undefined) return blocks;
  const status: BlockStatus = block.isError ? 'error' : 'complete';
  return call.status === status ? blocks : blocks.set(position, { ...call, status });
}

/** Closes a call whose result arrived before it. */
function closedByResult(blocks: BlockVector, call: ToolUseBlock): ToolUseBlock {
  const result = blocks.get(`result:${call.toolUseId}`);
  if (result?.type !== 'tool_result' || result.toolUseId !== call.toolUseId || result.status === 'pending') return call;
  const status: BlockStatus = result.isError ? 'error' : 'complete';
  return call.status === status ? call : { ...call, status };
}

/** The block with the conversation of its event (D36), and with the event's time when it has none. */
function addressed(block: ConversationBlock, conversationId: string, timestamp: string): ConversationBlock {
  if (block.timestamp === undefined) return { ...block, conversationId, timestamp };
  return block.conversationId === conversationId ? block : { ...block, conversationId };
}

/** The part of a delta that is new: nothing when it starts beyond the end, all of it when it has no offset. */
function unknownPart(known: string, { delta, offset }: BlockDelta): string {
  if (offset === undefined || offset === known.length) return delta;
  return offset > known.length ? '' : delta.slice(known.length - offset);
}
