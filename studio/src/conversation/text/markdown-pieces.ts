/**
 * A long Markdown text in pieces that are parsed one by one. The cost of some texts, such as thousands of open brackets, grows with the square of
 * their length; pieces bound it. They end at empty lines and around fences, so that only a list or a quote across such a line is divided.
 */
export interface MarkdownPiece {
  readonly text: string;
  /** Shown as it was written: too long to be parsed, or too deeply nested. */
  readonly isPlain: boolean;
}

const ENOUGH = 4000;
const MAX_PIECE = 12_000;
const FENCE = /^(`{3,}|~{3,})/;
/** A line of so many quotes and lists inside of each other: parsers recurse for each. */
const DEEP = /^[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+){30}/m;

export function markdownPieces(text: string): readonly MarkdownPiece[] {
  if (text.length <= MAX_PIECE) return [pieceOf(text)];
  const pieces: MarkdownPiece[] = [];
  let lines: string[] = [];
  let length = 0;
  let fence = '';
  const end = (): void => {
    if (lines.some((line) => line.trim() !== '')) pieces.push(pieceOf(lines.join('\n')));
    lines = [];
    length = 0;
  };
  for (const line of text.split('\n')) {
    const [run = ''] = FENCE.exec(line) ?? [];
    if (fence === '' && run !== '') {
      end();
      fence = run;
    } else if (fence !== '' && run.startsWith(fence) && line.trim() === run) {
      lines.push(line);
      end();
      fence = '';
      continue;
    } else if (fence === '' && line.trim() === '' && length >= ENOUGH) end();
    lines.push(line);
    length += line.length + 1;
  }
  end();
  return pieces;
}

function pieceOf(text: string): MarkdownPiece {
  return { text, isPlain: (text.length > MAX_PIECE && !FENCE.test(text)) || DEEP.test(text) };
}
