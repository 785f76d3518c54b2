/**
 * Checks values that should be messages, once, where they enter (a dispatch, a snapshot). Parts of an unknown kind are accepted: a
 * newer version may have written them.
 */

/** Why a value is not a message, or undefined when it is one. */
export function messageProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is missing';
  const { role, content, toolCalls } = value;
  if (role !== 'system' && role !== 'user' && role !== 'assistant' && role !== 'tool') return `its role is "${role}"`;
  if (!Array.isArray(content)) return 'its content is not a list of parts';
  if (!content.every(isPart)) return 'a part of its content is damaged';
  const unnamed = TEXTS.find((field) => typeof value[field] !== 'string');
  if (unnamed) return `its ${unnamed} is missing`;
  if (!isCount(value.sequence)) return 'its sequence is not a count';
  if (!isCount(value.turn)) return 'its turn is not a count';
  if (role === 'tool') {
    if (typeof value.toolCallId !== 'string' || typeof value.toolName !== 'string')
      return 'its toolCallId or toolName is missing';
    if (typeof value.isError !== 'boolean') return 'its isError is missing';
  }
  if (toolCalls !== undefined && !(role === 'assistant' && Array.isArray(toolCalls) && toolCalls.every(isCall))) {
    return 'its tool calls are damaged';
  }
  return undefined;
}

/** Why a value is not an input, or undefined when it is one: a non-empty list of texts and media (D61). */
export function inputProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return 'it is not a list of parts';
  const isInputPart = (part: unknown): boolean => isRecord(part) && INPUT_PARTS.has(part.type) && isPart(part);
  return value.every(isInputPart) ? undefined : 'a part of it is neither text, image nor file';
}

const INPUT_PARTS = new Set<unknown>(['text', 'image', 'file']);

const TEXTS = ['id', 'evaluationId', 'conversationId', 'promptNs', 'promptKey', 'createdAt'] as const;

function isPart(value: unknown): boolean {
  if (!isRecord(value)) return false;
  switch (value.type) {
    case 'text':
    case 'reasoning':
      return typeof value.text === 'string';
    case 'image':
    case 'file':
      return typeof value.data === 'string' && typeof value.mediaType === 'string';
    default:
      return typeof value.type === 'string';
  }
}

function isCall(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value.callId === 'string' &&
    typeof value.name === 'string' &&
    typeof value.arguments === 'string'
  );
}

/** Whether a value is an object with fields, and not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a whole number ≥ 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is a usage: numbers ≥ 0 that can be added. A negative one would refund part of a budget. */
export function isUsage(value: unknown): boolean {
  if (!isRecord(value) || !isAmount(value.inputTokens) || !isAmount(value.outputTokens)) return false;
  return AMOUNTS.every((field) => value[field] === undefined || isAmount(value[field]));
}

const AMOUNTS = ['cachedInputTokens', 'cacheWriteTokens', 'reasoningTokens', 'costUsd'] as const;

function isAmount(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0;
}
