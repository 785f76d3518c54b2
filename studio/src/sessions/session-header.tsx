import type { ReactNode } from 'react';
import type { SessionDetails } from '../api/use-session-info.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { SESSION_TABS } from '../shell/session-tabs.ts';
import { useNow } from '../ui/ago.tsx';
import { Status } from '../ui/status.tsx';
import { ViewHeader } from '../ui/view-header.tsx';
import { activityOf, projectOf, sourceOf, titleOf } from './session-facts.ts';

/** The line above every view of one session: what it is, what it does, and its other views. */
export function SessionHeader(props: {
  readonly id: string;
  readonly details: SessionDetails | undefined;
  /** The name of the view in the address; the conversation has none. */
  readonly view: string;
  readonly children?: ReactNode;
}) {
  const { id, details, view, children } = props;
  const now = useNow();
  const summary = details?.summary;
  return (
    <ViewHeader title={summary ? titleOf({ ...summary, id }) : id}>
      {summary && (
        <span className="flex min-w-0 items-center gap-3 text-muted">
          <Status activity={activityOf({ ...summary, ...(details.lease && { lease: details.lease }) }, now)} />
          <span className="truncate max-md:hidden">
            {[sourceOf(summary), projectOf(summary)].filter(Boolean).join(' · ')}
          </span>
        </span>
      )}
      <span className="flex-1" />
      {children}
      {SESSION_TABS.length > 1 && (
        <nav aria-label="Views of this session" className="flex gap-px rounded-md border border-line p-px">
          {SESSION_TABS.map(([name, label]) => (
            <Link
              key={name}
              href={name === '' ? addressOf('sessions', id) : addressOf('sessions', id, name)}
              aria-current={name === view ? 'page' : undefined}
              className="rounded px-2 py-0.5 text-muted hover:text-ink aria-[current]:bg-raised aria-[current]:text-ink"
            >
              {label}
            </Link>
          ))}
        </nav>
      )}
    </ViewHeader>
  );
}
