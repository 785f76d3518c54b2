/** Reads a conversation's state. The cost of all but the totals and the tree grows only with what they return. */
import { addUsage, NO_USAGE, type Usage } from '../core/log/usage.ts';
import type { BlockList, BlockMessage, ConversationBlock, SessionConversationState, SubagentState } from './blocks.ts';
import { MAIN_CONVERSATION } from './events.ts';
import { MAIN, NONE, WorkingCopy } from './working-copy.ts';

/** One conversation of the tree: the main one, or a subagent's. */
export interface ThreadNode {
  readonly conversationId: string;
  readonly blocks: BlockList;
  /** Absent for the main conversation. */
  readonly subagent?: SubagentState;
  readonly children: readonly ThreadNode[];
}

/** What a conversation cost. Each response is counted once. */
export interface UsageTotals {
  readonly usage: Usage;
  /** Responses that reported their usage. */
  readonly messages: number;
  readonly byModel: ReadonlyMap<string, Usage>;
}

/** Finds a subagent by tool use id or agent id, with or without the `agent-` prefix (D41). */
export function findSubagent(state: SessionConversationState, id: string): SubagentState | undefined {
  const copy = new WorkingCopy(state);
  return copy.subagent(copy.find(id));
}

/** The blocks of one conversation; `undefined` when it does not exist. */
export function blocksOf(
  state: SessionConversationState,
  conversationId: string = MAIN_CONVERSATION,
): BlockList | undefined {
  const copy = new WorkingCopy(state);
  const position = copy.find(conversationId);
  return position === NONE ? undefined : copy.blocks(position);
}

/** Finds a block by its id and its conversation's id (D44). */
export function findBlock(
  state: SessionConversationState,
  blockId: string,
  conversationId: string = MAIN_CONVERSATION,
): ConversationBlock | undefined {
  const copy = new WorkingCopy(state);
  const position = copy.find(conversationId);
  return position === NONE ? undefined : copy.blocks(position).get(blockId);
}

/** The pending blocks of one conversation, or of all. */
export function pendingBlocks(state: SessionConversationState, conversationId?: string): readonly ConversationBlock[] {
  const copy = new WorkingCopy(state);
  const positions =
    conversationId === undefined
      ? [MAIN, ...copy.subagents.keys()]
      : [copy.find(conversationId)].filter((p) => p !== NONE);
  return positions.flatMap((position) => {
    const blocks = copy.blocks(position);
    return blocks.pendingPositions().flatMap((at) => blocks.blockAt(at) ?? []);
  });
}

/** The conversations as a tree. A subagent without an existing parent is placed under main, and so is one of every loop. */
export function threadTree(state: SessionConversationState): ThreadNode {
  const copy = new WorkingCopy(state);
  const nodes = copy.subagents.map((subagent) => ({
    conversationId: subagent.toolUseId,
    blocks: subagent.blocks,
    subagent,
    children: [] as ThreadNode[],
  }));
  const root = { conversationId: MAIN_CONVERSATION, blocks: copy.blocks(MAIN), children: [] as ThreadNode[] };
  const loops = loopHeads(copy);
  for (const [position, node] of nodes.entries()) {
    const parent = loops.has(position) ? root : nodes[copy.find(node.subagent.parentConversationId)];
    (parent ?? root).children.push(node);
  }
  return root;
}

/** One subagent of every loop of parents. The reducer creates no loops, but a revived state may contain some. */
function loopHeads(copy: WorkingCopy): ReadonlySet<number> {
  const settled = new Set<number>();
  const heads = new Set<number>();
  for (const start of copy.subagents.keys()) {
    const path = new Set<number>();
    let current = start;
    while (current >= 0 && !settled.has(current) && !path.has(current)) {
      path.add(current);
      current = copy.find(copy.subagent(current)?.parentConversationId);
    }
    if (path.has(current)) heads.add(current);
    for (const position of path) settled.add(position);
  }
  return heads;
}

/** Tokens and cost of all conversations. The blocks of a response repeat its usage; its fullest report is counted, once. */
export function usageTotals(state: SessionConversationState): UsageTotals {
  const responses = new Map<string, BlockMessage & { readonly usage: Usage }>();
  for (const blocks of [state.blocks, ...state.subagents.map((subagent) => subagent.blocks)]) {
    for (const { message } of blocks) {
      if (message?.usage === undefined) continue;
      const known = responses.get(message.id);
      // A report from the middle of the stream counts fewer tokens than the last one.
      if (known && known.usage.outputTokens > message.usage.outputTokens) continue;
      responses.set(message.id, { ...message, usage: message.usage });
    }
  }
  const byModel = new Map<string, Usage>();
  let usage = NO_USAGE;
  for (const response of responses.values()) {
    usage = addUsage(usage, response.usage);
    if (response.model !== undefined) {
      byModel.set(response.model, addUsage(byModel.get(response.model) ?? NO_USAGE, response.usage));
    }
  }
  return { usage, messages: responses.size, byModel };
}
