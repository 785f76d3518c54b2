/** Events in an envelope, as applications that put all events on one bus send them: `{ type, payload, context }`. */
import type { ConversationEvent } from '../conversation/events.ts';
import { isConversationEvent } from '../conversation/is-conversation-event.ts';
import { asObject, asText, type Json, keep } from './json-access.ts';

/** The statuses that some applications give to blocks; here they belong to subagents (D37). */
const STATUSES: ReadonlyMap<unknown, string> = new Map([
  ['running', 'pending'],
  ['success', 'complete'],
]);

/**
 * Converts an event in the envelope `{ type, payload, context }` to a conversation event; one without an envelope stays as it is. The
 * payload's conversation and time are used before those of the context.
 *
 * Never throws, whatever is passed. What is no event of a conversation becomes an `unknown` block with the event's type as its `sourceType`.
 */
export function fromEnvelope(event: unknown): ConversationEvent {
  const envelope = asObject(event) ?? {};
  const payload = asObject(envelope.payload) ?? {};
  const context = asObject(envelope.context) ?? {};
  const conversationId = asText(payload.conversationId) ?? asText(context.conversationId);
  const timestamp = asText(payload.timestamp) ?? asText(context.timestamp) ?? '';
  const where = { ...(conversationId !== undefined && { conversationId }), timestamp };
  const block = asObject(payload.block);
  const flat = { ...payload, type: envelope.type, ...where, ...(block && { block: withKnownStatus(block) }) };
  if (isConversationEvent(flat)) return flat;
  if (isConversationEvent(event)) return event;
  const sourceType = asText(envelope.type) ?? 'untyped';
  // The same event delivered again is the same block.
  const id = `event:${asText(context.id) ?? asText(envelope.id) ?? `${sourceType}:${timestamp}`}`;
  const base = { id, conversationId: conversationId ?? 'main', timestamp, status: 'complete' } as const;
  return { type: 'block:upsert', ...where, block: { ...base, type: 'unknown', sourceType, data: keep(event) } };
}

function withKnownStatus(block: Json): Json {
  return { ...block, status: STATUSES.get(block.status) ?? block.status };
}
