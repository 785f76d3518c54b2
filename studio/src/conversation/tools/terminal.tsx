import { memo, useEffect, useRef } from 'react';
import { LongText } from '../text/long-text.tsx';
import { ansiPieces } from './ansi.ts';

/** What a command printed. While it runs, the newest lines stay in view. */
export const Terminal = memo((props: { readonly id: string; readonly text: string; readonly isLive?: boolean }) => {
  const { id, text, isLive = false } = props;
  const box = useRef<HTMLPreElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text scrolls
  useEffect(() => {
    if (isLive && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isLive]);
  return (
    <LongText id={id} text={text}>
      {(shown) => (
        <pre ref={box} className="output" tabIndex={0}>
          {ansiPieces(shown).map(({ text: piece, className }, index) =>
            className === '' ? (
              piece
            ) : (
              <span key={index} className={className}>
                {piece}
              </span>
            ),
          )}
        </pre>
      )}
    </LongText>
  );
});
