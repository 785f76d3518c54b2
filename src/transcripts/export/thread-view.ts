import type { BlockList, ConversationBlock } from '../../conversation/blocks.ts';
import { findSubagent } from '../../conversation/selectors.ts';
import type { SessionConversationState, SubagentState } from '../../conversation/state.ts';
import { keep } from '../json-access.ts';

/** A block as a document shows it: a subagent's with what the subagent did. */
export interface ShownBlock {
  readonly block: ConversationBlock;
  readonly thread?: Thread;
}

/** A thread to be shown inside another. */
export interface Thread {
  readonly subagent: SubagentState;
  readonly blocks: readonly ShownBlock[];
}

/** A document: the main thread with every other in its place, and those that no block shows. */
export interface ThreadView {
  readonly blocks: readonly ShownBlock[];
  readonly detached: readonly Thread[];
}

/** Threads deeper than this are shown at the end instead of in their place. */
const MAX_DEPTH = 20;

/** Lays a conversation out for reading. Every thread is shown once, whatever shape the tree has. */
export function threadView(state: SessionConversationState): ThreadView {
  const shown = new Set<SubagentState>();
  const layOut = (blocks: BlockList, depth: number): ShownBlock[] =>
    blocks.map((block) => {
      const subagent = block.type === 'subagent' ? findSubagent(state, block.toolUseId) : undefined;
      if (!subagent || depth >= MAX_DEPTH || shown.has(subagent)) return { block };
      shown.add(subagent);
      return { block, thread: { subagent, blocks: layOut(subagent.blocks, depth + 1) } };
    });
  const blocks = layOut(state.blocks, 0);
  const detached: Thread[] = [];
  for (const subagent of state.subagents) {
    if (shown.has(subagent)) continue;
    shown.add(subagent);
    detached.push({ subagent, blocks: layOut(subagent.blocks, 0) });
  }
  return { blocks, detached };
}

/** Data as indented JSON, or the text itself. */
export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(keep(value), null, 2) ?? '');
}

/** A time for people: to the second, in the zone it was written in; nothing when it is none. */
export function readableTime(timestamp: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(timestamp);
  return match ? `${match[1]} ${match[2]}` : '';
}
