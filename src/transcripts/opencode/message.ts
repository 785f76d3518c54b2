/** A message of OpenCode, as far as it is known. */
import type { Usage } from '../../core/log/usage.ts';
import { asCount, asName, asObject, asText, type Json } from '../json-access.ts';
import { tokenUsage } from '../token-usage.ts';
import { timeField } from './time.ts';

export interface OpenCodeMessage {
  readonly id: string;
  readonly sessionId: string;
  /** The conversation where it started. */
  readonly conversationId: string;
  readonly role: string;
  readonly created: number | undefined;
  readonly completed: number | undefined;
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
  /** A compaction's message: its text is the summary. */
  readonly isSummary: boolean;
  /** The parts of a user's message, which make one block. */
  readonly parts: Map<string, Json>;
  /** The block of each part. */
  readonly blockIds: Map<string, string>;
}

/** A message of which only a part is known yet. */
export function newMessage(id: string, sessionId: string, conversationId: string): OpenCodeMessage {
  return {
    ...{ id, sessionId, conversationId, role: 'assistant', isSummary: false, parts: new Map(), blockIds: new Map() },
    ...{ created: undefined, completed: undefined, model: undefined, usage: undefined },
  };
}

/** The message with the fields of its `info`. */
export function withInfo(message: OpenCodeMessage, info: Json): OpenCodeMessage {
  return {
    ...message,
    role: asText(info.role) ?? message.role,
    created: timeField(info, 'created') ?? message.created,
    completed: timeField(info, 'completed') ?? message.completed,
    model: asName(info.modelID) ?? asName(asObject(info.model)?.modelID) ?? message.model,
    usage: usageOf(info.tokens, info.cost) ?? message.usage,
    isSummary: info.summary === true || message.isSummary,
  };
}

/** Converts OpenCode's tokens: its `input` excludes the cached tokens, ours includes them. */
export function usageOf(tokens: unknown, cost: unknown): Usage | undefined {
  const counts = asObject(tokens);
  const cache = asObject(counts?.cache);
  const cached = asCount(cache?.read);
  const written = asCount(cache?.write);
  const inputTokens = asCount(counts?.input) + cached + written;
  const reasoning = asCount(counts?.reasoning);
  const outputTokens = asCount(counts?.output);
  return tokenUsage({ inputTokens, outputTokens, cached, written, reasoning, costUsd: asCount(cost) });
}
