import { memo, type ReactNode } from 'react';
import { type SessionTotals, useTotals } from '../api/use-totals.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { Ago, useNow } from '../ui/ago.tsx';
import { compact, money } from '../ui/format.ts';
import { Status } from '../ui/status.tsx';
import { useListKeys } from '../ui/use-list-keys.ts';
import { activityOf, projectOf, type SessionInfo, sourceOf, titleOf } from './session-facts.ts';

const COLUMNS =
  'grid grid-cols-[6.5rem_minmax(0,1fr)_8rem_6rem_3.5rem_4rem_4.5rem_4.5rem] gap-x-4 px-4 max-lg:grid-cols-[6.5rem_minmax(0,1fr)_6rem_4.5rem] max-md:grid-cols-[minmax(0,1fr)_auto]';
const WIDE = 'max-lg:hidden';
const MIDDLE = 'max-md:hidden';

/** The sessions as a table of links. */
export function SessionList(props: {
  readonly sessions: readonly SessionInfo[];
  readonly isLoading: boolean;
  readonly isFiltered: boolean;
  readonly footer: ReactNode;
}) {
  const { sessions, isLoading, isFiltered, footer } = props;
  const now = useNow();
  const totals = useTotals(sessions);
  useListKeys('session');
  if (isLoading) return null;
  if (sessions.length === 0) return <Nothing isFiltered={isFiltered} />;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" data-list>
      <div
        aria-hidden="true"
        className={`${COLUMNS} sticky top-0 z-10 border-b border-line bg-ground py-1.5 text-xs text-muted max-md:hidden`}
      >
        <span>Status</span>
        <span>Title</span>
        <span className={WIDE}>Project</span>
        <span>Source</span>
        <span className={`${WIDE} text-right`}>Turns</span>
        <span className={`${WIDE} text-right`}>Tokens</span>
        <span className={`${WIDE} text-right`}>Cost</span>
        <span className="text-right">Active</span>
      </div>
      <ul aria-label="Sessions">
        {sessions.map((session) => (
          <Row key={session.id} session={session} totals={totals[session.id]} now={now} />
        ))}
      </ul>
      <div className="p-4">{footer}</div>
    </div>
  );
}

const Row = memo(
  (props: { readonly session: SessionInfo; readonly totals: SessionTotals | undefined; readonly now: number }) => {
    const { session, totals, now } = props;
    const { id, updatedAt, queued = 0 } = session;
    return (
      <li className="[contain-intrinsic-height:2.25rem] [content-visibility:auto]">
        <Link
          data-entry
          href={addressOf('sessions', id)}
          className={`${COLUMNS} min-h-9 items-center border-b border-line hover:bg-panel focus:bg-accent-ground focus:shadow-[inset_2px_0_var(--accent)] focus:outline-none max-md:py-1.5`}
        >
          <span className={MIDDLE}>
            <Status activity={activityOf(session, now)} />
          </span>
          <span className="flex min-w-0 items-center gap-2">
            <span className="md:hidden">
              <Status activity={activityOf(session, now)} isDotOnly />
            </span>
            <span className="truncate font-medium">{titleOf(session)}</span>
            {queued > 0 && <span className="shrink-0 text-xs text-muted">{queued} queued</span>}
          </span>
          <span className={`${WIDE} truncate text-muted`}>{projectOf(session)}</span>
          <span className={`${MIDDLE} truncate text-muted`}>{sourceOf(session)}</span>
          <Figure value={totals?.turns} />
          <Figure value={totals && compact(totals.usage.inputTokens + totals.usage.outputTokens)} />
          <Figure value={totals?.usage.costUsd === undefined ? undefined : money(totals.usage.costUsd)} />
          <Ago at={updatedAt} className="text-right text-muted" />
        </Link>
      </li>
    );
  },
);

function Figure({ value }: { readonly value: number | string | undefined }) {
  return <span className={`${WIDE} text-right text-muted tabular-nums`}>{value ?? ''}</span>;
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <p className="max-w-lg p-6 text-muted">
      {isFiltered
        ? 'No session matches these filters.'
        : 'There are no sessions yet. Run an agent with this database; `holdfast studio` without one shows the sessions of Claude Code, Codex and OpenCode.'}
    </p>
  );
}
