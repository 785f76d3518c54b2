import { type ReactNode, useState } from 'react';

const LINES = 4;
const CHARACTERS = 320;

/** The first lines of a text, and all of it when a person wants that. `onOpen` may load what is missing. */
export function ClampedText(props: {
  readonly text: string;
  /** Shows it with a letter of one width. */
  readonly isCode?: boolean;
  /** The page has only the start of the text. */
  readonly isCut?: boolean;
  readonly onOpen?: () => void;
  /** Shown instead of the text. */
  readonly children?: ReactNode;
}) {
  const { text, isCode = false, isCut = false, onOpen, children } = props;
  const [isOpen, setOpen] = useState(false);
  const isLong = isCut || text.length > CHARACTERS || text.split('\n', LINES + 1).length > LINES;
  return (
    <>
      <div
        className={`break-words whitespace-pre-wrap ${isCode ? 'font-mono text-xs' : ''} ${isLong && !isOpen ? 'line-clamp-4' : ''}`}
      >
        {children ?? text}
      </div>
      {isLong && (
        <button
          type="button"
          aria-expanded={isOpen}
          className="text-xs text-accent hover:underline"
          onClick={() => {
            if (!isOpen) onOpen?.();
            setOpen(!isOpen);
          }}
        >
          {isOpen ? 'Show less' : 'Show all'}
        </button>
      )}
    </>
  );
}
