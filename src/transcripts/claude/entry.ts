/**
 * One message or line of a Claude agent. The SDK's stream and the files carry the same content under different field names; both are
 * converted to entries, and all later code handles only those.
 */
import type { Usage } from '../../core/log/usage.ts';
import { asCount, asName, asObject, asText, type Json } from '../json-access.ts';
import { tokenUsage } from '../token-usage.ts';

export interface ClaudeEntry {
  readonly type: string;
  readonly subtype: string | undefined;
  readonly uuid: string | undefined;
  /** The parent line; for a compaction, the last line before it. */
  readonly parentUuid: string | undefined;
  /** The line says that it has no parent; old lines do not name one at all. */
  readonly isRoot: boolean;
  /** Empty when the source has none. */
  readonly timestamp: string;
  /** The call that started the entry's agent, where the source names it. */
  readonly parentToolUseId: string | undefined;
  /** The entry's agent; absent for the main conversation. */
  readonly agentId: string | undefined;
  readonly isSidechain: boolean;
  readonly message: Json | undefined;
  /** What a tool returned besides the text for the model. Its shape depends on the tool. */
  readonly toolUseResult: unknown;
  /** The position of a line's only block in its message, where the source names it. */
  readonly blockIndex: number | undefined;
  readonly isMeta: boolean;
  readonly isCompactSummary: boolean;
  readonly isApiError: boolean;
  /** The line or message itself. */
  readonly raw: Json;
}

/** An entry that is being made: a file adds what its lines do not say. */
export type MutableEntry = { -readonly [K in keyof ClaudeEntry]: ClaudeEntry[K] };

/** Converts a line of a file. */
export function entryOfLine(line: Json): MutableEntry {
  return {
    type: asText(line.type) ?? '',
    subtype: asText(line.subtype),
    uuid: asName(line.uuid),
    parentUuid: asName(line.parentUuid) ?? asName(line.logicalParentUuid),
    isRoot: line.parentUuid === null && asName(line.logicalParentUuid) === undefined,
    timestamp: asText(line.timestamp) ?? '',
    parentToolUseId: undefined,
    agentId: asName(line.agentId),
    isSidechain: line.isSidechain === true,
    message: asObject(line.message),
    toolUseResult: line.toolUseResult,
    blockIndex: isBlockIndex(line.apiBlockIndex) ? line.apiBlockIndex : undefined,
    isMeta: line.isMeta === true,
    isCompactSummary: line.isCompactSummary === true,
    isApiError: line.isApiErrorMessage === true,
    raw: line,
  };
}

/** Converts a message of the SDK's stream, which has no tree and calls some fields by other names. */
export function entryOfMessage(message: Json): ClaudeEntry {
  return {
    ...entryOfLine(message),
    ...{ parentUuid: undefined, isRoot: false, isSidechain: false, blockIndex: undefined },
    parentToolUseId: asName(message.parent_tool_use_id),
    agentId: asName(message.agent_id),
    toolUseResult: message.tool_use_result,
    isApiError: asName(message.error) !== undefined,
  };
}

/** Converts an agent's progress line, which carries a line of that agent's conversation. */
export function entryOfProgress(line: Json): MutableEntry | undefined {
  const data = asObject(line.data);
  const message = asObject(data?.message);
  if (data === undefined || message === undefined) return undefined;
  const entry = entryOfLine(message);
  return {
    ...entry,
    timestamp: entry.timestamp === '' ? (asText(line.timestamp) ?? '') : entry.timestamp,
    parentUuid: undefined,
    isRoot: false,
    parentToolUseId: asName(line.parentToolUseID),
    agentId: asName(data.agentId),
    isSidechain: true,
  };
}

/** Converts Anthropic's usage: its `input_tokens` exclude the cached tokens, ours include them. */
export function usageOf(value: unknown): Usage | undefined {
  const usage = asObject(value);
  const cached = asCount(usage?.cache_read_input_tokens);
  const written = asCount(usage?.cache_creation_input_tokens);
  const reasoning = asCount(asObject(usage?.output_tokens_details)?.thinking_tokens);
  const inputTokens = asCount(usage?.input_tokens) + cached + written;
  return tokenUsage({ inputTokens, outputTokens: asCount(usage?.output_tokens), cached, written, reasoning });
}

function isBlockIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 100_000;
}
