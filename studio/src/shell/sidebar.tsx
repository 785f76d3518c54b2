import { useSessions } from 'holdfast/react';
import type { ReactNode } from 'react';
import { REQUEST, SERVER_URL } from '../api/server.ts';
import { useInbox } from '../inbox/inbox-context.tsx';
import { activityOf, titleOf } from '../sessions/session-facts.ts';
import { useNow } from '../ui/ago.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { Status } from '../ui/status.tsx';
import { useWorkers, workCount } from '../workers/use-workers.ts';
import { Link } from './link.tsx';
import { addressOf, type Place } from './router.ts';

/** Where to go: the views, and the newest sessions with what they do. On a narrow screen it opens over the page. */
export function Sidebar(props: {
  readonly place: Place;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly onPalette: () => void;
}) {
  const { place, isOpen, onToggle, onPalette } = props;
  const [view, id] = place.parts;
  const waiting = useInbox().data?.items.length ?? 0;
  return (
    <>
      <header className="fixed inset-x-0 top-0 z-20 flex h-11 items-center gap-1 border-b border-line bg-panel px-2 md:hidden">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls="sidebar"
          onClick={onToggle}
          className="flex h-8 items-center gap-2 rounded-md px-2 font-semibold hover:bg-raised"
        >
          <Icon name="menu" /> Holdfast
        </button>
        <span className="flex-1" />
        <Link href={addressOf('inbox')} className="flex h-8 items-center gap-1.5 rounded-md px-2 hover:bg-raised">
          Inbox <Count value={waiting} />
        </Link>
      </header>
      {isOpen && (
        <div aria-hidden="true" onClick={onToggle} className="fixed inset-0 top-11 z-20 bg-backdrop md:hidden" />
      )}
      <nav
        id="sidebar"
        aria-label="Studio"
        className={`flex w-58 shrink-0 flex-col border-r border-line bg-panel max-md:fixed max-md:inset-y-0 max-md:top-11 max-md:z-20 max-md:w-72 max-md:shadow-xl ${isOpen ? '' : 'max-md:hidden'}`}
      >
        <div className="px-4 pt-3.5 pb-2.5 font-semibold tracking-tight max-md:hidden">Holdfast</div>
        <div className="flex flex-col gap-px px-2 max-md:pt-2">
          <button
            type="button"
            onClick={onPalette}
            className="mb-1.5 flex h-7 items-center gap-2 rounded-md border border-line bg-ground px-2 text-muted hover:text-ink"
          >
            <Icon name="search" /> <span className="flex-1 text-left">Find or do…</span> <Kbd keys="Mod K" />
          </button>
          <Entry href={addressOf()} icon="sessions" isCurrent={view === undefined}>
            Sessions
          </Entry>
          <Entry href={addressOf('inbox')} icon="inbox" isCurrent={view === 'inbox'}>
            Inbox <Count value={waiting} />
          </Entry>
          <WorkersEntry isCurrent={view === 'workers'} />
        </div>
        <Recent currentId={view === 'sessions' ? id : undefined} />
      </nav>
    </>
  );
}

function Entry(props: {
  readonly href: string;
  readonly icon: IconName;
  readonly isCurrent: boolean;
  readonly children: ReactNode;
}) {
  const { href, icon, isCurrent, children } = props;
  return (
    <Link
      href={href}
      aria-current={isCurrent ? 'page' : undefined}
      className="flex h-7 items-center gap-2 rounded-md px-2 text-muted hover:bg-raised hover:text-ink aria-[current]:bg-raised aria-[current]:font-medium aria-[current]:text-ink"
    >
      <Icon name={icon} /> {children}
    </Link>
  );
}

const WORKERS_REFRESH_MS = 10_000;

/** Only shown while workers do something, or have failed. */
function WorkersEntry({ isCurrent }: { readonly isCurrent: boolean }) {
  const { data } = useWorkers(WORKERS_REFRESH_MS);
  if (!isCurrent && !(data && workCount(data) > 0)) return null;
  return (
    <Entry href={addressOf('workers')} icon="workers" isCurrent={isCurrent}>
      Workers
    </Entry>
  );
}

function Count({ value }: { readonly value: number }) {
  if (value === 0) return null;
  return (
    <span className="ml-auto rounded-full bg-waits-ground px-1.5 text-xs font-semibold text-waits tabular-nums">
      {value}
      <span className="sr-only"> waiting</span>
    </span>
  );
}

function Recent({ currentId }: { readonly currentId: string | undefined }) {
  const { sessions } = useSessions(SERVER_URL, { ...REQUEST, limit: 40, refreshMs: 3000 });
  const now = useNow();
  if (sessions.length === 0) return null;
  return (
    <>
      <h2 className="px-4 pt-4 pb-1 text-xs font-medium text-muted">Recent</h2>
      <ul className="flex min-h-0 flex-1 flex-col gap-px overflow-y-auto px-2 pb-3">
        {sessions.map((session) => (
          <li key={session.id}>
            <Link
              href={addressOf('sessions', session.id)}
              title={titleOf(session)}
              aria-current={session.id === currentId ? 'page' : undefined}
              className="flex h-7 items-center gap-2 rounded-md px-2 text-muted hover:bg-raised hover:text-ink aria-[current]:bg-raised aria-[current]:text-ink"
            >
              <Status activity={activityOf(session, now)} isDotOnly />
              <span className="truncate">{titleOf(session)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
