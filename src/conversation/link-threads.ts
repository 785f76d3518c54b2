/**
 * Threads under two names (D41). Blocks may arrive under an agent's id before anyone says which call started that agent; the
 * thread they begin is provisional. When the link appears, it takes the call's name or is merged into the call's thread.
 */
import { BlockVector } from './block-vector.ts';
import type { Thread } from './conversation-state.ts';
import { type Draft, MAIN, NONE } from './draft.ts';
import { withBlock } from './reduce-block.ts';
import { changeThread, firstSaid, makeThread, subagentBlockId } from './subagent-thread.ts';
import { isOpen } from './thread-index.ts';

/** Where the thread stands that was begun under an agent's id and that no call has claimed, or `NONE`. */
export function findUnclaimed(draft: Draft, agentId: string): number {
  const position = draft.findToolUse(agentId);
  const thread = draft.thread(position);
  return thread && !wasSpawned(draft, thread) ? position : NONE;
}

/** Whether a spawn told of this thread; blocks and a completion alone leave it without name, description and prompt. */
export function wasSpawned(draft: Draft, thread: Thread): boolean {
  const said = thread.name ?? thread.description ?? thread.prompt;
  if (said !== undefined) return true;
  const block = draft.blocks(parentOf(draft, thread)).get(subagentBlockId(thread.toolUseId));
  return block?.type === 'subagent' && (block.name ?? block.description ?? block.input) !== undefined;
}

/** Where a thread's parent stands; one whose parent is gone hangs under main. */
export function parentOf(draft: Draft, thread: Thread): number {
  const parent = draft.find(thread.parentConversationId);
  return parent === NONE ? MAIN : parent;
}

/** Gives an unclaimed thread the name of the call that started it. */
export function renameThread(draft: Draft, position: number, toolUseId: string, agentId: string): void {
  const thread = draft.thread(position);
  if (thread === undefined) return;
  hideThread(draft, thread);
  const blocks = BlockVector.from(readdressed(thread, toolUseId));
  draft.setThread(position, makeThread({ ...thread, toolUseId, agentId, blocks }));
  moveChildren(draft, thread.toolUseId, toolUseId);
}

/** Merges the thread at `from` into the one at `into`, and answers where that stands afterwards. */
export function absorbThread(draft: Draft, from: number, into: number): number {
  const source = draft.thread(from);
  const target = draft.thread(into);
  if (source === undefined || target === undefined) return into;
  hideThread(draft, source);
  const current = draft.thread(into) ?? target;
  const merged = changeThread(current, {
    ...(isOpen(current) && !isOpen(source) && { status: source.status }),
    ...said('output', firstSaid(current.output, source.output)),
    ...said('durationMs', current.durationMs ?? source.durationMs),
    blocks: readdressed(source, target.toolUseId).reduce(withBlock, current.blocks),
  });
  draft.setThread(into, merged);
  moveChildren(draft, source.toolUseId, target.toolUseId);
  draft.removeThread(from);
  return draft.findToolUse(target.toolUseId);
}

/** Takes away the block that shows a thread. */
export function hideThread(draft: Draft, thread: Thread): void {
  const parent = parentOf(draft, thread);
  draft.setBlocks(parent, draft.blocks(parent).remove(subagentBlockId(thread.toolUseId)));
}

function readdressed(thread: Thread, conversationId: string): ReturnType<BlockVector['toJSON']> {
  return thread.blocks.map((block) => ({ ...block, conversationId }));
}

function moveChildren(draft: Draft, from: string, to: string): void {
  for (const [position, thread] of draft.threads.entries()) {
    if (thread.parentConversationId === from) {
      draft.setThread(position, changeThread(thread, { parentConversationId: to }));
    }
  }
}

function said<K extends string, T>(key: K, value: T | undefined): { readonly [P in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: T };
}
