import { visible } from '../tools/ansi.ts';
import { LongText } from './long-text.tsx';

/** Text as it is, with its line breaks. */
export function PlainText({ id, text }: { readonly id: string; readonly text: string }) {
  return (
    <LongText id={id} text={text}>
      {(shown) => (
        <pre className="output" tabIndex={0}>
          {visible(shown)}
        </pre>
      )}
    </LongText>
  );
}
