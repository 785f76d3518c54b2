import type { SessionEvent } from '../../core/log/events.ts';
import type { SearchHit } from '../../ports/store.ts';
import { decodeEvent } from '../encoded-event.ts';
import { matchTexts, type SearchTerm, searchableTexts } from '../search-text.ts';
import type { ListedRow, SessionKey, StoreBackend, StoredEvent } from './backend.ts';

const ROWS = 500;

/** Searches without an index: reads all sessions, from the one that began last, each from its end. */
export async function scanSearch<Key extends SessionKey>(
  backend: StoreBackend<Key>,
  terms: readonly SearchTerm[],
  { sessionId, limit }: { readonly sessionId: string | undefined; readonly limit: number },
): Promise<readonly SearchHit[]> {
  const filter = sessionId === undefined ? {} : { idPrefix: sessionId };
  const sessions: ListedRow<Key>[] = [];
  for (let last: ListedRow<Key> | undefined, more = true; more; ) {
    const rows = await backend.list({ after: last, limit: ROWS, filter });
    sessions.push(...rows.filter(({ id }) => sessionId === undefined || id === sessionId));
    last = rows.at(-1);
    more = rows.length === ROWS;
  }
  const hits: SearchHit[] = [];
  for (const { key, id, seq: end } of sessions.sort((a, b) => (a.key < b.key ? 1 : -1))) {
    for (let until = end; until > 0 && hits.length < limit; until -= ROWS) {
      const rows = await backend.events(key, { after: Math.max(0, until - ROWS), until, limit: ROWS });
      for (const row of rows.toReversed()) hits.push(...(await hitsIn(backend, key, id, row, terms)));
    }
  }
  return hits.slice(0, limit);
}

async function hitsIn<Key extends SessionKey>(
  backend: StoreBackend<Key>,
  key: Key,
  sessionId: string,
  { seq, at, type, data }: StoredEvent,
  terms: readonly SearchTerm[],
): Promise<readonly SearchHit[]> {
  let event: SessionEvent;
  try {
    event = decodeEvent(sessionId, seq, at, type, data);
  } catch {
    return []; // `check` reports it
  }
  const name = event.type === 'source/recorded' ? event.content : undefined;
  const content = name === undefined ? undefined : await backend.readContent(key, name);
  const texts = searchableTexts(event, () => (content ? (JSON.parse(content) as string) : undefined));
  return matchTexts(texts, terms).map((hit) => ({ sessionId, seq, at, ...hit }));
}
