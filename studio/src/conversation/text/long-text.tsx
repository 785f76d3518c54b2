import type { ReactNode } from 'react';
import { count } from '../../ui/format.ts';
import { useOpen } from '../rows/open-states.tsx';

const HEAD_LINES = 60;
const TAIL_LINES = 20;
const MAX_LINE = 2000;
/** What is shown at most, even if a person wants everything. */
const MAX_SHOWN = 400_000;

/** Shows a text through `children`: its ends if it is long, all of it when a person wants that. A static file has all of it. */
export function LongText(props: {
  readonly id: string;
  readonly text: string;
  readonly children: (text: string) => ReactNode;
}) {
  const { id, text, children } = props;
  const { isOpen, isStatic, setOpen } = useOpen(`${id}:all`, false);
  if (isStatic) return children(text);
  const { text: short, hiddenLines, hiddenCharacters } = clip(text);
  if (hiddenLines === 0 && hiddenCharacters <= 0) return children(text);
  const hidden = hiddenLines > 0 ? count(hiddenLines, 'more line') : count(hiddenCharacters, 'more character');
  return (
    <>
      {children(isOpen ? text.slice(0, MAX_SHOWN) : short)}
      <button type="button" className="text-xs text-accent hover:underline" onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : `Show ${hidden}`}
      </button>
      {isOpen && text.length > MAX_SHOWN && (
        <p className="text-xs text-muted">The rest ({count(text.length - MAX_SHOWN, 'character')}) is in the export.</p>
      )}
    </>
  );
}

/** The part of a long text that is shown at first. A session may hold lines of megabytes; the page stays fast. */
interface Clipped {
  readonly text: string;
  /** How much is left out; 0 for a text that is shown whole. */
  readonly hiddenLines: number;
  readonly hiddenCharacters: number;
}

/** The first and the last lines; of a long line its start. */
function clip(text: string): Clipped {
  if (text.length <= MAX_LINE) return { text, hiddenLines: 0, hiddenCharacters: 0 };
  const lines = text.split('\n');
  const isLong = lines.length > HEAD_LINES + TAIL_LINES + 5;
  const kept = isLong ? [...lines.slice(0, HEAD_LINES), '…', ...lines.slice(-TAIL_LINES)] : lines;
  const short = kept.map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line)).join('\n');
  return {
    text: short,
    hiddenLines: isLong ? lines.length - HEAD_LINES - TAIL_LINES : 0,
    hiddenCharacters: text.length - short.length,
  };
}
