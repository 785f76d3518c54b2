/**
 * Colours for code, as classes. Shiki and each grammar are loaded when a text of that language is first shown; until then, and for every other
 * language, code is shown without colours. So is all code in exported files.
 */
import { useEffect, useState } from 'react';
import type { CodeToken } from './highlighter.ts';

const MAX_LENGTH = 60_000;
const MAX_KNOWN = 300;
const known = new Map<string, readonly (readonly CodeToken[])[]>();

/** The lines of a text as tokens; undefined while they are not known. */
export function useTokens(code: string, language: string): readonly (readonly CodeToken[])[] | undefined {
  const key = `${language}\n${code}`;
  const [, setLoaded] = useState('');
  const isColoured = language !== '' && code.length <= MAX_LENGTH;
  useEffect(() => {
    if (import.meta.env.SSR || !isColoured || known.has(key)) return;
    let isShown = true;
    import('./highlighter.ts')
      .then(({ tokensOf }) => tokensOf(code, language))
      .then((tokens) => {
        if (tokens) remember(key, tokens);
        if (tokens && isShown) setLoaded(key);
      })
      .catch(() => {}); // code without colours is still code
    return () => {
      isShown = false;
    };
  }, [key, code, language, isColoured]);
  return known.get(key);
}

function remember(key: string, tokens: readonly (readonly CodeToken[])[]): void {
  known.set(key, tokens);
  for (const oldest of known.keys()) {
    if (known.size <= MAX_KNOWN) return;
    known.delete(oldest);
  }
}
