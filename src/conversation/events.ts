/**
 * What changes a conversation on a screen. Every source (our log, an agent's stream, a transcript) is turned into these, and
 * one reducer folds them, so all of them look the same.
 */
import type { ConversationBlock } from './blocks.ts';

/** The conversation that is nobody's subagent (D36). */
export const MAIN_CONVERSATION = 'main';

/** The envelope of every event (D36). */
export interface ConversationEventBase {
  /** The thread it belongs to, by tool use id or agent id; absent: `'main'`. It wins over the block's own (D36). */
  readonly conversationId?: string;
  /** ISO time, from the source. */
  readonly timestamp: string;
}

/** Creates a block or replaces it whole. */
export interface BlockUpsert extends ConversationEventBase {
  readonly type: 'block:upsert';
  readonly block: ConversationBlock;
}

/** Takes a block away: superseded, reverted, or a draft that begins anew (D44, D53). */
export interface BlockRemoved extends ConversationEventBase {
  readonly type: 'block:removed';
  readonly blockId: string;
}

/** Appends text to a pending block (D42). */
export interface BlockDelta extends ConversationEventBase {
  readonly type: 'block:delta';
  readonly blockId: string;
  readonly delta: string;
  /** Where the delta begins, in UTF-16 units: what is known already is dropped. Absent: at the end. */
  readonly offset?: number;
}

/** A subagent began. `conversationId` is the parent's. */
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

/** Nobody is working on the conversation any more: what is pending ends (D45). */
export interface SessionIdle extends ConversationEventBase {
  readonly type: 'session:idle';
  /** Absent: `'completed'`. */
  readonly reason?: 'completed' | 'interrupted' | 'failed';
}

/** What was shown belongs to another log: the conversation begins again, empty (D74). */
export interface SessionCleared extends ConversationEventBase {
  readonly type: 'session:reset';
}

/** Everything the reducer understands. */
export type ConversationEvent =
  | BlockUpsert
  | BlockRemoved
  | BlockDelta
  | SubagentSpawned
  | SubagentCompleted
  | SessionIdle
  | SessionCleared;
