import { useSessions } from 'holdfast/react';
import { useDeferredValue, useEffect, useRef } from 'react';
import { REQUEST, SERVER_URL } from '../api/server.ts';
import { setQuery } from '../shell/router.ts';
import type { ViewProps } from '../shell/view-props.ts';
import { Button } from '../ui/button.tsx';
import { Problem, sentence } from '../ui/problem.tsx';
import { ViewHeader } from '../ui/view-header.tsx';
import { Filters, matchesFilters, readFilters, serverFilter } from './filters.tsx';
import { HitList } from './hit-list.tsx';
import { SearchField } from './search-field.tsx';
import { SessionList } from './session-list.tsx';

const PAGE = 100;

/** All sessions, newest activity first; or, while there are words in the field, where these words are. */
export function SessionsView({ place: { query } }: ViewProps) {
  const words = query.get('q') ?? '';
  const searched = useDeferredValue(words.trim());
  const filters = readFilters(query);
  const filter = searched === '' ? serverFilter(filters) : {}; // hits are those of all sessions
  const listed = useSessions(SERVER_URL, { ...REQUEST, ...filter, limit: PAGE, refreshMs: 3000 });
  const found = useSessions(SERVER_URL, { ...REQUEST, search: searched, limit: searched === '' ? 1 : PAGE });
  const sessions = listed.sessions.filter((session) => matchesFilters(session, filters));
  const field = useRef<HTMLInputElement>(null);
  const wantsField = query.has('find');
  useEffect(() => {
    if (!wantsField) return;
    field.current?.focus();
    setQuery({ find: '' });
  }, [wantsField]);

  const error = searched === '' ? listed.error : (found.error ?? listed.error);
  return (
    <>
      <ViewHeader title="Sessions">
        <SearchField ref={field} value={words} onChange={(q) => setQuery({ q })} />
        {searched === '' && <Filters filters={filters} />}
      </ViewHeader>
      {error && <Problem>{sentence(error)}</Problem>}
      {searched === '' ? (
        <SessionList
          sessions={sessions}
          isLoading={listed.sessions.length === 0 && (listed.isLoading || error !== undefined)}
          isFiltered={filters.source !== '' || filters.status !== ''}
          footer={listed.hasMore && <Button onClick={() => void listed.loadMore()}>Show more</Button>}
        />
      ) : (
        <HitList words={searched} hits={found.hits} sessions={listed.sessions} isLoading={found.isLoading} />
      )}
    </>
  );
}
