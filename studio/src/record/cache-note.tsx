import type { DifferingSide } from '../../../src/history/inspect/compare-requests.ts';
import type { RequestPoint } from '../../../src/history/inspect/request-series.ts';
import { visible } from '../conversation/tools/ansi.ts';
import { type CacheVerdict, cacheSentence, cacheVerdict } from './cache-sentence.ts';

const TONES: Readonly<Record<CacheVerdict, string>> = {
  used: 'border-adds',
  missed: 'border-fails',
  open: 'border-strong-line',
};

/** Why the request used or missed the cache, with the texts where it stops being the one before. */
export function CacheNote({ request }: { readonly request: RequestPoint }) {
  const { cache } = request;
  const difference = cache.cause === 'unknown' ? undefined : cache.comparison?.difference;
  return (
    <section aria-label="Prompt cache" className={`border-l-2 pl-3 ${TONES[cacheVerdict(cache)]}`}>
      <p className="max-w-3xl text-base">{cacheSentence(request)}</p>
      {difference && (
        <div className="mt-2 grid max-w-5xl grid-cols-2 gap-4 max-md:grid-cols-1 max-md:gap-2">
          <Side title="In the request before" side={difference.before} none="The request before does not have it." />
          <Side title="In this request" side={difference.now} none="This request does not have it." />
        </div>
      )}
    </section>
  );
}

function Side({
  title,
  side,
  none,
}: {
  readonly title: string;
  readonly side: DifferingSide | undefined;
  readonly none: string;
}) {
  return (
    <figure className="min-w-0">
      <figcaption className="text-xs text-muted">
        {title}
        {side && `, ${side.role}`}
      </figcaption>
      {side ? (
        <pre
          tabIndex={0}
          className="max-h-32 overflow-auto rounded bg-panel px-2 py-1 font-mono text-xs break-words whitespace-pre-wrap"
        >
          {visible(side.excerpt)}
        </pre>
      ) : (
        <p className="text-muted">{none}</p>
      )}
    </figure>
  );
}
