import { createContext, type ReactNode, useContext } from 'react';
import type { InboxPage } from '../../../src/server/routes/inbox-route.ts';
import { type Reading, useRead } from '../api/use-read.ts';

const InboxContext = createContext<Reading<InboxPage> | undefined>(undefined);

/** Reads the inbox once for the whole page: the sidebar counts it and the view shows it. */
export function InboxProvider({ children }: { readonly children: ReactNode }) {
  return <InboxContext value={useRead<InboxPage>('inbox?limit=200', { refreshMs: 3000 })}>{children}</InboxContext>;
}

export function useInbox(): Reading<InboxPage> {
  const inbox = useContext(InboxContext);
  if (!inbox) throw new Error('useInbox is used inside InboxProvider');
  return inbox;
}
