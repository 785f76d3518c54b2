import type { SessionConversationState } from 'holdfast/conversation';
import { useState } from 'react';

/**
 * The state to show while a log is read for the first time. Each new state makes all rows again, so that one is shown only when it has twice
 * the blocks of the last: reading a log of any length costs as much as making its rows a few times.
 */
export function useCaughtUp(state: SessionConversationState, isReading: boolean): SessionConversationState {
  const [shown, setShown] = useState(state);
  const isNext = !isReading || state.blocks.length >= Math.max(1, shown.blocks.length * 2);
  if (isNext && shown !== state) setShown(state);
  return isNext ? state : shown;
}
