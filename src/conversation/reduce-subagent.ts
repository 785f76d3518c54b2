/**
 * Handlers of the events about subagents. Each upserts a subagent and the block that shows it (D39). First it finds the subagent:
 *
 *     its tool use id is ─┬─ known ──────────────────▶ that subagent; one created under its agent id is merged into it
 *                         └─ new ─┬─ agent id known ─▶ the subagent created under the agent id, renamed
 *                                 └─ else ───────────▶ a new subagent
 */

import { BlockVector } from './block-vector.ts';
import { MAIN_CONVERSATION, type SubagentCompleted, type SubagentSpawned } from './events.ts';
import { findOrCreateConversation, withBlock } from './reduce-block.ts';
import { present } from './same-value.ts';
import {
  changeSubagent,
  firstNonEmpty,
  isOpen,
  makeSubagent,
  type Subagent,
  showSubagent,
  subagentBlockId,
} from './subagent.ts';
import { MAIN, NONE, normalAgentId, type WorkingCopy } from './working-copy.ts';

type SubagentEvent = SubagentSpawned | SubagentCompleted;

/** Creates a subagent, or fills the empty fields of a known one; a final status stays final (D39). */
export function spawnSubagent(copy: WorkingCopy, event: SubagentSpawned): void {
  const position = placeSubagent(copy, event);
  const subagent = copy.subagent(position);
  if (subagent === undefined) return;
  const name = firstNonEmpty(subagent.name, event.subagentType);
  const description = firstNonEmpty(subagent.description, event.description);
  const prompt = firstNonEmpty(subagent.prompt, event.prompt);
  copy.setSubagent(
    position,
    changeSubagent(subagent, {
      ...present({ name, description, prompt }),
    }),
  );
  showInParent(copy, position, event);
}

/** Ends a subagent and writes only the fields of the event; creates one that was never spawned (D39). */
export function completeSubagent(copy: WorkingCopy, event: SubagentCompleted): void {
  const ending: Partial<Subagent> = {
    status: event.status === 'completed' ? 'success' : 'error',
    ...present({ output: event.output, durationMs: event.durationMs }),
  };
  if (endedBefore(copy, event.toolUseId, ending)) return;
  const position = placeSubagent(copy, event);
  const subagent = copy.subagent(position);
  if (subagent === undefined) return;
  copy.setSubagent(position, changeSubagent(subagent, ending));
  showInParent(copy, position, event);
}

/**
 * Whether a completion is delivered a second time. One that names the agent's id ends the agent's newest open run; delivered again,
 * when that run is closed, it must not end another run (I7).
 */
function endedBefore(copy: WorkingCopy, id: string, ending: Partial<Subagent>): boolean {
  const target = copy.subagent(copy.find(id));
  if (target === undefined || target.toolUseId === id) return false;
  const runs = copy.runsOf(id);
  const suspects = isOpen(target) ? runs.slice(runs.indexOf(target) + 1) : runs;
  return suspects.some((run) => changeSubagent(run, ending) === run);
}

/** Finds or creates the subagent and sets its agent id and parent; `NONE` when it would be its own ancestor (D40). */
function placeSubagent(copy: WorkingCopy, event: SubagentEvent): number {
  const { toolUseId } = event;
  if (normalAgentId(toolUseId) === MAIN_CONVERSATION) return NONE;
  const agentId = agentIdOf(event);
  // A spawn whose tool use id is its own agent id names the agent: no call is known.
  const isOfCall = event.type === 'subagent:spawned' && agentId !== normalAgentId(toolUseId);
  const known = isOfCall ? copy.findSpawned(toolUseId) : copy.find(toolUseId);
  if (known !== NONE) {
    if (!attach(copy, known, event)) return NONE;
    return agentId === undefined ? known : claim(copy, known, agentId);
  }
  if (isSelf(event.conversationId, toolUseId)) return NONE;
  const unclaimed = agentId === undefined ? NONE : findUnclaimed(copy, agentId);
  if (agentId !== undefined && unclaimed !== NONE && !copy.isWithin(copy.find(event.conversationId), unclaimed)) {
    renameSubagent(copy, unclaimed, toolUseId, agentId);
    attach(copy, unclaimed, event);
    return unclaimed;
  }
  const parent = findOrCreateConversation(copy, event.conversationId);
  if (parent === NONE) return NONE;
  return copy.addSubagent(
    makeSubagent({
      toolUseId,
      agentId: unclaimed === NONE ? agentId : undefined,
      parentConversationId: copy.conversationId(parent),
      status: 'running',
      ...{ name: undefined, description: undefined, prompt: undefined, output: undefined, durationMs: undefined },
      blocks: BlockVector.empty,
    }),
  );
}

