/**
 * Times as positions. Long pauses, such as the night before an approval, take a fixed width, so that the work around them stays visible:
 *
 *     work ▇▇▇▇▇▇ ┆ 9 h ┆ ▇▇▇ work
 */

/** A piece of time in milliseconds. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** A pause that is drawn shorter than it was. */
export interface Pause extends Interval {
  readonly x: number;
  readonly width: number;
}

/** Where each time is drawn. */
export interface TimeScale {
  x(time: number): number;
  readonly pauses: readonly Pause[];
  /** Positions and texts of the axis: the time since the start. */
  readonly ticks: readonly { readonly x: number; readonly ms: number }[];
}

const PAUSE_WIDTH = 44;
/** Pauses take at most this share of the width together. */
const MAX_PAUSES = 0.4;
/** A pause longer than this share of all work is shortened. */
const LONG = 0.25;
const MIN_LONG_MS = 1000;
const TICK_DISTANCE = 90;

/** Makes the scale of a range from the pieces of it in which something happened. */
export function timeScale(range: Interval, busy: readonly Interval[], width: number): TimeScale {
  const work = merged(busy, range);
  const worked = work.reduce((sum, { from, to }) => sum + to - from, 0);
  const longest = Math.max(MIN_LONG_MS, worked * LONG);
  const quiet = gapsOf(work, range).filter(({ from, to }) => to - from > longest);
  const each = quiet.length === 0 ? 0 : Math.min(PAUSE_WIDTH, (width * MAX_PAUSES) / quiet.length);
  const shortened = quiet.reduce((sum, { from, to }) => sum + to - from, 0);
  const perMs = (width - each * quiet.length) / Math.max(1, range.to - range.from - shortened);
  const pauses: Pause[] = [];
  let x = 0;
  let time = range.from;
  for (const { from, to } of quiet) {
    x += (from - time) * perMs;
    pauses.push({ from, to, x, width: each });
    x += each;
    time = to;
  }
  const position = (at: number): number => {
    const within = Math.min(Math.max(at, range.from), range.to);
    const before = pauses.findLast(({ from }) => from <= within);
    if (!before) return (within - range.from) * perMs;
    if (within >= before.to) return before.x + before.width + (within - before.to) * perMs;
    return before.x + ((within - before.from) / (before.to - before.from)) * before.width;
  };
  return { x: position, pauses, ticks: ticksOf(range, pauses, position, perMs) };
}

/** Round times about 90 pixels apart, none inside a pause. */
function ticksOf(
  range: Interval,
  pauses: readonly Pause[],
  x: (time: number) => number,
  perMs: number,
): TimeScale['ticks'] {
  const step = roundStep(TICK_DISTANCE / perMs);
  const ticks: { readonly x: number; readonly ms: number }[] = [];
  const starts = [range.from, ...pauses.map(({ to }) => to)];
  for (const [i, start] of starts.entries()) {
    const end = pauses[i]?.from ?? range.to;
    const first = Math.ceil((start - range.from) / step) * step;
    for (let ms = first; ms <= end - range.from; ms += step) {
      const at = x(range.from + ms);
      if (at - (ticks.at(-1)?.x ?? Number.NEGATIVE_INFINITY) >= TICK_DISTANCE / 2) ticks.push({ x: at, ms });
    }
  }
  return ticks;
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
  3_600_000,
];

function roundStep(ms: number): number {
  return STEPS.find((step) => step >= ms) ?? Math.ceil(ms / 3_600_000) * 3_600_000;
}

function merged(intervals: readonly Interval[], { from: least, to: most }: Interval): readonly Interval[] {
  const sorted = [...intervals].sort((a, b) => a.from - b.from);
  const result: { from: number; to: number }[] = [];
  for (const { from, to } of sorted) {
    const last = result.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, Math.min(to, most));
    else result.push({ from: Math.max(from, least), to: Math.min(to, most) });
  }
  return result;
}

function gapsOf(work: readonly Interval[], range: Interval): readonly Interval[] {
  const gaps: Interval[] = [];
  let end = range.from;
  for (const { from, to } of work) {
    if (from > end) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  if (end < range.to) gaps.push({ from: end, to: range.to });
  return gaps;
}
