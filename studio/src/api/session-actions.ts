import { type ClientActions, ConversationClient } from 'holdfast/react';
import { REQUEST, sessionUrl } from './server.ts';

/** What people can do with a session that is not shown here: the client of a conversation connects only once it is followed. */
export function sessionActions(sessionId: string): ClientActions {
  return new ConversationClient(sessionUrl(sessionId), REQUEST).actions;
}
