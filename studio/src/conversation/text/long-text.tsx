import type { ReactNode } from 'react';
import { count } from '../../ui/format.ts';
import { useOpen } from '../rows/open-states.tsx';
import { clip, MAX_SHOWN } from './clip.ts';

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
