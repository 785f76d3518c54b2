/**
 * The AI SDK's React chat state, used as `useChat` uses it. For every chunk of a stream, `Chat` appends to the text part of its
 * message, sets the status, finds the message from the end and calls `replaceMessage`, which copies the list and the message; its
 * callback notifies the hook, which takes `messages` as its next snapshot.
 */
import { Chat } from '@ai-sdk/react';
import type { ChatState, UIMessage } from 'ai';

export interface ReactChat {
  /** What `Chat` does for a `text-delta`; returns the list that a component would render. */
  write(delta: string): readonly UIMessage[];
}

/** A chat with one message for each text; deltas go to the last. */
export function reactChat(texts: readonly string[]): ReactChat {
  const messages = texts.map(
    (text, i): UIMessage => ({ id: `block_${i}`, role: 'assistant', parts: [{ type: 'text', text, state: 'done' }] }),
  );
  const chat = new Chat<UIMessage>({ messages });
  const state = Reflect.get(chat, 'state') as ChatState<UIMessage>;
  let rendered: readonly UIMessage[] = chat.messages;
  chat['~registerMessagesCallback'](() => {
    rendered = chat.messages;
  });
  const streaming = state.snapshot(messages.at(-1));
  const part = streaming?.parts[0];
  if (!streaming || part?.type !== 'text') throw new Error('the last message is a text');
  return {
    write(delta) {
      part.text += delta;
      state.status = 'streaming';
      const index = state.messages.findLastIndex((message) => message.id === streaming.id);
      state.replaceMessage(index, streaming);
      return rendered;
    },
  };
}
