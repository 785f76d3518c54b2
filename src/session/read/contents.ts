import { HoldfastError } from '../../core/errors.ts';
import type { Snapshot } from '../../core/fold/snapshot.ts';
import type { InputQueued, NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { ContentPart, ConversationMessage, MediaPart, TextPart } from '../../core/log/messages.ts';
import type { ContentWrite, Store } from '../../ports/store.ts';
import { lateModule } from '../../stores/late-module.ts';

/**
 * Large content (D58): a text or a medium over the limit is stored outside its event, under its hash, and the message refers to it
 * as `sha256:…`. Resolving puts it back, so that the provider gets what the tool returned.
 */

const PREFIX = 'sha256:';

/** The hash of a text. */
export function sha256(text: string): string {
  return lateModule('node:crypto').createHash('sha256').update(text).digest('hex');
}

/** The name of a content. Half a surrogate pair has no UTF-8 of its own: such a text is named by its JSON, which has. */
function contentName(text: string): string {
  return `${PREFIX}${sha256(text.isWellFormed() ? text : JSON.stringify(text))}`;
}

/** The names of the external contents that a message refers to. */
export function contentHashes(message: Pick<ConversationMessage, 'content'>): readonly string[] {
  return message.content.flatMap((part) => (isReference(part) ? [part.data] : []));
}

/** Whether some of a message's content is external. */
export function refersToContent({ content }: Pick<ConversationMessage, 'content'>): boolean {
  return content.some(isReference);
}

function isReference(part: ContentPart): part is MediaPart {
  return 'data' in part && typeof part.data === 'string' && part.data.startsWith(PREFIX);
}

/** The names of the external contents that an event refers to. */
export function eventContentHashes(event: SessionEvent): readonly string[] {
  if (event.type === 'input/queued') return contentHashes(event);
  return messagesIn(event).flatMap(contentHashes);
}

/** The messages that an event brings into the log. */
export function messagesIn(event: SessionEvent): readonly ConversationMessage[] {
  if (event.type === 'message/recorded') return [event.message];
  return event.type === 'session/restored' ? ((event.slices.messages ?? []) as readonly ConversationMessage[]) : [];
}

/** Whether an event holds content that is to be stored outside it. */
export function hasExternalContent(event: { readonly type: string }, maxInline: number): boolean {
  const content: unknown = contentHolder(event)?.content;
  return (
    Array.isArray(content) && content.some((part: ContentPart | null) => part !== null && isExternal(part, maxInline))
  );
}

/**
 * Reasoning stays where it is: a signature may cover it, and it is replayed as it is. Data that looks like a reference is stored
 * outside, too: only the session makes references, so that no tool can name a content of another session, or one that is not there.
 */
function isExternal(part: ContentPart, maxInline: number): part is TextPart | MediaPart {
  if (part.type === 'text') return part.text?.length > maxInline;
  return (
    part.type !== 'reasoning' && typeof part.data === 'string' && (part.data.length > maxInline || isReference(part))
  );
}

/** An event without the large parts of its message, and the contents that it refers to instead. */
export function moveContent(
  event: NewEvent,
  position: number,
  maxInline: number,
): { readonly event: NewEvent; readonly contents: readonly ContentWrite[] } {
  const holder = contentHolder(event);
  if (!holder || !hasExternalContent(event, maxInline)) return { event, contents: [] };
  const contents: ContentWrite[] = [];
  const content = holder.content.map((part) => {
    if (!isExternal(part, maxInline)) return part;
    const text = part.type === 'text' ? part.text : part.data;
    const hash = contentName(text);
    contents.push({ event: position, hash, text });
    if (part.type !== 'text') return { ...part, data: hash };
    const { type: _, text: __, ...rest } = part;
    return { ...rest, type: 'file', mediaType: 'text/plain', data: hash, standsFor: 'text' };
  });
  const moved = { ...holder, content };
  return { event: (event.type === 'input/queued' ? moved : { ...event, message: moved }) as NewEvent, contents };
}

/** The contents of these names in a session; those that the store does not have are left out. */
async function readContents(
  read: (name: string) => Promise<string | undefined>,
  names: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const contents: Record<string, string> = {};
  for (const name of names) {
    const text = await read(name);
    if (text !== undefined) contents[name] = text;
  }
  return contents;
}

/**
 * The contents that a restored conversation refers to, to be appended with it: those that its snapshot brings, checked against their
 * names, and else those that its session has in this store. Throws `SNAPSHOT_INVALID` when one is in neither: the conversation could
 * never be sent again.
 */
export async function restoredContents(
  store: Store,
  snapshot: Snapshot,
  messages: readonly ConversationMessage[],
): Promise<readonly ContentWrite[]> {
  const { sessionId, contents: brought = {} } = snapshot;
  const names = [...new Set(messages.flatMap(contentHashes))];
  const altered = names.find((name) => Object.hasOwn(brought, name) && contentName(brought[name] ?? '') !== name);
  if (altered !== undefined) {
    throw new HoldfastError('SNAPSHOT_INVALID', `this snapshot cannot be used: its content ${altered} was altered`);
  }
  const found = await readContents(
    async (name) => (Object.hasOwn(brought, name) ? brought[name] : store.readContent(sessionId, name)),
    names,
  );
  const missing = names.filter((name) => !Object.hasOwn(found, name));
  if (missing.length === 0) return Object.entries(found).map(([hash, text]) => ({ event: 0, hash, text }));
  throw new HoldfastError(
    'SNAPSHOT_INVALID',
    `this snapshot lacks ${missing.length} external contents that this store does not have either, ${missing[0]} among them; take it with snapshot({ contents: true })`,
    { data: missing },
  );
}

/** Where a session's contents are read. */
export interface ContentSource {
  readonly store: Store;
  readonly id: string;
  readonly incarnation: number;
}

/** Puts external content back into messages; messages without any are returned as they are. */
export async function resolveContents(
  source: ContentSource,
  messages: readonly ConversationMessage[],
): Promise<readonly ConversationMessage[]> {
  if (!messages.some(refersToContent)) return messages;
  return Promise.all(
    messages.map(async (message) => {
      if (!refersToContent(message)) return message;
      const content = await Promise.all(message.content.map((part) => resolvePart(source, part)));
      return { ...message, content } as ConversationMessage;
    }),
  );
}

/** Data without a stored content was recorded before references were marked: it stays as it is. */
async function resolvePart({ store, id, incarnation }: ContentSource, part: ContentPart): Promise<ContentPart> {
  if (!isReference(part)) return part;
  const text = await store.readContent(id, part.data, { incarnation });
  if (text === undefined) return part;
  if (part.standsFor !== 'text') return { ...part, data: text };
  const { providerData } = part;
  return { type: 'text', text, ...(providerData && { providerData }) };
}

/** What holds an event's content: its message, or itself if it is an input. */
function contentHolder(event: { readonly type: string }): { readonly content: readonly ContentPart[] } | undefined {
  if (event.type === 'input/queued') return event as InputQueued;
  return event.type === 'message/recorded' ? (event as { readonly message?: ConversationMessage }).message : undefined;
}

/** Every character of a text may become six in JSON. */
export const LONGEST_ESCAPE = 6;

/** Throws when the JSON of an event is longer than the limit. With `characters`, most events need no serialization. */
export function checkEventSize(event: NewEvent, characters: number | undefined, maxLength: number): void {
  if (characters !== undefined && characters * LONGEST_ESCAPE < maxLength) return;
  const { length } = JSON.stringify(event);
  if (length <= maxLength) return;
  throw new HoldfastError(
    'EVENT_TOO_LARGE',
    `this ${event.type} event is ${length} characters long, over the limit of ${maxLength}; store the content elsewhere and refer to it, or raise maxEventLength`,
  );
}
