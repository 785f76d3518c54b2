import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { AnySession } from '../session/session.ts';
import {
  type ClientActions,
  ConversationClient,
  type ConversationOptions,
  type ConversationSnapshot,
} from './conversation-client.ts';

/** A conversation and what people can do with it. */
export interface Conversation extends ConversationSnapshot {
  /** The same object as long as the source is the same. */
  readonly actions: ClientActions;
}

/**
 * Follows a conversation: `source` is the URL of a session on a Holdfast server, such as `https://example.org/sessions/ada`, or a session
 * in this process. Another source starts again with an empty conversation. Nothing is opened while a server renders.
 */
export function useConversation(source: string | AnySession, options: ConversationOptions = {}): Conversation {
  // biome-ignore lint/correctness/useExhaustiveDependencies: later options are given to the same client below
  const client = useMemo(() => new ConversationClient(source, options), [source]);
  useEffect(() => {
    client.options = options;
  });
  const snapshot = useSyncExternalStore(client.subscribe, client.getSnapshot, client.getServerSnapshot);
  return useMemo(() => ({ ...snapshot, actions: client.actions }), [snapshot, client]);
}
