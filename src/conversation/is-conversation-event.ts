/** Validates what enters the reducer, once. The reducer itself trusts the types. */
import { isRecord } from '../core/log/message-problem.ts';
import type { BlockType, ConversationBlock } from './blocks.ts';
import type { ConversationEvent } from './events.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whether a value is an event that the reducer accepts (D70). The reducer fills what a source may omit: the timestamp, and
 * the conversation of a block, which the event's overrides anyway. A block of an unknown type is accepted: it is kept and shown as
 * `unknown`.
 */
export function isConversationEvent(value: unknown): value is ConversationEvent {
  if (!isRecord(value) || !isOptionalString(value.conversationId) || !isOptionalString(value.timestamp)) return false;
  switch (value.type) {
    case 'block:upsert':
      return isBlock(value.block);
    case 'block:removed':
      return isName(value.blockId);
    case 'block:delta':
      return isName(value.blockId) && typeof value.delta === 'string' && isOptionalOffset(value.offset);
    case 'subagent:spawned':
      return (
        isName(value.toolUseId) &&
        isOptionalString(value.agentId) &&
        isOptionalString(value.prompt) &&
        isOptionalString(value.subagentType) &&
        isOptionalString(value.description)
      );
    case 'subagent:completed':
      return (
        isName(value.toolUseId) &&
        isOptionalString(value.agentId) &&
        (value.status === 'completed' || value.status === 'error' || value.status === 'failed') &&
        isOptionalString(value.output) &&
        isOptionalNumber(value.durationMs)
      );
    case 'session:idle':
      return (
        value.reason === undefined ||
        value.reason === 'completed' ||
        value.reason === 'interrupted' ||
        value.reason === 'failed'
      );
    case 'session:reset':
      return true;
    default:
      return false;
  }
}

/** Whether a value is a block as a state stores it, possibly of a type that this version does not know. */
export function isStoredBlock(value: unknown): value is ConversationBlock {
  return isBlock(value) && typeof value.timestamp === 'string' && typeof value.conversationId === 'string';
}

/** Converts a block of a type that this version does not know to an `unknown` block with all its fields (D70). */
export function knownBlock(block: ConversationBlock): ConversationBlock {
  if (isBlockType(block.type)) return block;
  const { id, conversationId, timestamp, status, message, type: sourceType, ...data } = block as ConversationBlock;
  return { id, conversationId, timestamp, status, ...(message && { message }), type: 'unknown', sourceType, data };
}

/** Whether a block is of a type that this version knows. */
function isBlockType(type: unknown): type is BlockType {
  return typeof type === 'string' && Object.hasOwn(FIELDS_OF_BLOCK, type);
}

function isBlock(value: unknown): value is Fields {
  if (!isRecord(value) || !isName(value.id) || !isName(value.type)) return false;
  if (value.status !== 'pending' && value.status !== 'complete' && value.status !== 'error') return false;
  if (!isOptionalString(value.timestamp) || !isOptionalString(value.conversationId)) return false;
  if (value.message !== undefined && !isMessage(value.message)) return false;
  return !isBlockType(value.type) || FIELDS_OF_BLOCK[value.type](value);
}

const isText = (block: Fields): boolean =>
  typeof block.content === 'string' && (block.attachments === undefined || isAttachments(block.attachments));
const isNotice = (block: Fields): boolean =>
  typeof block.content === 'string' &&
  isOptionalString(block.subtype) &&
  (block.machinery === undefined || block.machinery === true);

const FIELDS_OF_BLOCK: { readonly [T in BlockType]: (block: Fields) => boolean } = {
  user_message: isText,
  assistant_text: isText,
  thinking: isText,
  tool_use: (block) =>
    isName(block.toolUseId) &&
    typeof block.toolName === 'string' &&
    isOptionalString(block.inputText) &&
    (block.progress === undefined || isProgress(block.progress)),
  tool_result: (block) =>
    isName(block.toolUseId) &&
    typeof block.output === 'string' &&
    typeof block.isError === 'boolean' &&
    (block.parts === undefined || Array.isArray(block.parts)),
  subagent: (block) =>
    isName(block.toolUseId) &&
    isOptionalString(block.agentId) &&
    isOptionalString(block.name) &&
    isOptionalString(block.description) &&
    isOptionalString(block.input) &&
    isOptionalString(block.output) &&
    isOptionalNumber(block.durationMs),
  system: isNotice,
  error: isNotice,
  skill: isNotice,
  compaction: isNotice,
  unknown: (block) => typeof block.sourceType === 'string',
};

function isProgress(value: unknown): boolean {
  return isRecord(value) && typeof value.text === 'string' && isOptionalNumber(value.percent);
}

function isMessage(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value.id === 'string' &&
    isOptionalString(value.model) &&
    (value.usage === undefined || isUsage(value.usage))
  );
}

function isUsage(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value.inputTokens === 'number' &&
    typeof value.outputTokens === 'number' &&
    isOptionalNumber(value.cachedInputTokens) &&
    isOptionalNumber(value.cacheWriteTokens) &&
    isOptionalNumber(value.reasoningTokens) &&
    isOptionalNumber(value.costUsd)
  );
}

function isAttachments(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (item) =>
        isRecord(item) &&
        typeof item.mediaType === 'string' &&
        isOptionalString(item.data) &&
        isOptionalString(item.filename),
    )
  );
}

/** An id or a name: not empty. */
function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isOptionalNumber(value: unknown): boolean {
  return value === undefined || typeof value === 'number';
}

function isOptionalOffset(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0);
}
