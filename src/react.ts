/** `holdfast/react`: hooks for conversations on a Holdfast server, or in this process. Needs React 18 or newer; loads no module of Node. */
export {
  ConversationClient,
  type ConversationOptions,
  type ConversationSnapshot,
} from './react/conversation-client.ts';
export { RequestError } from './react/request.ts';
export { type Conversation, useConversation } from './react/use-conversation.ts';
export { type PersonInbox, useInbox } from './react/use-inbox.ts';
export { useSessions } from './react/use-sessions.ts';
