/** `holdfast/react`: hooks for conversations on a Holdfast server, or in this process. Needs React 18 or newer; loads no module of Node. */
export {
  type ClientActions,
  ConversationClient,
  type ConversationOptions,
  type ConversationSnapshot,
} from './react/conversation-client.ts';
export { RequestError, type RequestOptions } from './react/request.ts';
export { type Conversation, useConversation } from './react/use-conversation.ts';
export { type InboxEntry, type PersonInbox, useInbox } from './react/use-inbox.ts';
export { type Sessions, useSessions } from './react/use-sessions.ts';
