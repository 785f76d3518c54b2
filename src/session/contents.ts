import { createHash } from 'node:crypto';
import { HoldfastError } from '../core/errors.ts';
import { isBuiltInEvent, type NewEvent, type SessionEvent } from '../core/events.ts';
import type { ContentPart, ConversationMessage, MediaPart, TextPart } from '../core/messages.ts';
import type { Store } from '../ports/store.ts';

/**
 * Large content (D58): a text or a medium over the limit is stored apart under its hash, and the message refers to it as
 * `sha256:…`, which is also the name the store knows it by. Reading brings it back, so the model is sent what the tool said.
 */

const PREFIX = 'sha256:';

/** The hash of a text. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The name of a content. Half a surrogate pair has no UTF-8 of its own: such a text is named by its JSON, which has. */
function contentName(text: string): string {
  return `${PREFIX}${sha256(text.isWellFormed() ? text : JSON.stringify(text))}`;
}

/** The names of the contents stored apart that a message refers to. */
export function contentHashes(message: Pick<ConversationMessage, 'content'>): readonly string[] {
  return message.content.flatMap((part) => (isReference(part) ? [part.data] : []));
}

/** Whether some of a message's content is stored apart. */
export function refersToContent({ content }: Pick<ConversationMessage, 'content'>): boolean {
  return content.some(isReference);
}

function isReference(part: ContentPart): part is MediaPart {
  return 'data' in part && typeof part.data === 'string' && part.data.startsWith(PREFIX);
}

/** The messages that an event brings into the log. */
export function messagesIn(event: SessionEvent): readonly ConversationMessage[] {
  if (!isBuiltInEvent(event)) return [];
  if (event.type === 'message/recorded') return [event.message];
  return event.type === 'session/restored' ? ((event.slices.messages ?? []) as readonly ConversationMessage[]) : [];
}

/** Whether an event holds content that is stored apart. */
export function hasLargeContent(event: NewEvent, maxInline: number): boolean {
  return messageOfEvent(event)?.content.some((part) => isLarge(part, maxInline)) ?? false;
}

/** Reasoning stays where it is: a signature may cover it, and it is replayed as it is. */
function isLarge(part: ContentPart, maxInline: number): part is TextPart | MediaPart {
  if (part.type === 'text') return part.text.length > maxInline;
  return part.type !== 'reasoning' && part.data?.length > maxInline;
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
    content.push(isLarge(part, maxInline) ? await moveApart(store, sessionId, part) : part);
  return { ...event, message: { ...message, content } } as NewEvent;
}

async function moveApart(store: Store, sessionId: string, part: TextPart | MediaPart): Promise<MediaPart> {
  const text = part.type === 'text' ? part.text : part.data;
  const data = contentName(text);
  await store.writeContent(sessionId, data, text);
  if (part.type !== 'text') return { ...part, data };
  const { type: _, text: __, ...rest } = part;
  return { ...rest, type: 'file', mediaType: 'text/plain', data, standsFor: 'text' };
}

/** Keeps contents that another session's messages refer to alive for this one. */
export async function shareContents(store: Store, sessionId: string, hashes: Iterable<string>): Promise<void> {
  for (const hash of new Set(hashes)) {
    const text = await store.readContent(hash);
    if (text !== undefined) await store.writeContent(sessionId, hash, text);
  }
}

/** Brings content stored apart back into messages; messages without any are returned as they are. */
export async function resolveContents(
  store: Store,
  messages: readonly ConversationMessage[],
): Promise<readonly ConversationMessage[]> {
  if (!messages.some(refersToContent)) return messages;
  return Promise.all(
    messages.map(async (message) => {
      if (!refersToContent(message)) return message;
      const content = await Promise.all(message.content.map((part) => resolvePart(store, part)));
      return { ...message, content } as ConversationMessage;
    }),
  );
}

async function resolvePart(store: Store, part: ContentPart): Promise<ContentPart> {
  if (!isReference(part)) return part;
  const text = await store.readContent(part.data);
  if (text === undefined) {
    throw new HoldfastError(
      'CONTENT_NOT_FOUND',
      `content ${part.data} is missing from the store; run its integrity check, and restore it from a backup`,
    );
  }
  if (part.standsFor !== 'text') return { ...part, data: text };
  const { providerData } = part;
  return { type: 'text', text, ...(providerData && { providerData }) };
}

function messageOfEvent(event: NewEvent): ConversationMessage | undefined {
  return event.type === 'message/recorded' ? (event as { readonly message?: ConversationMessage }).message : undefined;
}

/** Every character of a text may become six in JSON. */
export const LONGEST_ESCAPE = 6;

/** Refuses an event whose JSON is longer than the limit. `characters`, if they were counted, say at once that most are not. */
export function checkEventSize(event: NewEvent, characters: number | undefined, maxLength: number): void {
  if (characters !== undefined && characters * LONGEST_ESCAPE < maxLength) return;
  const { length } = JSON.stringify(event);
  if (length <= maxLength) return;
  throw new HoldfastError(
    'EVENT_TOO_LARGE',
    `this ${event.type} event is ${length} characters long, over the limit of ${maxLength}; store the content elsewhere and refer to it, or raise maxEventLength`,
  );
}
