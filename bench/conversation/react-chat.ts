/**
 * The AI SDK's React chat state, driven as `useChat` drives it. For every chunk of a stream, `Chat` appends to the text part of
 * the message it keeps, sets the status, looks the message up from the end and calls `replaceMessage`, which copies the
 * list and the message; the hook hears of it through its callback and takes `messages` as its next snapshot.
 */
import { Chat } from '@ai-sdk/react';
import type { ChatState, UIMessage } from 'ai';

export interface ReactChat {
  /** What `Chat` does for a `text-delta`; answers the list a component would now render. */
  write(delta: string): readonly UIMessage[];
}

/** A chat of the texts, each a message of its own; deltas go to the last. */
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
