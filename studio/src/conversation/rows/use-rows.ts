import type { SessionConversationState } from 'holdfast/conversation';
import { useMemo, useSyncExternalStore } from 'react';
import { foldKey } from '../compaction.tsx';
import { subagentKey } from '../subagent.tsx';
import type { OpenStates } from './open-states.tsx';
import { type Row, rowsOf } from './rows.ts';

/** The rows of a conversation, again when the state or what a person opened has changed. */
export function useRows(state: SessionConversationState, open: OpenStates): readonly Row[] {
  const version = useSyncExternalStore(open.subscribe, () => open.version);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is open
  return useMemo(
    () =>
      rowsOf(state, {
        isSubagentOpen: (toolUseId) => open.isOpen(subagentKey(toolUseId), false),
        isFolded: (key) => !open.isOpen(foldKey(key), true),
      }),
    [state, open, version],
  );
}
