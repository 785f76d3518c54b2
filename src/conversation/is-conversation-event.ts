/** Validates what enters the reducer, once. The reducer itself trusts the types. */
import { isRecord } from '../core/log/message-problem.ts';
import type { BlockType, ConversationBlock } from './blocks.ts';
import type { ConversationEvent } from './events.ts';

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, unknown>>;

const text: Check = (value) => typeof value === 'string';
const number: Check = (value) => typeof value === 'number';
const offset: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const list: Check = (value) => Array.isArray(value);
/** An id or a name: not empty. */
const name: Check = (value) => typeof value === 'string' && value !== '';
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

/** An object whose fields pass their checks. Other fields are allowed: a newer version may add some. */
function shape(fields: Readonly<Record<string, Check>>): Check {
  const names = Object.keys(fields);
  const checks = Object.values(fields);
  return (value) => {
    if (!isRecord(value)) return false;
    for (let i = 0; i < names.length; i++) if (!(checks[i] as Check)(value[names[i] as string])) return false;
    return true;
  };
}

const optionalText: Check = (value) => value === undefined || typeof value === 'string';
const optionalNumber = optional(number);

const usage = shape({
  ...{ inputTokens: number, outputTokens: number, cachedInputTokens: optionalNumber, cacheWriteTokens: optionalNumber },
  ...{ reasoningTokens: optionalNumber, costUsd: optionalNumber },
});
const attachment = shape({ mediaType: text, data: optionalText, filename: optionalText });
const attachments: Check = (value) => Array.isArray(value) && value.every(attachment);

const BLOCK = shape({
  ...{ id: name, type: name, status: oneOf('pending', 'complete', 'error') },
  ...{ timestamp: optionalText, conversationId: optionalText },
  message: optional(shape({ id: text, model: optionalText, usage: optional(usage) })),
});
const TEXT = shape({ content: text, attachments: optional(attachments) });
const NOTICE = shape({ content: text, subtype: optionalText, machinery: oneOf(undefined, true) });
const BLOCKS: { readonly [T in BlockType]: Check } = {
  user_message: TEXT,
  assistant_text: TEXT,
  thinking: TEXT,
  tool_use: shape({
    ...{ toolUseId: name, toolName: text, inputText: optionalText },
    progress: optional(shape({ text, percent: optionalNumber })),
  }),
  tool_result: shape({ toolUseId: name, output: text, isError: oneOf(true, false), parts: optional(list) }),
  subagent: shape({
    ...{ toolUseId: name, agentId: optionalText, name: optionalText, description: optionalText },
    ...{ input: optionalText, output: optionalText, durationMs: optionalNumber },
  }),
  system: NOTICE,
  error: NOTICE,
  skill: NOTICE,
  compaction: NOTICE,
  unknown: shape({ sourceType: text }),
};

const EVENTS: { readonly [T in ConversationEvent['type']]: (event: Fields) => boolean } = {
  'block:upsert': shape({ block: isBlock }),
  'block:removed': shape({ blockId: name }),
  // By hand: most events are deltas.
  'block:delta': (event) =>
    name(event.blockId) && text(event.delta) && (event.offset === undefined || offset(event.offset)),
  'subagent:spawned': shape({
    ...{ toolUseId: name, agentId: optionalText, prompt: optionalText },
    ...{ subagentType: optionalText, description: optionalText },
  }),
  'subagent:completed': shape({
    ...{ toolUseId: name, agentId: optionalText, status: oneOf('completed', 'error', 'failed') },
    ...{ output: optionalText, durationMs: optionalNumber },
  }),
  'session:idle': shape({ reason: oneOf(undefined, 'completed', 'interrupted', 'failed') }),
  'session:reset': () => true,
};

/**
 * Whether a value is an event that the reducer accepts (D70). The reducer fills what a source may omit: the timestamp, and
 * the conversation of a block, which the event's overrides anyway. A block of an unknown type is accepted: it is kept and shown as
 * `unknown`.
 */
export function isConversationEvent(value: unknown): value is ConversationEvent {
  if (!isRecord(value) || !optionalText(value.conversationId) || !optionalText(value.timestamp)) return false;
  return isKeyOf(EVENTS, value.type) && EVENTS[value.type](value);
}

/** Whether a value is a block as a state stores it, possibly of a type that this version does not know. */
export function isStoredBlock(value: unknown): value is ConversationBlock {
  return isRecord(value) && isBlock(value) && text(value.timestamp) && text(value.conversationId);
}

/** Converts a block of a type that this version does not know to an `unknown` block with all its fields (D70). */
export function knownBlock(block: ConversationBlock): ConversationBlock {
  if (isKeyOf(BLOCKS, block.type)) return block;
  const { id, conversationId, timestamp, status, message, type: sourceType, ...data } = block as ConversationBlock;
  return { id, conversationId, timestamp, status, ...(message && { message }), type: 'unknown', sourceType, data };
}

function isBlock(value: unknown): boolean {
  return isRecord(value) && BLOCK(value) && (!isKeyOf(BLOCKS, value.type) || BLOCKS[value.type](value));
}

function isKeyOf<K extends string>(checks: { readonly [T in K]: unknown }, key: unknown): key is K {
  return typeof key === 'string' && Object.hasOwn(checks, key);
}
