import type { ConversationMessage } from '../../core/log/messages.ts';
import { estimateTokens } from '../estimate-tokens.ts';
import { TokenCounter } from '../token-counts.ts';

/** The first place where two requests differ, and how much of the earlier one a provider's prompt cache could reuse. */

/** A message of a request, with the text around the difference. */
export interface DifferingSide {
  readonly messageId: string;
  readonly role: ConversationMessage['role'];
  readonly excerpt: string;
}

/** Where a request stops being the start of the one before. */
export interface RequestDifference {
  /** `system` for the leading instructions. */
  readonly region: 'system' | 'message';
  /** The position of the message in the request, from 0. */
  readonly index: number;
  /** What happened there: a message was added, removed or altered. */
  readonly change: 'added' | 'removed' | 'altered';
  readonly before?: DifferingSide;
  readonly now?: DifferingSide;
}

/** How much of a request is the start of the next one. */
export interface RequestComparison {
  /** Tokens of the shared beginning, and of the whole earlier request. */
  readonly sharedTokens: number;
  readonly previousTokens: number;
  /** The share of the earlier request's tokens that is a shared beginning, 0 to 1: 1 when all of it is. */
  readonly stability: number;
  /** Absent when the later request starts with the whole earlier one. */
  readonly difference?: RequestDifference;
}

/** Compares a request with the one before. */
export function compareRequests(
  before: readonly ConversationMessage[],
  now: readonly ConversationMessage[],
): RequestComparison {
  const counter = TokenCounter.of(estimateTokens);
  const most = Math.min(before.length, now.length);
  let index = 0;
  let sharedTokens = 0;
  for (
    ;
    index < most && isSameMessage(before[index] as ConversationMessage, now[index] as ConversationMessage);
    index++
  ) {
    sharedTokens += counter.count(before[index] as ConversationMessage);
  }
  let previousTokens = sharedTokens;
  for (let i = index; i < before.length; i++) previousTokens += counter.count(before[i] as ConversationMessage);
  if (index === before.length) return { sharedTokens, previousTokens, stability: 1 };
  const difference = differenceAt(before, now, index);
  return {
    sharedTokens,
    previousTokens,
    stability: previousTokens === 0 ? 1 : sharedTokens / previousTokens,
    difference,
  };
}

/** Whether two messages are sent as the same text. Positions and times are not sent. */
export function isSameMessage(a: ConversationMessage, b: ConversationMessage): boolean {
  return a === b || (a.role === b.role && sentText(a) === sentText(b));
}

/** What a provider receives of a message, as text to compare. */
function sentText(message: ConversationMessage): string {
  const { role, content } = message;
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return JSON.stringify([role, content, calls, message.role === 'tool' ? [message.toolCallId, message.isError] : []]);
}

function differenceAt(
  before: readonly ConversationMessage[],
  now: readonly ConversationMessage[],
  index: number,
): RequestDifference {
  const old = before[index] as ConversationMessage;
  const next = now[index];
  const wasThere = next && before.some(({ id }, i) => i >= index && id === next.id);
  const isThere = now.some(({ id }, i) => i >= index && id === old.id);
  const change = old.id === next?.id ? 'altered' : !next || wasThere ? 'removed' : isThere ? 'added' : 'altered';
  const [left, right] = change === 'altered' && next ? excerptsOf(shownText(old), shownText(next)) : [];
  return {
    region:
      old.role === 'system' && before.slice(0, index).every(({ role }) => role === 'system') ? 'system' : 'message',
    index,
    change,
    ...(change !== 'added' && { before: side(old, left) }),
    ...(change !== 'removed' && next && { now: side(next, right) }),
  };
}

const EXCERPT = 160;
const EXCERPT_BEFORE = 40;

function side(message: ConversationMessage, excerpt: string = cut(shownText(message), 0)): DifferingSide {
  return { messageId: message.id, role: message.role, excerpt };
}

/** The text of a message as a person reads it: content, then calls. */
export function shownText(message: ConversationMessage): string {
  const parts = message.content.map((part) => ('text' in part ? part.text : `[${part.mediaType}]`));
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return [...parts, ...calls.map(({ name, arguments: text }) => `${name}(${text})`)].join('\n');
}

/** Both texts around the first character in which they differ. */
function excerptsOf(before: string, now: string): readonly [string, string] {
  let same = 0;
  while (same < before.length && same < now.length && before[same] === now[same]) same++;
  const from = Math.max(0, same - EXCERPT_BEFORE);
  return [cut(before, from), cut(now, from)];
}

function cut(text: string, from: number): string {
  const shown = text.slice(from, from + EXCERPT).toWellFormed();
  return `${from > 0 ? '…' : ''}${shown}${from + EXCERPT < text.length ? '…' : ''}`;
}
