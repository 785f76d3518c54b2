import type { SessionConversationState } from 'holdfast/conversation';
import type { Conversation } from 'holdfast/react';
import { useRead } from '../api/use-read.ts';
import type { Attempt } from '../ui/use-attempt.ts';
import type { WaitingCall } from './waiting.ts';
import { waitReason } from './waiting.ts';
import { WaitingForms } from './waiting-forms.tsx';

/** What the shown session waits for, between its conversation and the field. */
export function PendingCalls(props: {
  readonly sessionId: string;
  readonly state: SessionConversationState;
  readonly pending: Conversation['pending'];
  readonly actions: Conversation['actions'];
  readonly attempt: Attempt;
}) {
  const { sessionId, state, pending, actions, attempt } = props;
  const waits = waitReason(state);
  // The stream's calls have no exact arguments.
  const path = pending.length > 0 ? `sessions/${encodeURIComponent(sessionId)}/calls` : undefined;
  const { data } = useRead<{ readonly calls: readonly WaitingCall[] }>(path, { version: pending });
  if (!waits) return null;
  const exact = pending.map((call) => data?.calls.find((each) => isSame(each, call)) ?? call);
  if (pending.length > 0 && !data) return null;
  return (
    <div className="max-h-[50vh] overflow-y-auto border-t border-waits py-3">
      <div className="mx-auto flex max-w-4xl flex-col gap-4 px-4 xl:px-14">
        <WaitingForms state={state} calls={exact} actions={actions} attempt={attempt} />
      </div>
    </div>
  );
}

function isSame(a: WaitingCall, b: WaitingCall): boolean {
  return a.evaluationId === b.evaluationId && a.turn === b.turn && a.callId === b.callId;
}
