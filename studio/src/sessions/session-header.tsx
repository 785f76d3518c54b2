import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { SessionDetails } from '../api/use-session-info.ts';
import { useCommands } from '../shell/commands.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, navigate } from '../shell/router.ts';
import { SESSION_TABS } from '../shell/session-tabs.ts';
import { useNow } from '../ui/ago.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Status } from '../ui/status.tsx';
import { ViewHeader } from '../ui/view-header.tsx';
import { activityOf, projectOf, sourceOf, titleOf } from './session-facts.ts';

const ExportDialog = lazy(async () => ({ default: (await import('./export-dialog.tsx')).ExportDialog }));

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
    ...SESSION_TABS.map(([name, label], index) => ({
      id: `tab-${name}`,
      title: `${label} of this session`,
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
    <ViewHeader title={title}>
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
      <Button kind="quiet" className="max-md:px-1.5" onClick={() => setIsExporting(true)}>
        <Icon name="export" />
        <span className="max-md:sr-only">Export</span>
      </Button>
      {isExporting && (
        <Suspense fallback={null}>
          <ExportDialog id={id} title={title} isOpen onClose={() => setIsExporting(false)} />
        </Suspense>
      )}
      {SESSION_TABS.length > 1 && (
        <nav
          aria-label="Views of this session"
          className="flex max-w-full gap-px overflow-x-auto rounded-md border border-line p-px"
        >
          {SESSION_TABS.map(([name, label]) => (
            <Link
              key={name}
              href={tabAddress(id, name)}
              ref={name === view ? showWhole : undefined}
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

function tabAddress(id: string, name: string): string {
  return name === '' ? addressOf('sessions', id) : addressOf('sessions', id, name);
}

/** On a narrow screen the tabs scroll: the current one is always on it. */
function showWhole(tab: HTMLElement | null): void {
  tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}
