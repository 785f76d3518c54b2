import type { InboxItem } from '../../../src/server/inbox-items.ts';
import { titleOf } from '../sessions/session-facts.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { Ago } from '../ui/ago.tsx';
import { AttemptProblem } from '../ui/attempt-problem.tsx';
import { Problem, sentence } from '../ui/problem.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useListKeys } from '../ui/use-list-keys.ts';
import { ViewHeader } from '../ui/view-header.tsx';
import { useInbox } from './inbox-context.tsx';
import { WaitingForms } from './waiting-forms.tsx';

/** Everything that waits for a person, over all sessions. */
export function InboxView() {
  const { data, error, refresh } = useInbox();
  useListKeys('session');
  const sessions = Map.groupBy(data?.items ?? [], ({ session }) => session.id);
  return (
    <>
      <ViewHeader title="Inbox" />
      {error && <Problem>{sentence(error)}</Problem>}
      {data?.items.length === 0 && <p className="p-6 text-muted">Nothing waits for you.</p>}
      <ul aria-label="Waiting" className="min-h-0 flex-1 overflow-y-auto" data-list>
        {[...sessions].map(([id, items]) => (
          <Entry key={id} items={items} onDone={refresh} />
        ))}
        {data?.next !== undefined && (
          <li className="px-4 py-3 text-center text-muted">More waits. It is listed as these are decided.</li>
        )}
      </ul>
    </>
  );
}

/** What waits in one session. */
function Entry({ items, onDone }: { readonly items: readonly InboxItem[]; readonly onDone: () => void }) {
  const attempt = useAttempt();
  const [first] = items;
  if (!first) return null;
  const { session } = first;
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
          {session.project !== undefined && (
            <span className="min-w-0 truncate text-xs text-muted max-md:hidden">{session.project}</span>
          )}
          <Ago at={first.since} className="ml-auto shrink-0 text-xs text-muted" />
        </div>
        <AttemptProblem attempt={attempt} />
        <WaitingForms items={items} attempt={attempt} onDone={onDone} />
      </div>
    </li>
  );
}
