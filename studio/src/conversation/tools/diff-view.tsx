import { diffWordsWithSpace } from 'diff';
import { memo } from 'react';
import { LongText } from '../text/long-text.tsx';
import { visible } from './ansi.ts';

/** Longer lines are not compared word by word. */
const MAX_COMPARED = 600;

interface DiffLine {
  readonly kind: 'added' | 'removed' | 'place' | 'same';
  readonly text: string;
  /** The words that changed, of a line that replaces another. */
  readonly words?: readonly { readonly text: string; readonly isChanged: boolean }[];
}

/** A unified diff, or the lines of a patch, with the words that changed. */
export const DiffView = memo(({ id, text }: { readonly id: string; readonly text: string }) => (
  <LongText id={id} text={text}>
    {(shown) => (
      <pre className="output diff" tabIndex={0}>
        {diffLines(visible(shown)).map((line, index) => (
          <span key={index} className={`line line-${line.kind}`}>
            <Line line={line} />
          </span>
        ))}
      </pre>
    )}
  </LongText>
));

function Line({ line: { kind, text, words } }: { readonly line: DiffLine }) {
  if (kind === 'place') return text;
  return (
    <>
      <span className="sign">{{ added: '+', removed: '−', same: ' ' }[kind]}</span>
      {words?.map(({ text: word, isChanged }, index) => (isChanged ? <b key={index}>{word}</b> : word)) ?? text}
    </>
  );
}

function diffLines(text: string): readonly DiffLine[] {
  const lines = text.replace(/\n$/, '').split('\n').map(lineOf);
  return lines.map((line, index) => {
    const isRemoved = line.kind === 'removed';
    const other = isRemoved ? lines[index + 1] : lines[index - 1];
    const isPair = (isRemoved && other?.kind === 'added') || (line.kind === 'added' && other?.kind === 'removed');
    // Only single lines that replace each other: in longer changes the pairs would be arbitrary.
    const isAlone =
      lines[index + (isRemoved ? -1 : 1)]?.kind !== line.kind &&
      lines[index + (isRemoved ? 2 : -2)]?.kind !== other?.kind;
    if (!other || !isPair || !isAlone || line.text.length + other.text.length > MAX_COMPARED) return line;
    return {
      ...line,
      words: isRemoved ? changedWords(line.text, other.text, false) : changedWords(other.text, line.text, true),
    };
  });
}

function lineOf(line: string): DiffLine {
  const text = line.slice(1);
  if (line.startsWith('+') && !line.startsWith('+++')) return { kind: 'added', text };
  if (line.startsWith('-') && !line.startsWith('---')) return { kind: 'removed', text };
  const isPlace = /^(@@|\*\*\*|diff |index |---|\+\+\+|…)/.test(line);
  return isPlace ? { kind: 'place', text: line } : { kind: 'same', text: line.startsWith(' ') ? text : line };
}

function changedWords(before: string, after: string, isAfter: boolean): NonNullable<DiffLine['words']> {
  return diffWordsWithSpace(before, after)
    .filter(({ added, removed }) => (isAfter ? !removed : !added))
    .map(({ value, added, removed }) => ({ text: value, isChanged: added || removed }));
}
