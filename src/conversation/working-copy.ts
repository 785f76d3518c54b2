import { BlockVector } from './block-vector.ts';
import type { SessionConversationState } from './blocks.ts';
import { MAIN_CONVERSATION } from './events.ts';
import { IndexedState, SubagentIndex } from './indexed-state.ts';
import { reviveIndexed } from './revive.ts';
import type { Subagent } from './subagent.ts';

/** The position of the main conversation; subagents count from 0. */
export const MAIN = -1;
/** The position of a conversation that does not exist. */
export const NONE = -2;

/**
 * The mutable state of one reduction, of one event or of a batch. Handlers change the copy; the state that it was opened on does not
 * change. `close` returns that same state when no handler changed anything.
 */
export class WorkingCopy {
  readonly #origin: SessionConversationState;
  readonly #start: IndexedState;
  #blocks: BlockVector;
  /** The subagents, and holes where some were removed. */
  #subagents: readonly (Subagent | undefined)[];
  /** `#subagents`, once it was copied for this reduction. */
  #ownSubagents: (Subagent | undefined)[] | undefined;
  #hasHoles = false;
  #index: SubagentIndex;

  constructor(state: SessionConversationState) {
    this.#origin = state;
    this.#start = IndexedState.isOurs(state) ? state : reviveIndexed(state);
    this.#blocks = this.#start.blocks;
    this.#subagents = this.#start.subagents;
    this.#index = IndexedState.indexOf(this.#start);
  }

  close(): SessionConversationState {
    if (this.#blocks === this.#start.blocks && this.#ownSubagents === undefined) return this.#origin;
    const { subagents } = this;
    return new IndexedState(this.#blocks, subagents, this.#hasHoles ? SubagentIndex.of(subagents) : this.#index);
  }

  get subagents(): readonly Subagent[] {
    return this.#hasHoles
      ? this.#subagents.filter((subagent) => subagent !== undefined)
      : (this.#subagents as readonly Subagent[]);
  }

  /** The position of a conversation: by tool use id, then by agent id, then by an agent id that no call has claimed yet (D41). */
  find(conversationId: string | undefined): number {
    if (conversationId === undefined || conversationId === MAIN_CONVERSATION) return MAIN;
    if (this.#subagents.length === 0) return NONE;
    const byToolUse = this.findToolUse(conversationId);
    if (byToolUse >= 0) return byToolUse;
    const agentId = normalAgentId(conversationId);
    const byAgent = this.#index.byAgent(this.#subagents, agentId);
    if (byAgent >= 0) return byAgent;
    return agentId === conversationId ? NONE : this.findToolUse(agentId);
  }

  /** The position of the subagent that a spawn is about. A call may have the id of an agent that another call started. */
  findSpawned(toolUseId: string): number {
    const known = this.findToolUse(toolUseId);
    return known === NONE ? this.findToolUse(normalAgentId(toolUseId)) : known;
  }

  findToolUse(toolUseId: string): number {
    const position = this.#index.byToolUse(this.#subagents, toolUseId);
    return position < 0 ? NONE : position;
  }

  /** Every run of the agent that an id names. */
  runsOf(id: string): readonly Subagent[] {
    const agentId = normalAgentId(id);
    return this.subagents.filter((subagent) => subagent.agentId === agentId);
  }

  subagent(position: number): Subagent | undefined {
    return position < 0 ? undefined : this.#subagents[position];
  }

  /** The conversation id that the blocks at a position carry. */
  conversationId(position: number): string {
    return this.subagent(position)?.toolUseId ?? MAIN_CONVERSATION;
  }

  blocks(position: number): BlockVector {
    return this.subagent(position)?.blocks ?? this.#blocks;
  }

  setBlocks(position: number, blocks: BlockVector): void {
    if (position === MAIN) this.#blocks = blocks;
    else {
      const subagent = this.#subagents[position];
      if (subagent && subagent.blocks !== blocks) this.#own()[position] = { ...subagent, blocks };
    }
  }

  /** Replaces a subagent by the same one with other fields. */
  setSubagent(position: number, subagent: Subagent): void {
    if (this.#subagents[position] === subagent) return;
    this.#own()[position] = subagent;
    this.#index.add(subagent, position);
  }

  addSubagent(subagent: Subagent): number {
    if (this.#index.isCrowdedFor(this.#subagents)) this.#index = SubagentIndex.of(this.#subagents);
    const position = this.#subagents.length;
    this.#own().push(subagent);
    this.#index.add(subagent, position);
    return position;
  }

  /** Removes a subagent. Until `close`, the others keep their positions: thousands may be removed in one batch. */
  removeSubagent(position: number): void {
    this.#own()[position] = undefined;
    this.#hasHoles = true;
  }

  /** The positions of the children of the subagent with this tool use id. */
  childrenOf(toolUseId: string): readonly number[] {
    return this.#index.childrenOf(this.#subagents, toolUseId);
  }

  /** Removes everything. */
  clear(): void {
    this.#blocks = BlockVector.empty;
    if (this.#subagents.length === 0) return;
    this.#own().length = 0;
    this.#hasHoles = false;
    this.#index = new SubagentIndex();
  }

  /** Whether `ancestor` is the conversation at `position` or one of its ancestors. */
  isWithin(position: number, ancestor: number): boolean {
    let current = position;
    // A revived state may contain loops of parents; no chain without a loop is longer than the number of subagents.
    for (let steps = 0; steps <= this.#subagents.length; steps++) {
      if (current === ancestor) return true;
      if (current < 0) return false;
      current = this.find(this.#subagents[current]?.parentConversationId);
    }
    return true;
  }

  #own(): (Subagent | undefined)[] {
    this.#ownSubagents ??= this.#subagents.slice();
    this.#subagents = this.#ownSubagents;
    return this.#ownSubagents;
  }
}

/** An agent's id without the prefix that its files have (D41). */
export function normalAgentId(id: string): string {
  return id.length > 6 && id.startsWith('agent-') ? id.slice(6) : id;
}
