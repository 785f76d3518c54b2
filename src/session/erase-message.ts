import { HoldfastError } from '../core/errors.ts';
import { isBuiltInEvent, type MessageRecorded } from '../core/events.ts';
import { erased } from '../core/record.ts';
import { contentHashes } from './contents.ts';
import type { AnySession } from './session.ts';

/**
 * Removes what a message said (D58). The one change to a log that is not an append: the event keeps its place, its payload is
 * overwritten, the stored snapshot and the search hits go, and a `message/erased` event says that it happened.
 */
export async function eraseMessage(session: AnySession, messageId: string, reason?: string): Promise<void> {
  const event = await findMessage(session, messageId);
  if (!event) {
    throw new HoldfastError(
      'CONVERSATION_NOT_FOUND',
      `session ${session.id} has no message ${messageId}; list them with getMessages`,
    );
  }
  const blank = { ...event, message: erased(event.message) };
  await session.store.replaceEvent(session.id, blank, contentHashes(event.message));
  await session.append([{ type: 'message/erased', messageId, ...(reason !== undefined && { reason }) }]);
}

async function findMessage(session: AnySession, messageId: string): Promise<MessageRecorded | undefined> {
  for await (const event of session.store.read(session.id)) {
    if (isBuiltInEvent(event) && event.type === 'message/recorded' && event.message.id === messageId) return event;
  }
  return undefined;
}
