import { type PersonInbox, useInbox } from 'holdfast/react';
import { createContext, type ReactNode, useContext } from 'react';
import { REQUEST, SERVER_URL } from '../api/server.ts';

const InboxContext = createContext<PersonInbox | undefined>(undefined);

/** Reads the inbox once for the whole page: the sidebar counts it and the view shows it. */
export function InboxProvider({ children }: { readonly children: ReactNode }) {
  return <InboxContext value={useInbox(SERVER_URL, { ...REQUEST, refreshMs: 3000 })}>{children}</InboxContext>;
}

export function usePersonInbox(): PersonInbox {
  const inbox = useContext(InboxContext);
  if (!inbox) throw new Error('usePersonInbox is used inside InboxProvider');
  return inbox;
}