/** Moves a subagent without a spawn under the event's conversation; false when that would create a loop. */
function attach(copy: WorkingCopy, position: number, event: SubagentEvent): boolean {
  const subagent = copy.subagent(position);
  if (subagent === undefined || wasSpawned(copy, subagent)) return true;
  const shown = copy.blocks(parentOf(copy, subagent)).get(subagentBlockId(subagent.toolUseId)) !== undefined;
  const unnamed = event.conversationId === undefined || event.conversationId === MAIN_CONVERSATION;
  // A completion that arrived first may lack the parent; the spawn names it, unless it lacks it too.
  if (shown && (event.type === 'subagent:completed' || unnamed)) return true;
  const known = copy.find(event.conversationId);
  if (known !== NONE && copy.isWithin(known, position)) return false;
  const parent = findOrCreateConversation(copy, event.conversationId);
  if (parent === NONE) return false;
  const parentConversationId = copy.conversationId(parent);
  if (parentConversationId === subagent.parentConversationId) return true;
  if (shown) hideSubagent(copy, subagent);
  const current = copy.subagent(position) ?? subagent;
  copy.setSubagent(position, changeSubagent(current, { parentConversationId }));
  return true;
}

/** Links an agent id to a subagent that has none; returns the subagent's position afterwards. A link never changes. */
function claim(copy: WorkingCopy, position: number, agentId: string): number {
  const subagent = copy.subagent(position);
  if (subagent === undefined || subagent.agentId !== undefined) return position;
  const unclaimed = findUnclaimed(copy, agentId);
  if (unclaimed === NONE || unclaimed === position) {
    copy.setSubagent(position, changeSubagent(subagent, { agentId }));
    return position;
  }
  if (copy.isWithin(position, unclaimed) || copy.isWithin(unclaimed, position)) return position;
  copy.setSubagent(position, changeSubagent(subagent, { agentId }));
  return absorbSubagent(copy, unclaimed, position);
}

function showInParent(copy: WorkingCopy, position: number, event: SubagentEvent): void {
  const subagent = copy.subagent(position);
  if (subagent === undefined) return;
  const parent = parentOf(copy, subagent);
  const blocks = copy.blocks(parent);
  const known = blocks.get(subagentBlockId(subagent.toolUseId));
  // A block of another kind has this id: its type never changes (D43).
  if (known && known.type !== 'subagent') return;
  const block = showSubagent(subagent, known, event.timestamp ?? '');
  if (block !== known) copy.setBlocks(parent, blocks.put(block));
}

/** The agent id of an event; `undefined` when it names the main conversation or the parent itself. */
function agentIdOf(event: SubagentEvent): string | undefined {
  if (event.agentId === undefined || event.agentId === '') return undefined;
  const agentId = normalAgentId(event.agentId);
  return agentId === MAIN_CONVERSATION || isSelf(event.conversationId, agentId) ? undefined : agentId;
}

function isSelf(conversationId: string | undefined, id: string): boolean {
  return conversationId !== undefined && normalAgentId(conversationId) === normalAgentId(id);
}

/**
 * The position of the subagent that was created under an agent's id and that no call has claimed, or `NONE`. Blocks may arrive under an
 * agent's id before an event names the call that started it (D41).
 */
function findUnclaimed(copy: WorkingCopy, agentId: string): number {
  const position = copy.findToolUse(agentId);
  const subagent = copy.subagent(position);
  return subagent && !wasSpawned(copy, subagent) ? position : NONE;
}

/** Whether a spawn created this subagent: blocks and completions give it no name, description or prompt. */
function wasSpawned(copy: WorkingCopy, subagent: Subagent): boolean {
  const known = subagent.name ?? subagent.description ?? subagent.prompt;
  if (known !== undefined) return true;
  const block = copy.blocks(parentOf(copy, subagent)).get(subagentBlockId(subagent.toolUseId));
  return block?.type === 'subagent' && (block.name ?? block.description ?? block.input) !== undefined;
}

/** The position of a subagent's parent; main when the parent does not exist. */
function parentOf(copy: WorkingCopy, subagent: Subagent): number {
  const parent = copy.find(subagent.parentConversationId);
  return parent === NONE ? MAIN : parent;
}

/** Gives an unclaimed subagent the id of the call that started it. */
function renameSubagent(copy: WorkingCopy, position: number, toolUseId: string, agentId: string): void {
  const subagent = copy.subagent(position);
  if (subagent === undefined) return;
  hideSubagent(copy, subagent);
  const blocks = BlockVector.from(readdressed(subagent, toolUseId));
  copy.setSubagent(position, makeSubagent({ ...subagent, toolUseId, agentId, blocks }));
  moveChildren(copy, subagent.toolUseId, toolUseId);
}

/** Merges the subagent at `from` into the one at `into`; returns the new position of the latter. */
function absorbSubagent(copy: WorkingCopy, from: number, into: number): number {
  const source = copy.subagent(from);
  const target = copy.subagent(into);
  if (source === undefined || target === undefined) return into;
  hideSubagent(copy, source);
  const current = copy.subagent(into) ?? target;
  const merged = changeSubagent(current, {
    ...(isOpen(current) && !isOpen(source) && { status: source.status }),
    ...present({
      output: firstNonEmpty(current.output, source.output),
      durationMs: current.durationMs ?? source.durationMs,
    }),
    blocks: readdressed(source, target.toolUseId).reduce(withBlock, current.blocks),
  });
  copy.setSubagent(into, merged);
  moveChildren(copy, source.toolUseId, target.toolUseId);
  copy.removeSubagent(from);
  return copy.findToolUse(target.toolUseId);
}

/** Removes the block that shows a subagent. */
function hideSubagent(copy: WorkingCopy, subagent: Subagent): void {
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
