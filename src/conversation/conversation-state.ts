import { BlockVector } from './block-vector.ts';
import type { SessionConversationState, SubagentState } from './state.ts';
import { ThreadIndex } from './thread-index.ts';

/** A subagent whose blocks are ours to update. */
export interface Thread extends SubagentState {
  readonly blocks: BlockVector;
}

/** The state behind the interface: what JSON shows, and the index of threads, which it does not. */
export class ConversationState implements SessionConversationState {
  readonly blocks: BlockVector;
  readonly subagents: readonly Thread[];
  readonly #index: ThreadIndex;

  constructor(blocks: BlockVector, subagents: readonly Thread[], index: ThreadIndex) {
    this.blocks = blocks;
    this.subagents = subagents;
    this.#index = index;
  }

  static isOurs(value: SessionConversationState): value is ConversationState {
    return typeof value === 'object' && value !== null && #index in value;
  }

  static indexOf(state: ConversationState): ThreadIndex {
    return state.#index;
  }
}

/** The state before anything was said. */
export function createConversationState(): SessionConversationState {
  return new ConversationState(BlockVector.empty, [], new ThreadIndex());
}
