import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type Row, textOfRow } from './rows.ts';

/** Finds words in the whole conversation, also in rows that are not on the page. */
export function FindBar(props: {
  readonly rows: readonly Row[];
  /** What the search found in this session: the row with this text comes first. */
  readonly hit: string;
  readonly words: string;
  readonly onWords: (words: string) => void;
  readonly onShow: (key: string) => void;
  readonly onClose: () => void;
}) {
  const { rows, hit, words, onWords, onShow, onClose } = props;
  const searched = useDeferredValue(words);
  const all = useDeferredValue(rows);
  const found = useMemo(() => matching(all, searched), [all, searched]);
  const [chosen, setChosen] = useState<number>();
  const at = Math.min(chosen ?? startAt(found, hit), found.length - 1);
  const current = found[at];
  // biome-ignore lint/correctness/useExhaustiveDependencies: another row is shown, not every render
  useEffect(() => {
    onShow(current?.key ?? '');
  }, [current?.key]);
  const step = (by: number): void => setChosen((at + by + found.length) % Math.max(1, found.length));
  return (
    <search className="flex items-center gap-2 border-b border-line px-4 py-1.5">
      <input
        // biome-ignore lint/a11y/noAutofocus: a person opened the bar to type into it
        autoFocus={hit === ''}
        aria-label="Find in this conversation"
        placeholder="Find in this conversation"
        value={words.trimStart()}
        onChange={({ target }) => {
          onWords(target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
          else if (event.key === 'Escape') onClose();
          else return;
          event.preventDefault();
        }}
        className="h-7 w-72 min-w-0 rounded-md border border-line bg-ground px-2.5 focus:border-accent focus:outline-none"
      />
      <span role="status" className="whitespace-nowrap text-muted tabular-nums">
        {searched.trim() === ''
          ? ''
          : found.length === 0
            ? 'Not here'
            : `${(at + 1).toLocaleString('en')} of ${found.length.toLocaleString('en')}`}
      </span>
      <Button
        kind="quiet"
        className="px-1.5"
        aria-label="Previous"
        onClick={() => step(-1)}
        disabled={found.length === 0}
      >
        <Icon name="chevron" className="-rotate-90" />
      </Button>
      <Button kind="quiet" className="px-1.5" aria-label="Next" onClick={() => step(1)} disabled={found.length === 0}>
        <Icon name="chevron" className="rotate-90" />
      </Button>
      <Button kind="quiet" className="ml-auto px-1.5" aria-label="Close" onClick={onClose}>
        <Icon name="cross" />
      </Button>
    </search>
  );
}

function matching(rows: readonly Row[], words: string): readonly Row[] {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return [];
  return rows.filter((row) => {
    const text = textOfRow(row).toLowerCase();
    return parts.every((part) => text.includes(part));
  });
}

/** The row that has most of the hit's excerpt; the first one if none has. */
function startAt(found: readonly Row[], hit: string): number {
  const middle = hit.slice(10, -10).replaceAll('…', ' ').trim();
  if (middle === '') return 0;
  const words = middle.split(/\s+/);
  const at = found.findIndex((row) => {
    const text = textOfRow(row).replace(/\s+/g, ' ');
    return words.every((word) => text.includes(word));
  });
  return Math.max(at, 0);
}
