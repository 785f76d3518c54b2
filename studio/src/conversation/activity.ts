import { pendingBlocks, type SessionConversationState } from 'holdfast/conversation';

/** Whether the agent works, or has something to work on, as far as the conversation shows it. */
export function isBusy(state: SessionConversationState, queued: number): boolean {
  const last = state.blocks.at(-1)?.type;
  if (queued > 0 || last === 'user_message' || last === 'tool_result') return true;
  return pendingBlocks(state).some(({ type }) => type !== 'system');
}
