/** Questions about a conversation's state. All but the totals and the tree cost no more than their answer. */
import { addUsage, NO_USAGE, type Usage } from '../core/usage.ts';
import type { BlockList, BlockMessage, ConversationBlock } from './blocks.ts';
import { Draft, MAIN, NONE } from './draft.ts';
import { MAIN_CONVERSATION } from './events.ts';
import type { SessionConversationState, SubagentState } from './state.ts';

/** One thread of the tree: the main one, or a subagent's. */
export interface ThreadNode {
  readonly conversationId: string;
  readonly blocks: BlockList;
  /** Absent for the main thread. */
  readonly subagent?: SubagentState;
  readonly children: readonly ThreadNode[];
}

/** What a conversation cost, each model answer counted once. */
export interface UsageTotals {
  readonly usage: Usage;
  /** Answers that reported their usage. */
  readonly messages: number;
  readonly byModel: ReadonlyMap<string, Usage>;
}

/** A subagent's thread by tool use id or agent id, with or without the `agent-` prefix (D41). */
export function findSubagent(state: SessionConversationState, id: string): SubagentState | undefined {
  const draft = new Draft(state);
  return draft.thread(draft.find(id));
}

/** The blocks of one thread; undefined when there is no such thread. */
export function blocksOf(
  state: SessionConversationState,
  conversationId: string = MAIN_CONVERSATION,
): BlockList | undefined {
  const draft = new Draft(state);
  const position = draft.find(conversationId);
  return position === NONE ? undefined : draft.blocks(position);
}

/** One block, by its id and its conversation's (D44). */
export function findBlock(
  state: SessionConversationState,
  blockId: string,
  conversationId: string = MAIN_CONVERSATION,
): ConversationBlock | undefined {
  const draft = new Draft(state);
  const position = draft.find(conversationId);
  return position === NONE ? undefined : draft.blocks(position).get(blockId);
}

/** What is still being said or done: in one thread, or in all of them. */
export function pendingBlocks(state: SessionConversationState, conversationId?: string): readonly ConversationBlock[] {
  const draft = new Draft(state);
  const positions =
    conversationId === undefined
      ? [MAIN, ...draft.threads.keys()]
      : [draft.find(conversationId)].filter((p) => p !== NONE);
  return positions.flatMap((position) => {
    const blocks = draft.blocks(position);
    return blocks.pendingPositions().flatMap((at) => blocks.at(at) ?? []);
  });
}

/** The threads as a tree. One whose parent is gone hangs under main, and so does one thread of a loop. */
export function threadTree(state: SessionConversationState): ThreadNode {
  const draft = new Draft(state);
  const nodes = draft.threads.map((subagent) => ({
    conversationId: subagent.toolUseId,
    blocks: subagent.blocks,
    subagent,
    children: [] as ThreadNode[],
  }));
  const root = { conversationId: MAIN_CONVERSATION, blocks: draft.blocks(MAIN), children: [] as ThreadNode[] };
  const loops = loopHeads(draft);
  for (const [position, node] of nodes.entries()) {
    const parent = loops.has(position) ? root : nodes[draft.find(node.subagent.parentConversationId)];
    (parent ?? root).children.push(node);
  }
  return root;
}

/** One thread of every loop of parents. The reducer makes none, but a state may come from anywhere. */
function loopHeads(draft: Draft): ReadonlySet<number> {
  const settled = new Set<number>();
  const heads = new Set<number>();
  for (const start of draft.threads.keys()) {
    const path = new Set<number>();
    let current = start;
    while (current >= 0 && !settled.has(current) && !path.has(current)) {
      path.add(current);
      current = draft.find(draft.thread(current)?.parentConversationId);
    }
    if (path.has(current)) heads.add(current);
    for (const position of path) settled.add(position);
  }
  return heads;
}

/** Tokens and money over all threads. Blocks of one answer repeat its usage; the fullest report of each counts, once. */
export function usageTotals(state: SessionConversationState): UsageTotals {
  const answers = new Map<string, BlockMessage & { readonly usage: Usage }>();
  for (const blocks of [state.blocks, ...state.subagents.map((subagent) => subagent.blocks)]) {
    for (const { message } of blocks) {
      if (message?.usage === undefined) continue;
      const known = answers.get(message.id);
      // A report made while the answer was streaming says less than the last one.
      if (known && known.usage.outputTokens > message.usage.outputTokens) continue;
      answers.set(message.id, { ...message, usage: message.usage });
    }
  }
  const byModel = new Map<string, Usage>();
  let usage = NO_USAGE;
  for (const answer of answers.values()) {
    usage = addUsage(usage, answer.usage);
    if (answer.model !== undefined) {
      byModel.set(answer.model, addUsage(byModel.get(answer.model) ?? NO_USAGE, answer.usage));
    }
  }
  return { usage, messages: answers.size, byModel };
}
