import { PositionIndex } from './position-index.ts';
import type { SubagentState } from './state.ts';

/** Finds a subagent's thread by tool use id or agent id, for every version of a state that shares it (D41). */
export class ThreadIndex {
  readonly #toolUses = new PositionIndex();
  readonly #agents = new PositionIndex();

  static of(threads: readonly SubagentState[]): ThreadIndex {
    const index = new ThreadIndex();
    for (const [position, thread] of threads.entries()) index.add(thread, position);
    return index;
  }

  /** Whether so much of the index belongs to other versions that these threads should have their own. */
  isCrowdedFor(threads: readonly SubagentState[]): boolean {
    return threads.length === 0 || this.#toolUses.size > 2 * threads.length + 64;
  }

  add(thread: SubagentState, position: number): void {
    this.#toolUses.add(thread.toolUseId, position);
    if (thread.agentId !== undefined) this.#agents.add(thread.agentId, position);
  }

  /** Where the thread with this tool use id stands, or -1. */
  byToolUse(threads: readonly SubagentState[], toolUseId: string): number {
    const found = this.#toolUses.candidates(toolUseId);
    if (found === undefined) return -1;
    if (typeof found === 'number') return threads[found]?.toolUseId === toolUseId ? found : -1;
    return found.find((position) => threads[position]?.toolUseId === toolUseId) ?? -1;
  }

  /** Where the agent's newest open run stands, else its newest run, else -1: one agent may serve several (D41). */
  byAgent(threads: readonly SubagentState[], agentId: string): number {
    const found = this.#agents.candidates(agentId);
    if (found === undefined) return -1;
    if (typeof found === 'number') return threads[found]?.agentId === agentId ? found : -1;
    let newest = -1;
    let newestOpen = -1;
    for (const position of found) {
      const thread = threads[position];
      if (thread?.agentId !== agentId) continue;
      if (position > newest) newest = position;
      if (position > newestOpen && isOpen(thread)) newestOpen = position;
    }
    return newestOpen >= 0 ? newestOpen : newest;
  }
}

/** Whether a subagent has not ended. */
export function isOpen(thread: SubagentState): boolean {
  return thread.status === 'pending' || thread.status === 'running';
}
