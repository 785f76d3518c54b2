/** The part of a timeline that is drawn: thousands of subagents and of model calls have more spans than a page can hold. */
import type { PlacedSpan } from './gantt-layout.ts';
import type { TimeScale } from './time-scale.ts';

/** Rows and pixels that are on the screen, or near it. The ends are not part of it. */
export interface GanttWindow {
  readonly firstRow: number;
  readonly endRow: number;
  readonly left: number;
  readonly right: number;
}

/** A span with its place in pixels, and its index among all spans. */
export interface DrawnSpan {
  readonly placed: PlacedSpan;
  readonly index: number;
  readonly x: number;
  readonly width: number;
}

const MIN_WIDTH = 3;

/** The spans in a window, and the chosen one. A span that ends inside of what was drawn in its row before is left out. */
export function drawnSpans(
  spans: readonly PlacedSpan[],
  scale: TimeScale,
  { firstRow, endRow, left, right }: GanttWindow,
  chosen: string,
): readonly DrawnSpan[] {
  const ends = new Map<string, number>();
  const drawn: DrawnSpan[] = [];
  for (const [index, placed] of spans.entries()) {
    const { row, rows, from, to, key, span } = placed;
    const isChosen = key === chosen;
    if (!isChosen && (row >= endRow || row + rows <= firstRow)) continue;
    const x = scale.x(from);
    const width = Math.max(MIN_WIDTH, scale.x(to) - x);
    if (!isChosen && (x > right || x + width < left)) continue;
    const lane = `${row} ${span.kind}`;
    if (!isChosen && x + width < (ends.get(lane) ?? Number.NEGATIVE_INFINITY) + 1) continue;
    ends.set(lane, x + width);
    drawn.push({ placed, index, x, width });
  }
  return drawn;
}
