import { useSessions } from 'holdfast/react';
import { useState } from 'react';
import type { SessionComparison } from '../../../src/server/routes/record-routes.ts';
import { REQUEST, SERVER_URL } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { useSessionInfo } from '../api/use-session-info.ts';
import { type SessionInfo, titleOf } from '../sessions/session-facts.ts';
import { SessionHeader } from '../sessions/session-header.tsx';
import { useCommands } from '../shell/commands.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, setQuery } from '../shell/router.ts';
import type { ViewProps } from '../shell/view-props.ts';
import { Ago } from '../ui/ago.tsx';
import { Button } from '../ui/button.tsx';
import { count } from '../ui/format.ts';
import { Problem, sentence } from '../ui/problem.tsx';
import { useListKeys } from '../ui/use-list-keys.ts';
import { ComparedRows } from './compared-rows.tsx';

/** This session beside another: their shared beginning folded, then their messages in pairs. A fork stands beside what it was forked from. */
export function CompareView({ place }: ViewProps) {
  const [, id = ''] = place.parts;
  const { data: details, error: problem } = useSessionInfo(id);
  const parent = details?.summary.forkedFrom?.sessionId;
  const other = place.query.get('with') ?? parent ?? '';
  const isChoosing = place.query.has('choose') || (details !== undefined && other === '');
  return (
    <>
      <SessionHeader id={id} details={details} view="compare" />
      {problem && <Problem>{sentence(problem)}</Problem>}
      {isChoosing ? (
        <Chooser id={id} parent={parent} />
      ) : (
        other !== '' && <Comparison key={other} id={id} other={other} version={details?.seq} />
      )}
    </>
  );
}

function Comparison({
  id,
  other,
  version,
}: {
  readonly id: string;
  readonly other: string;
  readonly version: number | undefined;
}) {
  const query = `left=${encodeURIComponent(other)}&right=${encodeURIComponent(id)}`;
  const { data, error } = useRead<SessionComparison>(`compare?${query}`, { version });
  const [isOnlyDifferent, setOnlyDifferent] = useState(false);
  useCommands([
    {
      id: 'choose-other',
      title: 'Compare with another session',
      group: 'Session',
      keys: 'c',
      run: () => setQuery({ choose: '1' }),
    },
    {
      id: 'only-different',
      title: 'Show only what differs',
      group: 'Session',
      keys: 'd',
      run: () => setOnlyDifferent((shown) => !shown),
    },
  ]);
  const change = <Button onClick={() => setQuery({ choose: '1' })}>Compare with another</Button>;
  if (error) return <Problem action={change}>{sentence(error)}</Problem>;
  if (!data) return null;
  const { rows, omitted } = data;
  const left = omitted.left + omitted.right;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-muted">
        <Difference comparison={data} />
        <span className="flex-1" />
        <label className="inline-flex items-center gap-1.5">
          <input
            type="checkbox"
            className="accent-accent"
            checked={isOnlyDifferent}
            onChange={({ target }) => setOnlyDifferent(target.checked)}
          />{' '}
          Only what differs
        </label>
        {change}
      </div>
      <ComparedRows comparison={data} rows={isOnlyDifferent ? rows.filter(({ isSame }) => !isSame) : rows} />
      {left > 0 && <p className="px-4 py-2 text-muted">{count(left, 'newer message')} not shown.</p>}
    </div>
  );
}

/** How much of both sessions differs, in a sentence. */
function Difference({ comparison: { sharedSeq, rows } }: { readonly comparison: SessionComparison }) {
  const differing = rows.filter(({ isSame }) => !isSame).length;
  const differ =
    differing === 0 ? 'No message differs.' : `${count(differing, 'row')} ${differing === 1 ? 'differs' : 'differ'}.`;
  return (
    <span>
      {sharedSeq === 0 && 'The sessions share no beginning. '}
      {differ}
    </span>
  );
}

/** The sessions to compare with: forks of this one and what it was forked from first. */
function Chooser({ id, parent }: { readonly id: string; readonly parent: string | undefined }) {
  const [words, setWords] = useState('');
  const { sessions } = useSessions(SERVER_URL, { ...REQUEST, limit: 200 });
  useListKeys('session');
  const isNear = (session: SessionInfo): boolean => session.id === parent || session.forkedFrom?.sessionId === id;
  const isFound = (session: SessionInfo): boolean => {
    const text = `${titleOf(session)} ${session.id}`.toLowerCase();
    return (
      session.id !== id &&
      words
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.includes(word))
    );
  };
  const found = sessions.filter(isFound).sort((a, b) => Number(isNear(b)) - Number(isNear(a)));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="border-b border-line px-4 py-2">
        <input
          type="search"
          aria-label="Session to compare with"
          placeholder="Compare with…"
          className="h-7 w-full max-w-md rounded-md border border-line bg-ground px-2"
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
      </div>
      <ul aria-label="Sessions to compare with" data-list className="min-h-0 flex-1 overflow-y-auto">
        {found.map((session) => (
          <li key={session.id}>
            <Link
              data-entry
              href={`${addressOf('sessions', id, 'compare')}?with=${encodeURIComponent(session.id)}`}
              className="flex items-baseline gap-4 border-b border-line px-4 py-1.5 hover:bg-panel"
            >
              <span className="min-w-0 truncate">{titleOf(session)}</span>
              {isNear(session) && (
                <span className="text-xs text-accent">{session.id === parent ? 'forked from this' : 'fork'}</span>
              )}
              <span className="flex-1" />
              <Ago at={session.updatedAt} className="text-muted" />
            </Link>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="p-6 text-muted">There is no other session to compare with.</p>}
    </div>
  );
}
