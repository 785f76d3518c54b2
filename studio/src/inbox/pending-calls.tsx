import type { SessionConversationState } from 'holdfast/conversation';
import type { Conversation } from 'holdfast/react';
import type { InboxPage } from '../../../src/server/routes/inbox-route.ts';
import { useRead } from '../api/use-read.ts';
import type { SessionDetails } from '../api/use-session-info.ts';
import type { Attempt } from '../ui/use-attempt.ts';
import { StoppedByPersonForm } from './resume-form.tsx';
import { waitReason } from './waiting.ts';
import { WaitingForms } from './waiting-forms.tsx';

/** What the shown session waits for, between its conversation and the field. */
export function PendingCalls(props: {
  readonly sessionId: string;
  readonly state: SessionConversationState;
  readonly details: SessionDetails | undefined;
  readonly pending: Conversation['pending'];
  readonly attempt: Attempt;
}) {
  const { sessionId, state, details, pending, attempt } = props;
  const waits = waitReason(state);
  const { suspended, status } = details?.summary ?? {};
  const mayWait = waits !== undefined || suspended !== undefined || status === 'failed';
  const version = [...pending.map(nameOf), waits?.since, suspended?.at, status].join(' ');
  const path = mayWait ? `inbox?session=${encodeURIComponent(sessionId)}` : undefined;
  const { data, refresh } = useRead<InboxPage>(path, { version });
  const isStopped = waits?.reason === 'CANCELLED';
  if (!mayWait || !(isStopped || data?.items.length)) return null;
  return (
    <div className="max-h-[50vh] overflow-y-auto border-t border-waits py-3">
      <div className="mx-auto flex max-w-4xl flex-col gap-4 px-4 xl:px-14">
        {isStopped ? (
          <StoppedByPersonForm sessionId={sessionId} attempt={attempt} />
        ) : (
          <WaitingForms items={data?.items ?? []} attempt={attempt} onDone={refresh} />
        )}
      </div>
    </div>
  );
}

function nameOf({ evaluationId, turn, callId, attempt }: Conversation['pending'][number]): string {
  return `${evaluationId}/${turn}/${callId}/${attempt}`;
}
