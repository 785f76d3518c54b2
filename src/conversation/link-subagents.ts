/**
 * Subagents under two names (D41). Blocks may arrive under an agent's id before an event says which call started that agent; the
 * subagent they create is provisional. When that event arrives, the subagent gets the call's id or is merged into the call's
 * subagent.
 */
import { BlockVector } from './block-vector.ts';
import { withBlock } from './reduce-block.ts';
import { changeSubagent, firstNonEmpty, isOpen, makeSubagent, type Subagent, subagentBlockId } from './subagent.ts';
import { MAIN, NONE, type WorkingCopy } from './working-copy.ts';

/** The position of the subagent that was created under an agent's id and that no call has claimed, or `NONE`. */
export function findUnclaimed(copy: WorkingCopy, agentId: string): number {
  const position = copy.findToolUse(agentId);
  const subagent = copy.subagent(position);
  return subagent && !wasSpawned(copy, subagent) ? position : NONE;
}

/** Whether a spawn created this subagent: blocks and completions give it no name, description or prompt. */
export function wasSpawned(copy: WorkingCopy, subagent: Subagent): boolean {
  const known = subagent.name ?? subagent.description ?? subagent.prompt;
  if (known !== undefined) return true;
  const block = copy.blocks(parentOf(copy, subagent)).get(subagentBlockId(subagent.toolUseId));
  return block?.type === 'subagent' && (block.name ?? block.description ?? block.input) !== undefined;
}

/** The position of a subagent's parent; main when the parent does not exist. */
export function parentOf(copy: WorkingCopy, subagent: Subagent): number {
  const parent = copy.find(subagent.parentConversationId);
  return parent === NONE ? MAIN : parent;
}

/** Gives an unclaimed subagent the id of the call that started it. */
export function renameSubagent(copy: WorkingCopy, position: number, toolUseId: string, agentId: string): void {
  const subagent = copy.subagent(position);
  if (subagent === undefined) return;
  hideSubagent(copy, subagent);
  const blocks = BlockVector.from(readdressed(subagent, toolUseId));
  copy.setSubagent(position, makeSubagent({ ...subagent, toolUseId, agentId, blocks }));
  moveChildren(copy, subagent.toolUseId, toolUseId);
}

/** Merges the subagent at `from` into the one at `into`; returns the new position of the latter. */
export function absorbSubagent(copy: WorkingCopy, from: number, into: number): number {
  const source = copy.subagent(from);
  const target = copy.subagent(into);
  if (source === undefined || target === undefined) return into;
  hideSubagent(copy, source);
  const current = copy.subagent(into) ?? target;
  const merged = changeSubagent(current, {
    ...(isOpen(current) && !isOpen(source) && { status: source.status }),
    ...defined('output', firstNonEmpty(current.output, source.output)),
    ...defined('durationMs', current.durationMs ?? source.durationMs),
    blocks: readdressed(source, target.toolUseId).reduce(withBlock, current.blocks),
  });
  copy.setSubagent(into, merged);
  moveChildren(copy, source.toolUseId, target.toolUseId);
  copy.removeSubagent(from);
  return copy.findToolUse(target.toolUseId);
}

/** Removes the block that shows a subagent. */
export function hideSubagent(copy: WorkingCopy, subagent: Subagent): void {
  const parent = parentOf(copy, subagent);
  copy.setBlocks(parent, copy.blocks(parent).remove(subagentBlockId(subagent.toolUseId)));
}

function readdressed(subagent: Subagent, conversationId: string): ReturnType<BlockVector['toJSON']> {
  return subagent.blocks.map((block) => ({ ...block, conversationId }));
}

function moveChildren(copy: WorkingCopy, from: string, to: string): void {
  for (const position of copy.childrenOf(from)) {
    const subagent = copy.subagent(position);
    if (subagent) copy.setSubagent(position, changeSubagent(subagent, { parentConversationId: to }));
  }
}

function defined<K extends string, T>(key: K, value: T | undefined): { readonly [P in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: T };
}
