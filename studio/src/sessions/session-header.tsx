import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { SessionDetails } from '../api/use-session-info.ts';
import { useCommands } from '../shell/commands.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, navigate } from '../shell/router.ts';
import { useNow } from '../ui/ago.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Status } from '../ui/status.tsx';
import { activityOf, projectOf, sourceOf, titleOf } from './session-facts.ts';

const ExportDialog = lazy(async () => ({ default: (await import('./export-dialog.tsx')).ExportDialog }));

/** The views of one session: the name in the address, what people call it, and what it shows. The conversation has no name. */
const SESSION_TABS: readonly (readonly [name: string, label: string, title: string])[] = [
  ['', 'Conversation', 'Conversation'],
  ['record', 'Record', 'Record: every request as it was sent'],
  ['timeline', 'Timeline', 'Timeline: when everything happened'],
  ['strategies', 'Strategies', 'Strategies: what others would have sent'],
  ['compare', 'Compare', 'Compare with another session'],
];

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
  const [isExporting, setIsExporting] = useState(false);
  useCommands([
    ...SESSION_TABS.map(([name, , what], index) => ({
      id: `tab-${name}`,
      title: what,
      group: 'Go to' as const,
      keys: `${index + 1}`,
      run: () => navigate(tabAddress(id, name)),
    })),
    {
      id: 'export',
      title: 'Export this conversation…',
      group: 'Session' as const,
      keys: 'e',
      run: () => setIsExporting(true),
    },
  ]);
  const summary = details?.summary;
  const title = summary ? titleOf({ ...summary, id }) : id;
  return (
    <header className="shrink-0 border-b border-line px-4 pt-1.5">
      <div className="flex min-h-8 items-center gap-x-3">
        <h1 className="min-w-0 truncate font-semibold" title={title}>
          {title}
        </h1>
        {summary && (
          <>
            <Status activity={activityOf({ ...summary, ...(details.lease && { lease: details.lease }) }, now)} />
            <span className="min-w-0 shrink-[4] truncate text-muted max-md:hidden">
              {[sourceOf(summary), projectOf(summary)].filter(Boolean).join(' · ')}
            </span>
          </>
        )}
        <span className="flex-1" />
        {children}
        <Button kind="quiet" className="max-md:px-1.5" onClick={() => setIsExporting(true)}>
          <Icon name="export" />
          <span className="max-md:sr-only">Export</span>
        </Button>
      </div>
      {isExporting && (
        <Suspense fallback={null}>
          <ExportDialog id={id} title={title} isOpen onClose={() => setIsExporting(false)} />
        </Suspense>
      )}
      <nav
        aria-label="Views of this session"
        className="-mb-px flex gap-x-4 overflow-x-auto overflow-y-hidden [scrollbar-width:none] max-md:gap-x-2"
      >
        {SESSION_TABS.map(([name, label]) => (
          <Link
            key={name}
            href={tabAddress(id, name)}
            ref={name === view ? showWhole : undefined}
            aria-current={name === view ? 'page' : undefined}
            className="flex h-7 shrink-0 items-center text-muted hover:text-ink aria-[current]:text-ink aria-[current]:shadow-[inset_0_-2px_var(--accent)]"
          >
            {label}
          </Link>
        ))}
      </nav>
    </header>
  );
}

function tabAddress(id: string, name: string): string {
  return name === '' ? addressOf('sessions', id) : addressOf('sessions', id, name);
}

/** On a narrow screen the tabs scroll: the current one is always on it. */
function showWhole(tab: HTMLElement | null): void {
  tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}
