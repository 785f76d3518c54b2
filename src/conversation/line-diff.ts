/** The difference of two texts by lines, as a unified diff shows it. */

const CONTEXT = 3;
/** At most this many pairs of lines are compared; longer texts are shown as replaced. */
const MAX_PAIRS = 4_000_000;
/** Pairs per character, so that the cost stays linear in the size of the texts. */
const PAIRS_PER_CHARACTER = 64;

/** Lines with a space, `-` or `+` before each; `@@` stands for unchanged lines that are left out. */
export function lineDiff(before: string, after: string): string {
  const a = linesOf(before);
  const b = linesOf(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const removed = a.slice(start, a.length - end);
  const added = b.slice(start, b.length - end);
  const isSmall =
    removed.length * added.length <= Math.min(MAX_PAIRS, PAIRS_PER_CHARACTER * (before.length + after.length));
  const changed = isSmall
    ? compared(removed, added)
    : [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  const unchanged = (lines: readonly string[]): string[] => lines.map((line) => ` ${line}`);
  const all = [...unchanged(a.slice(0, start)), ...changed, ...unchanged(a.slice(a.length - end))];
  return (changed.length === 0 ? all : withoutFarLines(all)).join('\n');
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The shortest difference, by the longest common subsequence. */
function compared(a: readonly string[], b: readonly string[]): string[] {
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      common[at] =
        a[i] === b[j]
          ? (common[at + width + 1] as number) + 1
          : Math.max(common[at + width] as number, common[at + 1] as number);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(` ${a[i++]}`);
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && (common[(i + 1) * width + j] as number) >= (common[i * width + j + 1] as number))
    ) {
      lines.push(`-${a[i++]}`);
    } else lines.push(`+${b[j++]}`);
  }
  return lines;
}

/** Keeps a few unchanged lines around every change. */
function withoutFarLines(lines: readonly string[]): string[] {
  const near = new Uint8Array(lines.length);
  for (const [i, line] of lines.entries()) {
    if (line.startsWith(' ')) continue;
    near.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1);
  }
  const kept: string[] = [];
  for (const [i, line] of lines.entries()) {
    if (near[i]) kept.push(line);
    else if (kept.at(-1) !== '@@') kept.push('@@');
  }
  return kept;
}
