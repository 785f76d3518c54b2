import { createHash } from 'node:crypto';
import { HoldfastError } from '../core/errors.ts';
import type { NewEvent } from '../core/events.ts';
import type { ContentPart, ConversationMessage, MediaPart, TextPart } from '../core/messages.ts';
import type { Store } from '../ports/store.ts';

/**
 * Large content (D58): a text or a medium over the limit is stored apart under its hash, and the message refers to it as
 * `sha256:…`. Reading brings it back, so the model is sent what the tool said.
 */

const PREFIX = 'sha256:';

/** The hash that names a text. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The references to content stored apart in a message. */
export function contentHashes(message: ConversationMessage): readonly string[] {
  return message.content.flatMap((part) =>
    'data' in part && part.data.startsWith(PREFIX) ? [part.data.slice(PREFIX.length)] : [],
  );
}

/** Whether an event holds content that is stored apart. */
export function hasLargeContent(event: NewEvent, maxInline: number): boolean {
  return (
    messageOfEvent(event)?.content.some((part) => part.type !== 'reasoning' && partSize(part) > maxInline) ?? false
  );
}

/** Stores the large parts of an event's message apart; the event itself when it has none. */
export async function storeApart(
  store: Store,
  sessionId: string,
  event: NewEvent,
  maxInline: number,
): Promise<NewEvent> {
  const message = messageOfEvent(event);
  if (!message || !hasLargeContent(event, maxInline)) return event;
  const content: ContentPart[] = [];
  for (const part of message.content)
    content.push(partSize(part) > maxInline ? await moveApart(store, sessionId, part) : part);
  return { ...event, message: { ...message, content } } as NewEvent;
}

async function moveApart(store: Store, sessionId: string, part: ContentPart): Promise<ContentPart> {
  if (part.type === 'reasoning') return part; // a signature covers it: it must be replayed as it is
  const text = part.type === 'text' ? part.text : part.data;
  const hash = sha256(text);
  await store.writeContent(sessionId, hash, text);
  const data = `${PREFIX}${hash}`;
  return part.type === 'text' ? { type: 'file', mediaType: 'text/plain', data } : { ...part, data };
}

/** Brings content stored apart back into messages; messages without any are returned as they are. */
export async function resolveContents(
  store: Store,
  messages: readonly ConversationMessage[],
): Promise<readonly ConversationMessage[]> {
  if (!messages.some((message) => contentHashes(message).length > 0)) return messages;
  return Promise.all(
    messages.map(async (message) => {
      if (contentHashes(message).length === 0) return message;
      const content = await Promise.all(message.content.map((part) => resolvePart(store, part)));
      return { ...message, content } as ConversationMessage;
    }),
  );
}

async function resolvePart(store: Store, part: ContentPart): Promise<ContentPart> {
  if (!('data' in part) || !part.data.startsWith(PREFIX)) return part;
  const hash = part.data.slice(PREFIX.length);
  const text = await store.readContent(hash);
  if (text === undefined) {
    throw new HoldfastError(
      'CONTENT_NOT_FOUND',
      `content ${hash} is missing from the store; run its integrity check, and restore it from a backup`,
    );
  }
  if (part.mediaType === 'text/plain' && part.type === 'file' && part.filename === undefined)
    return { type: 'text', text } satisfies TextPart;
  return { ...part, data: text } satisfies MediaPart;
}

function messageOfEvent(event: NewEvent): ConversationMessage | undefined {
  return event.type === 'message/recorded' ? (event as { readonly message?: ConversationMessage }).message : undefined;
}

function partSize(part: ContentPart): number {
  return 'text' in part ? part.text.length : part.data.length;
}

/** Refuses an event whose JSON is longer than the limit. Counts strings first: most events are far below it. */
export function checkEventSize(event: NewEvent, maxLength: number): void {
  if (stringsIn(event, 0) * 2 < maxLength) return;
  const { length } = JSON.stringify(event);
  if (length <= maxLength) return;
  throw new HoldfastError(
    'EVENT_TOO_LARGE',
    `this ${event.type} event is ${length} characters long, over the limit of ${maxLength}; store the content elsewhere and refer to it, or raise maxEventLength`,
  );
}

function stringsIn(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 8;
  if (depth > 64) return Number.POSITIVE_INFINITY;
  let sum = 2;
  for (const key in value) sum += key.length + 4 + stringsIn((value as Record<string, unknown>)[key], depth + 1);
  return sum;
}
