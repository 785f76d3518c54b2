import type { ContentPart, ConversationMessage, ToolCall } from '../../core/log/messages.ts';
import { placeBeside } from '../../formats/message-parts.ts';
import type { Origin } from '../origin.ts';

/**
 * Checks a foreign manager's output, which may hold anything whatever its type says. A recorded
 * message keeps everything but its content, which may be shorter, and its calls, which may be fewer. Anything that is neither
 * recorded nor a well-formed addition comes back as undefined.
 */
export function sanitizeMessage(output: unknown, origin: Origin): ConversationMessage | undefined {
  if (typeof output !== 'object' || output === null) return undefined;
  const given = output as Partial<ConversationMessage> & { readonly toolCalls?: unknown };
  const recorded =
    typeof given.id === 'string' ? origin.messages[origin.positionOf(given as ConversationMessage)] : undefined;
  if (recorded === given) return recorded;
  const content = isContent(given.content) ? given.content : undefined;
  if (!recorded) return content && addition(given, content, origin);
  const version = {
    ...recorded,
    content: content ? partsFor(recorded.role, content) : recorded.content,
  } as ConversationMessage;
  if (version.role !== 'assistant' || recorded.role !== 'assistant' || !recorded.toolCalls) return version;
  const calls = given.toolCalls === undefined ? [] : given.toolCalls;
  const known = new Map(recorded.toolCalls.map((call) => [call.callId, call]));
  const toolCalls = Array.isArray(calls) ? calls.flatMap((call) => recordedCall(call, known)) : recorded.toolCalls;
  const { toolCalls: _, ...rest } = version;
  return toolCalls.length > 0 ? { ...rest, toolCalls } : rest;
}

/** A call as it was made; only its arguments may have been shortened. */
function recordedCall(call: unknown, known: ReadonlyMap<string, ToolCall>): readonly ToolCall[] {
  const { callId, arguments: text } = (call ?? {}) as Partial<ToolCall>;
  const made = callId === undefined ? undefined : known.get(callId);
  if (!made) return [];
  return [typeof text === 'string' && text !== made.arguments ? { ...made, arguments: text } : made];
}

/** A message that the manager added: marked as such, with a role, without calls (D56). */
function addition(
  given: Partial<ConversationMessage>,
  content: readonly ContentPart[],
  origin: Origin,
): ConversationMessage | undefined {
  const { id, role, synthetic } = given;
  if (synthetic !== true || typeof id !== 'string' || (role !== 'user' && role !== 'assistant' && role !== 'system')) {
    return undefined;
  }
  const place = placeBeside(origin.messages.at(-1));
  return { ...place, id, role, content: partsFor(role, content) } as ConversationMessage;
}

/** What a message of this role may hold: only an assistant thinks, and instructions are text. */
function partsFor(role: ConversationMessage['role'], content: readonly ContentPart[]): readonly ContentPart[] {
  if (role === 'assistant') return content;
  return content.filter((part) => part.type === 'text' || (part.type !== 'reasoning' && role !== 'system'));
}

function isContent(content: unknown): content is readonly ContentPart[] {
  return Array.isArray(content) && content.every(isPart);
}

function isPart(part: unknown): part is ContentPart {
  if (typeof part !== 'object' || part === null || !('type' in part)) return false;
  const { type, text, data, mediaType } = part as Record<string, unknown>;
  if (type === 'text' || type === 'reasoning') return typeof text === 'string';
  return (type === 'image' || type === 'file') && typeof data === 'string' && typeof mediaType === 'string';
}
