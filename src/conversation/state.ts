/** The shape of a conversation on a screen: the main blocks, and every subagent in one flat list. */
import type { BlockList } from './blocks.ts';

/** `pending` and `running` are open, the other two final. */
export type SubagentStatus = 'pending' | 'running' | 'success' | 'error';

/** A subagent with its blocks. Subagents form a tree by `parentConversationId` (D40). */
export interface SubagentState {
  /** The call that started it; the agent's id until the two are linked (D41). It is also the subagent's conversation id. */
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly parentConversationId: string;
  readonly status: SubagentStatus;
  readonly name?: string;
  readonly description?: string;
  readonly prompt?: string;
  readonly output?: string;
  readonly durationMs?: number;
  readonly blocks: BlockList;
}

/**
 * A conversation as a screen shows it.
 *
 * Contract: never changes; the parts that an event did not change are the same objects before and after. Compare states through JSON.
 */
export interface SessionConversationState {
  readonly blocks: BlockList;
  readonly subagents: readonly SubagentState[];
}
