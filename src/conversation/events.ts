/**
 * The events that change a conversation on a screen. Every source (our log, an agent's stream, a transcript) is converted to them,
 * and one reducer folds them, so all sources look the same.
 */
import type { ConversationBlock } from './blocks.ts';

/** The id of the conversation that is not a subagent's (D36). */
export const MAIN_CONVERSATION = 'main';

/** The envelope of every event (D36). */
export interface ConversationEventBase {
  /** The conversation, by tool use id or agent id; absent: `'main'`. It overrides the block's own (D36). */
  readonly conversationId?: string;
  /** ISO time, from the source. */
  readonly timestamp: string;
}

/** Creates a block or replaces it. */
export interface BlockUpsert extends ConversationEventBase {
  readonly type: 'block:upsert';
  readonly block: ConversationBlock;
}

/** Removes a block: superseded, reverted, or a draft that starts again (D44, D53). */
export interface BlockRemoved extends ConversationEventBase {
  readonly type: 'block:removed';
  readonly blockId: string;
}

/** Appends text to a pending block (D42). */
export interface BlockDelta extends ConversationEventBase {
  readonly type: 'block:delta';
  readonly blockId: string;
  readonly delta: string;
  /** Where the delta starts, in UTF-16 units; the part that is already known is dropped. Absent: at the end. */
  readonly offset?: number;
}

/** A subagent started. `conversationId` is the parent's. */
export interface SubagentSpawned extends ConversationEventBase {
  readonly type: 'subagent:spawned';
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly prompt?: string;
  readonly subagentType?: string;
  readonly description?: string;
}

/** A subagent ended. `conversationId` is the parent's. */
export interface SubagentCompleted extends ConversationEventBase {
  readonly type: 'subagent:completed';
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly status: 'completed' | 'error' | 'failed';
  readonly output?: string;
  readonly durationMs?: number;
}

/** The conversation is no longer being worked on: its pending blocks end (D45). */
export interface SessionIdle extends ConversationEventBase {
  readonly type: 'session:idle';
  /** Absent: `'completed'`. */
  readonly reason?: 'completed' | 'interrupted' | 'failed';
}

/** The log was replaced by another one: the conversation starts again, empty (D74). */
export interface SessionCleared extends ConversationEventBase {
  readonly type: 'session:reset';
}

/** Every event that the reducer accepts. */
export type ConversationEvent =
  | BlockUpsert
  | BlockRemoved
  | BlockDelta
  | SubagentSpawned
  | SubagentCompleted
  | SessionIdle
  | SessionCleared;
