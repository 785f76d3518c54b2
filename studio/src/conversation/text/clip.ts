/** The part of a long text that is shown at first. A session may hold lines of megabytes; the page stays fast. */
export interface Clipped {
  readonly text: string;
  /** How much is left out; 0 for a text that is shown whole. */
  readonly hiddenLines: number;
  readonly hiddenCharacters: number;
}

const HEAD_LINES = 60;
const TAIL_LINES = 20;
const MAX_LINE = 2000;
/** What is shown at most, even if a person wants everything. */
export const MAX_SHOWN = 400_000;

/** The first and the last lines; of a long line its start. */
export function clip(text: string): Clipped {
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
