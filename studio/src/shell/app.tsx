import { Suspense, useEffect, useState } from 'react';
import { InboxProvider } from '../inbox/inbox-context.tsx';
import { Boundary } from './boundary.tsx';
import { useCommands } from './commands.ts';
import { Help } from './help.tsx';
import { NotFound } from './not-found.tsx';
import { Palette } from './palette.tsx';
import { addressOf, navigate, usePlace } from './router.ts';
import { Sidebar } from './sidebar.tsx';
import { setTheme } from './theme.ts';
import { TokenGate } from './token-gate.tsx';
import { viewOf } from './views.ts';

/** The frame of every view: the sidebar, the palette and the keys that work everywhere. */
export function App() {
  const place = usePlace();
  const [open, setOpen] = useState<'palette' | 'help' | 'sidebar'>();
  const close = (): void => setOpen(undefined);

  useCommands([
    { id: 'go-sessions', title: 'Sessions', group: 'Go to', keys: 'g s', run: () => navigate(addressOf()) },
    { id: 'go-inbox', title: 'Inbox', group: 'Go to', keys: 'g i', run: () => navigate(addressOf('inbox')) },
    { id: 'go-workers', title: 'Workers', group: 'Go to', keys: 'g w', run: () => navigate(addressOf('workers')) },
    { id: 'search', title: 'Search all sessions', group: 'Go to', keys: '/', run: search },
    { id: 'theme-light', title: 'Light theme', group: 'View', run: () => setTheme('light') },
    { id: 'theme-dark', title: 'Dark theme', group: 'View', run: () => setTheme('dark') },
    { id: 'theme-system', title: 'Theme of the system', group: 'View', run: () => setTheme('system') },
    { id: 'help', title: 'Keys on this page', group: 'View', keys: '?', run: () => setOpen('help') },
  ]);
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') setOpen((shown) => (shown === 'sidebar' ? undefined : shown));
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setOpen((shown) => (shown === 'palette' ? undefined : 'palette'));
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another place closes the sidebar of a narrow screen
  useEffect(close, [place]);

  const View = viewOf(place);
  return (
    <TokenGate>
      <InboxProvider>
        <div className="flex h-full">
          <Sidebar
            place={place}
            isOpen={open === 'sidebar'}
            onToggle={() => setOpen((shown) => (shown === 'sidebar' ? undefined : 'sidebar'))}
            onPalette={() => setOpen('palette')}
          />
          <main className="flex min-w-0 flex-1 flex-col max-md:pt-11">
            <Boundary key={place.parts.join('/')}>
              <Suspense fallback={null}>
                {View ? <View place={place} /> : <NotFound>There is no such page in Studio.</NotFound>}
              </Suspense>
            </Boundary>
          </main>
          <Palette isOpen={open === 'palette'} onClose={close} />
          <Help isOpen={open === 'help'} onClose={close} />
        </div>
      </InboxProvider>
    </TokenGate>
  );
}

/** Puts the cursor into the search field, on the page that has it. */
function search(): void {
  const field = document.querySelector<HTMLInputElement>('input[type=search]');
  if (field) field.focus();
  else navigate(`${addressOf()}?find`);
}
