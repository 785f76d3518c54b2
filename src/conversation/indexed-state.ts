import { BlockVector, PositionIndex } from './block-vector.ts';
import type { SessionConversationState, SubagentState } from './blocks.ts';
import { MAIN_CONVERSATION } from './events.ts';
import { isOpen, type Subagent } from './subagent.ts';

/** The subagents of a version; holes are those that the current reduction removed. */
type Subagents = readonly (SubagentState | undefined)[];

/** Finds a subagent by tool use id or agent id, in every version of a state that shares the index (D41). */
export class SubagentIndex {
  readonly #toolUses = new PositionIndex();
  readonly #agents = new PositionIndex();
  /** The positions of the children of each subagent, as candidates. Those of the main conversation are most of the others. */
  readonly #children = new Map<string, Set<number>>();

  static of(subagents: Subagents): SubagentIndex {
    const index = new SubagentIndex();
    for (const [position, subagent] of subagents.entries()) if (subagent) index.add(subagent, position);
    return index;
  }

  /** Whether most of the index belongs to other versions, so that this one should get an index of its own. */
  isCrowdedFor(subagents: Subagents): boolean {
    return subagents.length === 0 || this.#toolUses.size > 2 * subagents.length + 64;
  }

  add(subagent: SubagentState, position: number): void {
    this.#toolUses.add(subagent.toolUseId, position);
    if (subagent.agentId !== undefined) this.#agents.add(subagent.agentId, position);
    const { parentConversationId } = subagent;
    if (parentConversationId === MAIN_CONVERSATION) return;
    const children = this.#children.get(parentConversationId);
    if (children) children.add(position);
    else this.#children.set(parentConversationId, new Set([position]));
  }

  /** The positions of the subagents with this parent, which is not the main conversation, in order. */
  childrenOf(subagents: Subagents, parent: string): readonly number[] {
    const isChild = (position: number): boolean => subagents[position]?.parentConversationId === parent;
    return [...(this.#children.get(parent) ?? [])].filter(isChild).sort((a, b) => a - b);
  }

  /** The position of the subagent with this tool use id, or -1. */
  byToolUse(subagents: Subagents, toolUseId: string): number {
    const found = this.#toolUses.candidates(toolUseId);
    if (found === undefined) return -1;
    if (typeof found === 'number') return subagents[found]?.toolUseId === toolUseId ? found : -1;
    return found.find((position) => subagents[position]?.toolUseId === toolUseId) ?? -1;
  }

  /** The position of the agent's newest open run, else of its newest run, else -1: one agent may have several runs (D41). */
  byAgent(subagents: Subagents, agentId: string): number {
    const found = this.#agents.candidates(agentId);
    if (found === undefined) return -1;
    if (typeof found === 'number') return subagents[found]?.agentId === agentId ? found : -1;
    let newest = -1;
    let newestOpen = -1;
    for (const position of found) {
      const subagent = subagents[position];
      if (subagent?.agentId !== agentId) continue;
      if (position > newest) newest = position;
      if (position > newestOpen && isOpen(subagent)) newestOpen = position;
    }
    return newestOpen >= 0 ? newestOpen : newest;
  }
}

/** The implementation of `SessionConversationState`: also holds the index of subagents, which is not part of the JSON. */
export class IndexedState implements SessionConversationState {
  readonly blocks: BlockVector;
  readonly subagents: readonly Subagent[];
  readonly #index: SubagentIndex;

  constructor(blocks: BlockVector, subagents: readonly Subagent[], index: SubagentIndex) {
    this.blocks = blocks;
    this.subagents = subagents;
    this.#index = index;
  }

  /** Whether a state was made here, and not revived from JSON or written by hand. */
  static isOurs(value: SessionConversationState): value is IndexedState {
    return typeof value === 'object' && value !== null && #index in value;
  }

  static indexOf(state: IndexedState): SubagentIndex {
    return state.#index;
  }
}

/** Creates the state of an empty conversation. */
export function createConversationState(): SessionConversationState {
  return new IndexedState(BlockVector.empty, [], new SubagentIndex());
}
