import { isHoldfastError } from '../core/errors.ts';
import { parseTailCursor } from '../core/log/tail-cursor.ts';
import type { AnySession } from '../session/session.ts';
import type { ConversationActions, ConversationSource } from './conversation-source.ts';

/**
 * A session in this process as the source of a conversation. `useConversation(session, { holdfast })` calls it, where `holdfast` is
 * `import * as holdfast from 'holdfast'`: `holdfast/react` itself loads no module of Node.
 */
export function sessionSource(session: AnySession): ConversationSource {
  return {
    async follow(after, reader, signal) {
      const { seq: head } = await session.store.head(session.id);
      let isLive = false;
      const reached = (seq: number): void => {
        if (isLive || seq < head) return;
        isLive = true;
        reader.live();
      };
      reached(after === undefined ? 0 : parseTailCursor(after).seq);
      for await (const item of session.events({ live: true, drafts: true, after, signal })) {
        if (signal.aborted) return;
        reader.item(item);
        reached(parseTailCursor(item.cursor).seq);
      }
    },
    // Its iteration ends when the session is closed.
    isFinal: (error) => !isHoldfastError(error, 'STORE_BUSY'),
    async readWaiting() {
      await session.refresh();
      return [session.queue(), session.pending()];
    },
    actions: sessionActions(session),
  };
}

function sessionActions(session: AnySession): ConversationActions {
  return {
    send: (input, options) => session.send(input, options),
    steer: (input, options) => session.send(input, { ...options, mode: 'steer' }),
    withdraw: (inputId) => session.withdraw(inputId),
    approve: (call, options) => session.approve(call, options),
    deny: (call, options) => session.deny(call, options),
    settle: (call, how, options) => session.settle(call, how, options),
    cancel: (options) => session.cancel(options),
    stop: (options) => session.stop(options),
    resume: (options) => session.resume(options),
    abandon: (options) => session.abandon(options),
  };
}
