import { reviveConversationState } from 'holdfast/conversation';
import type { InboxEntry } from 'holdfast/react';
import { useMemo } from 'react';
import { useRead } from '../api/use-read.ts';
import { titleOf } from '../sessions/session-facts.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { Ago } from '../ui/ago.tsx';
import { AttemptProblem } from '../ui/attempt-problem.tsx';
import { Button } from '../ui/button.tsx';
import { Problem, sentence } from '../ui/problem.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useListKeys } from '../ui/use-list-keys.ts';
import { ViewHeader } from '../ui/view-header.tsx';
import { usePersonInbox } from './inbox-context.tsx';
import { WaitingForms } from './waiting-forms.tsx';

/** Everything that waits for a person, over all sessions. */
export function InboxView() {
  const { entries, error, isLoading, refresh } = usePersonInbox();
  useListKeys('session');
  return (
    <>
      <ViewHeader title="Inbox" />
      {error && <Problem>{sentence(error)}</Problem>}
      {entries.length === 0 && !isLoading && <p className="p-6 text-muted">Nothing waits for you.</p>}
      <ul aria-label="Waiting" className="min-h-0 flex-1 overflow-y-auto" data-list>
        {entries.map((entry) => (
          <Entry key={entry.session.id} entry={entry} onDone={() => void refresh()} />
        ))}
      </ul>
    </>
  );
}

function Entry({
  entry: { session, calls, actions },
  onDone,
}: {
  readonly entry: InboxEntry;
  readonly onDone: () => void;
}) {
  const attempt = useAttempt();
  const path = `sessions/${encodeURIComponent(session.id)}/state`;
  const { data } = useRead<{ readonly state: unknown }>(path, { version: session.seq });
  const state = useMemo(() => data && reviveConversationState(data.state), [data]);
  return (
    <li className="border-b border-line px-4 py-3">
      <div className="mx-auto flex max-w-4xl flex-col gap-2">
        <div className="flex items-baseline gap-3">
          <Link
            data-entry
            href={addressOf('sessions', session.id)}
            className="min-w-0 truncate font-medium hover:underline"
          >
            {titleOf(session)}
          </Link>
          <Ago at={session.updatedAt} className="ml-auto text-xs text-muted" />
        </div>
        <AttemptProblem attempt={attempt} />
        {session.status === 'failed' ? (
          <FailedForm entry={{ session, calls, actions }} run={attempt.run} onDone={onDone} />
        ) : (
          state && <WaitingForms state={state} calls={calls} actions={actions} attempt={attempt} onDone={onDone} />
        )}
      </div>
    </li>
  );
}

/** An evaluation that failed while further messages wait: giving it up lets them run. */
function FailedForm(props: {
  readonly entry: InboxEntry;
  readonly run: (action: () => Promise<unknown>) => Promise<boolean>;
  readonly onDone: () => void;
}) {
  const { entry, run, onDone } = props;
  const abandon = async (): Promise<void> => {
    if (await run(() => entry.actions.abandon({}))) onDone();
  };
  return (
    <section aria-label="Failed" className="flex items-center gap-3">
      <p className="flex-1 text-fails">It failed, and {entry.session.queued} queued messages wait behind it.</p>
      <Button kind="danger" onClick={() => void abandon()}>
        Give it up and run them
      </Button>
    </section>
  );
}
