import { BlockVector } from './block-vector.ts';
import type { SessionConversationState } from './state.ts';
import type { Subagent } from './subagent.ts';
import { SubagentIndex } from './subagent-index.ts';

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
