import { isHoldfastError } from '../core/errors.ts';
import { parseTailCursor } from '../core/tail-cursor.ts';
import { getPendingToolCalls, getQueuedInputs } from '../core/views.ts';
import { cancelEvaluation } from '../loop/cancel-evaluation.ts';
import { abandonEvaluation, resumeEvaluation } from '../loop/evaluation-decisions.ts';
import { approveToolCall, denyToolCall, settleToolCall } from '../loop/settle.ts';
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
      return [getQueuedInputs(session), getPendingToolCalls(session)];
    },
    actions: sessionActions(session),
  };
}

function sessionActions(session: AnySession): ConversationActions {
  return {
    send: (input, options) => session.send(input, options),
    steer: (input, options) => session.send(input, { ...options, mode: 'steer' }),
    withdraw: (inputId) => session.withdraw(inputId),
    async stop(options = {}) {
      await session.refresh();
      for (const { id } of getQueuedInputs(session)) await session.withdraw(id, options);
      try {
        await cancelEvaluation(session, options);
      } catch (error) {
        if (!isHoldfastError(error, 'CONVERSATION_NOT_FOUND')) throw error; // nothing runs
      }
    },
    approve: (call, options) => approveToolCall(session, call, options),
    deny: (call, { reason, ...options } = {}) => denyToolCall(session, call, reason, options),
    settle: (call, how, options) => settleToolCall(session, call, how, options),
    resume: (options) => resumeEvaluation(session, options),
    abandon: (options) => abandonEvaluation(session, options),
  };
}
