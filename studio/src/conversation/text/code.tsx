import { memo } from 'react';
import { visible } from '../tools/ansi.ts';
import { useTokens } from './highlight.ts';
import { LongText } from './long-text.tsx';

/** Code with colours if its language is known. `firstLine` numbers the lines. */
export const Code = memo(
  (props: { readonly id: string; readonly text: string; readonly language: string; readonly firstLine?: number }) => {
    const { id, text, language, firstLine } = props;
    return (
      <LongText id={id} text={text}>
        {(shown) => <CodeLines text={visible(shown)} language={language} firstLine={firstLine} />}
      </LongText>
    );
  },
);

function CodeLines(props: {
  readonly text: string;
  readonly language: string;
  readonly firstLine: number | undefined;
}) {
  const { text, language, firstLine } = props;
  const tokens = useTokens(text, language);
  if (!tokens && firstLine === undefined) {
    return (
      <pre className="output" tabIndex={0}>
        {text}
      </pre>
    );
  }
  const lines = text.split('\n');
  return (
    <pre className={`output ${firstLine === undefined ? '' : 'numbered'}`} tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} className="line" data-line={firstLine === undefined ? undefined : firstLine + index}>
          {tokens?.[index]?.map(({ text: piece, className }, at) => (
            <span key={at} className={className}>
              {piece}
            </span>
          )) ?? line}
          {index < lines.length - 1 && '\n'}
        </span>
      ))}
    </pre>
  );
}
