import { createConversationState, type SessionConversationState } from 'holdfast/conversation';
import type { Conversation } from 'holdfast/react';
import type { Attempt } from '../ui/use-attempt.ts';
import { ApprovalForm } from './approval-form.tsx';
import { ResumeForm } from './resume-form.tsx';
import { SettleForm } from './settle-form.tsx';
import { blockOfCall, type WaitingCall, waitReason } from './waiting.ts';

const EMPTY = createConversationState();

/** Everything that one session waits for: a form for each call, or one for the evaluation itself. */
export function WaitingForms(props: {
  readonly state: SessionConversationState | undefined;
  readonly calls: readonly WaitingCall[];
  readonly actions: Conversation['actions'] | Omit<Conversation['actions'], 'reconnect'>;
  readonly attempt: Attempt;
  readonly onDone?: () => void;
}) {
  const { state = EMPTY, calls, actions, attempt, onDone } = props;
  const waits = waitReason(state);
  if (calls.length === 0) {
    return waits ? <ResumeForm waits={waits} actions={actions} attempt={attempt} {...(onDone && { onDone })} /> : null;
  }
  return calls.map((call) => {
    const key = `${call.evaluationId}/${call.turn}/${call.callId}/${call.attempt}`;
    const rest = { call, actions, attempt, ...(onDone && { onDone }) };
    return call.status === 'started' ? (
      <SettleForm
        key={key}
        printed={blockOfCall(state, call)?.progress?.text ?? ''}
        message={said(waits?.message)}
        {...rest}
      />
    ) : (
      <ApprovalForm key={key} {...rest} />
    );
  });
}

/** What was said about the call, unless it is the runner's hint for programs. */
function said(message = ''): string {
  return message.includes('settleToolCall') ? '' : message;
}
