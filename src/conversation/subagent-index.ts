import { PositionIndex } from './position-index.ts';
import type { SubagentState } from './state.ts';
import { isOpen } from './subagent.ts';

/** Finds a subagent by tool use id or agent id, in every version of a state that shares the index (D41). */
export class SubagentIndex {
  readonly #toolUses = new PositionIndex();
  readonly #agents = new PositionIndex();

  static of(subagents: readonly SubagentState[]): SubagentIndex {
    const index = new SubagentIndex();
    for (const [position, subagent] of subagents.entries()) index.add(subagent, position);
    return index;
  }

  /** Whether most of the index belongs to other versions, so that this one should get an index of its own. */
  isCrowdedFor(subagents: readonly SubagentState[]): boolean {
    return subagents.length === 0 || this.#toolUses.size > 2 * subagents.length + 64;
  }

  add(subagent: SubagentState, position: number): void {
    this.#toolUses.add(subagent.toolUseId, position);
    if (subagent.agentId !== undefined) this.#agents.add(subagent.agentId, position);
  }

  /** The position of the subagent with this tool use id, or -1. */
  byToolUse(subagents: readonly SubagentState[], toolUseId: string): number {
    const found = this.#toolUses.candidates(toolUseId);
    if (found === undefined) return -1;
    if (typeof found === 'number') return subagents[found]?.toolUseId === toolUseId ? found : -1;
    return found.find((position) => subagents[position]?.toolUseId === toolUseId) ?? -1;
  }

  /** The position of the agent's newest open run, else of its newest run, else -1: one agent may have several runs (D41). */
  byAgent(subagents: readonly SubagentState[], agentId: string): number {
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
