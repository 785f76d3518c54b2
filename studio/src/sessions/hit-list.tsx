import type { Sessions } from '../../../src/react/use-sessions.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { Ago } from '../ui/ago.tsx';
import { count } from '../ui/format.ts';
import { useListKeys } from '../ui/use-list-keys.ts';
import { type SessionInfo, titleOf } from './session-facts.ts';

type Hit = Sessions['hits'][number];

/** Where the words are: sessions by their title, then messages, each with the text around its words. */
export function HitList(props: {
  readonly words: string;
  readonly hits: readonly Hit[];
  readonly sessions: readonly SessionInfo[];
  readonly isLoading: boolean;
}) {
  const { words, hits, sessions, isLoading } = props;
  useListKeys('hit');
  const titles = new Map(sessions.map((session) => [session.id, titleOf(session)]));
  const named = sessions.filter((session) => titleOf(session).toLowerCase().includes(words.toLowerCase()));
  if (!isLoading && hits.length === 0 && named.length === 0) {
    return <p className="p-6 text-muted">No session contains “{words}”.</p>;
  }
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" data-list>
      <p role="status" className="px-4 pt-2 text-xs text-muted">
        {count(named.length, 'title')}, {count(hits.length, 'message')}
      </p>
      <ul aria-label="Hits" className="py-1">
        {named.map(({ id, updatedAt }) => (
          <Entry
            key={id}
            href={addressOf('sessions', id)}
            at={updatedAt}
            kind="title"
            title={marked(titles.get(id) ?? id, words)}
          />
        ))}
        {hits.map((hit, index) => (
          <Entry
            key={`${hit.sessionId} ${hit.seq} ${index}`}
            href={`${addressOf('sessions', hit.sessionId)}?${new URLSearchParams({ q: words, hit: plain(hit.excerpt) })}`}
            at={hit.at}
            kind={hit.role}
            title={titles.get(hit.sessionId) ?? hit.sessionId}
            excerpt={hit.excerpt}
          />
        ))}
      </ul>
    </div>
  );
}

/** A title with the words between the marks of an excerpt. */
function marked(title: string, words: string): string {
  const at = title.toLowerCase().indexOf(words.toLowerCase());
  const end = at + words.length;
  return at < 0 ? title : `${title.slice(0, at)}⟦${title.slice(at, end)}⟧${title.slice(end)}`;
}

/** The words of an excerpt without its marks, to find the block that it is from. */
function plain(excerpt: string): string {
  return excerpt.replace(/[⟦⟧]/g, '');
}

function Entry(props: {
  readonly href: string;
  readonly at: string;
  readonly kind: string;
  readonly title: string;
  readonly excerpt?: string;
}) {
  const { href, at, kind, title, excerpt } = props;
  return (
    <li>
      <Link
        data-entry
        href={href}
        className="grid grid-cols-[5rem_minmax(0,1fr)_4.5rem] gap-x-4 max-md:grid-cols-[minmax(0,1fr)_auto] border-b border-line px-4 py-1.5 hover:bg-panel focus:bg-accent-ground focus:shadow-[inset_2px_0_var(--accent)] focus:outline-none"
      >
        <span className="text-muted capitalize max-md:hidden">{kind}</span>
        <span className="min-w-0">
          <span className="block truncate font-medium">
            <MarkedText text={title} />
          </span>
          {excerpt !== undefined && (
            <span className="line-clamp-2 break-words text-muted">
              <MarkedText text={excerpt} />
            </span>
          )}
        </span>
        <Ago at={at} className="text-right text-muted" />
      </Link>
    </li>
  );
}

/** A search excerpt: the store puts the matched words between `⟦` and `⟧`. */
function MarkedText({ text }: { readonly text: string }) {
  return text.split(/(⟦[^⟦⟧]*⟧)/).map((piece, index) => {
    const isHit = piece.startsWith('⟦');
    return isHit ? <mark key={index}>{piece.slice(1, -1)}</mark> : piece;
  });
}
