/** Builds events and blocks, and reads states. */

import type { TextBlock } from '../../src/conversation/blocks.ts';
import {
  type ConversationBlock,
  type ConversationEvent,
  createConversationState,
  reduceConversation,
  type SessionConversationState,
  type ToolResultBlock,
  type ToolUseBlock,
} from '../../src/conversation.ts';

export const T0 = '2026-01-01T00:00:00.000Z';
export const T1 = '2026-01-01T00:00:01.000Z';

export function text(id: string, content = '', fields: Partial<TextBlock> = {}): TextBlock {
  return { id, type: 'assistant_text', conversationId: 'main', timestamp: T0, status: 'complete', content, ...fields };
}

export function call(id: string, fields: Partial<ToolUseBlock> = {}): ToolUseBlock {
  return {
    id,
    type: 'tool_use',
    conversationId: 'main',
    timestamp: T0,
    status: 'pending',
    toolUseId: id,
    toolName: 'read',
    ...fields,
  };
}

export function result(toolUseId: string, fields: Partial<ToolResultBlock> = {}): ToolResultBlock {
  return {
    id: `result:${toolUseId}`,
    type: 'tool_result',
    conversationId: 'main',
    timestamp: T0,
    status: 'complete',
    toolUseId,
    output: 'ok',
    isError: false,
    ...fields,
  };
}

export function upsert(block: ConversationBlock, conversationId = block.conversationId): ConversationEvent {
  return { type: 'block:upsert', conversationId, timestamp: T0, block };
}

export function delta(blockId: string, text: string, offset?: number, conversationId = 'main'): ConversationEvent {
  const event = { type: 'block:delta', conversationId, timestamp: T0, blockId, delta: text } as const;
  return offset === undefined ? event : { ...event, offset };
}

export function removed(blockId: string, conversationId = 'main'): ConversationEvent {
  return { type: 'block:removed', conversationId, timestamp: T0, blockId };
}

type Fields<T extends ConversationEvent['type']> = Partial<Extract<ConversationEvent, { type: T }>>;

export function spawned(toolUseId: string, fields: Fields<'subagent:spawned'> = {}): ConversationEvent {
  return { type: 'subagent:spawned', conversationId: 'main', timestamp: T0, toolUseId, ...fields };
}

export function completed(toolUseId: string, fields: Fields<'subagent:completed'> = {}): ConversationEvent {
  return {
    type: 'subagent:completed',
    conversationId: 'main',
    timestamp: T0,
    toolUseId,
    status: 'completed',
    ...fields,
  };
}

export function idle(fields: Fields<'session:idle'> = {}): ConversationEvent {
  return { type: 'session:idle', conversationId: 'main', timestamp: T0, ...fields };
}

export function stateAfter(...events: readonly ConversationEvent[]): SessionConversationState {
  return events.reduce(reduceConversation, createConversationState());
}

/** A state as plain data. */
export function plain(state: unknown): {
  blocks: ConversationBlock[];
  subagents: ({ blocks: ConversationBlock[]; toolUseId: string; status: string; parentConversationId: string } & Record<
    string,
    unknown
  >)[];
} {
  return JSON.parse(JSON.stringify(state));
}

/** Freezes a value and everything that it references. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key of Reflect.ownKeys(value)) deepFreeze((value as Record<PropertyKey, unknown>)[key]);
  if (Symbol.iterator in value) for (const item of value as unknown as Iterable<unknown>) deepFreeze(item);
  return value;
}
