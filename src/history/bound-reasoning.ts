import type { ConversationMessage } from '../core/messages.ts';
import { withParts } from './message-parts.ts';
import { isBlank } from './origin.ts';

/**
 * Some models sign each thought together with everything that was sent before it, and refuse a request in which that has changed.
 * A window that folds changes it: then the thoughts from before the fold can no longer be sent, and those after it can.
 */

/** Whether a message holds a thought that was signed. */
export function hasSignedThought(message: ConversationMessage): boolean {
  return (
    message.role === 'assistant' &&
    message.content.some((part) => part.type === 'reasoning' && (part.signature ?? part.redacted) !== undefined)
  );
}

const without = new WeakMap<ConversationMessage, ConversationMessage>();

/** A request without the thoughts of answers that were given before `since`, a position in the conversation. */
export function withoutThoughtsBefore(
  request: readonly ConversationMessage[],
  conversation: readonly ConversationMessage[],
  since: number,
): readonly ConversationMessage[] {
  if (since === 0 || !request.some(hasSignedThought)) return request;
  const later = new Set(conversation.slice(since).map(({ id }) => id));
  return request
    .map((message) => (later.has(message.id) || !hasSignedThought(message) ? message : withoutThought(message)))
    .filter((message) => !isBlank(message));
}

function withoutThought(message: ConversationMessage): ConversationMessage {
  const known = without.get(message);
  if (known) return known;
  const rest = withParts(message, (part) => part.type !== 'reasoning');
  without.set(message, rest);
  return rest;
}
