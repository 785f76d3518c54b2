/**
 * The handlers of events about subagents. Each is an upsert of a thread and of the block that shows it (D39), and each first
 * finds the thread that is meant:
 *
 *     its tool use id is ─┬─ known ──────────────────▶ that thread; one begun under its agent id is merged into it
 *                         └─ new ─┬─ agent id known ─▶ the thread begun under the agent id, renamed
 *                                 └─ else ───────────▶ a new thread
 */
import { BlockVector } from './block-vector.ts';
import type { Thread } from './conversation-state.ts';
import { type Draft, NONE, normalAgentId } from './draft.ts';
import { MAIN_CONVERSATION, type SubagentCompleted, type SubagentSpawned } from './events.ts';
import { absorbThread, findUnclaimed, hideThread, parentOf, renameThread, wasSpawned } from './link-threads.ts';
import { findOrCreateThread } from './reduce-block.ts';
import { changeThread, firstSaid, makeThread, showThread, subagentBlockId } from './subagent-thread.ts';
import { isOpen } from './thread-index.ts';

type SubagentEvent = SubagentSpawned | SubagentCompleted;

/** Begins a subagent, or fills what is still empty in a known one; a final status stays final (D39). */
export function spawnSubagent(draft: Draft, event: SubagentSpawned): void {
  const position = placeThread(draft, event);
  const thread = draft.thread(position);
  if (thread === undefined) return;
  const name = firstSaid(thread.name, event.subagentType);
  const description = firstSaid(thread.description, event.description);
  const prompt = firstSaid(thread.prompt, event.prompt);
  draft.setThread(
    position,
    changeThread(thread, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(prompt !== undefined && { prompt }),
    }),
  );
  showInParent(draft, position, event);
}

/** Ends a subagent, writing only what the event says; one that was never spawned is created (D39). */
export function completeSubagent(draft: Draft, event: SubagentCompleted): void {
  const ending: Partial<Thread> = {
    status: event.status === 'completed' ? 'success' : 'error',
    ...(event.output !== undefined && { output: event.output }),
    ...(event.durationMs !== undefined && { durationMs: event.durationMs }),
  };
  if (endedBefore(draft, event.toolUseId, ending)) return;
  const position = placeThread(draft, event);
  const thread = draft.thread(position);
  if (thread === undefined) return;
  draft.setThread(position, changeThread(thread, ending));
  showInParent(draft, position, event);
}

/**
 * Whether an agent's ending is told a second time. Told by the agent's id, an ending goes to the newest open run; told again,
 * when that run is closed, it must not end another one (I7).
 */
function endedBefore(draft: Draft, id: string, ending: Partial<Thread>): boolean {
  const target = draft.thread(draft.find(id));
  if (target === undefined || target.toolUseId === id) return false;
  const runs = draft.runsOf(id);
  const suspects = isOpen(target) ? runs.slice(runs.indexOf(target) + 1) : runs;
  return suspects.some((run) => changeThread(run, ending) === run);
}

/** Finds or makes the thread, gives it its agent id and its parent; `NONE` when it would be its own ancestor (D40). */
function placeThread(draft: Draft, event: SubagentEvent): number {
  const { toolUseId } = event;
  if (normalAgentId(toolUseId) === MAIN_CONVERSATION) return NONE;
  const agentId = agentIdOf(event);
  const known = draft.find(toolUseId);
  if (known !== NONE) {
    if (!attach(draft, known, event)) return NONE;
    return agentId === undefined ? known : claim(draft, known, agentId);
  }
  if (isSelf(event.conversationId, toolUseId)) return NONE;
  const unclaimed = agentId === undefined ? NONE : findUnclaimed(draft, agentId);
  if (agentId !== undefined && unclaimed !== NONE && !draft.isWithin(draft.find(event.conversationId), unclaimed)) {
    renameThread(draft, unclaimed, toolUseId, agentId);
    attach(draft, unclaimed, event);
    return unclaimed;
  }
  const parent = findOrCreateThread(draft, event.conversationId);
  if (parent === NONE) return NONE;
  return draft.addThread(
    makeThread({
      toolUseId,
      agentId: unclaimed === NONE ? agentId : undefined,
      parentConversationId: draft.conversationId(parent),
      status: 'running',
      name: undefined,
      description: undefined,
      prompt: undefined,
      output: undefined,
      durationMs: undefined,
      blocks: BlockVector.empty,
    }),
  );
}

/** Hangs a thread that nobody spawned yet under the event's conversation. False: that would close a loop. */
function attach(draft: Draft, position: number, event: SubagentEvent): boolean {
  const thread = draft.thread(position);
  if (thread === undefined || wasSpawned(draft, thread)) return true;
  const shown = draft.blocks(parentOf(draft, thread)).get(subagentBlockId(thread.toolUseId)) !== undefined;
  const unnamed = event.conversationId === undefined || event.conversationId === MAIN_CONVERSATION;
  // A completion that came first may not have known the parent; the spawn does, unless it names none either.
  if (shown && (event.type === 'subagent:completed' || unnamed)) return true;
  const known = draft.find(event.conversationId);
  if (known !== NONE && draft.isWithin(known, position)) return false;
  const parent = findOrCreateThread(draft, event.conversationId);
  if (parent === NONE) return false;
  const parentConversationId = draft.conversationId(parent);
  if (parentConversationId === thread.parentConversationId) return true;
  if (shown) hideThread(draft, thread);
  const current = draft.thread(position) ?? thread;
  draft.setThread(position, changeThread(current, { parentConversationId }));
  return true;
}

/** Links an agent id to a thread that has none; answers where the thread stands afterwards. A link, once made, stays. */
function claim(draft: Draft, position: number, agentId: string): number {
  const thread = draft.thread(position);
  if (thread === undefined || thread.agentId !== undefined) return position;
  const unclaimed = findUnclaimed(draft, agentId);
  if (unclaimed === NONE || unclaimed === position) {
    draft.setThread(position, changeThread(thread, { agentId }));
    return position;
  }
  if (draft.isWithin(position, unclaimed) || draft.isWithin(unclaimed, position)) return position;
  draft.setThread(position, changeThread(thread, { agentId }));
  return absorbThread(draft, unclaimed, position);
}

function showInParent(draft: Draft, position: number, event: SubagentEvent): void {
  const thread = draft.thread(position);
  if (thread === undefined) return;
  const parent = parentOf(draft, thread);
  const blocks = draft.blocks(parent);
  const known = blocks.get(subagentBlockId(thread.toolUseId));
  // A block of another kind has this id: its type never changes (D43).
  if (known && known.type !== 'subagent') return;
  const block = showThread(thread, known, event.timestamp ?? '');
  if (block !== known) draft.setBlocks(parent, blocks.put(block));
}

/** The agent id an event brings, unless it names no agent: the main thread, or the parent itself. */
function agentIdOf(event: SubagentEvent): string | undefined {
  if (event.agentId === undefined || event.agentId === '') return undefined;
  const agentId = normalAgentId(event.agentId);
  return agentId === MAIN_CONVERSATION || isSelf(event.conversationId, agentId) ? undefined : agentId;
}

function isSelf(conversationId: string | undefined, id: string): boolean {
  return conversationId !== undefined && normalAgentId(conversationId) === normalAgentId(id);
}
