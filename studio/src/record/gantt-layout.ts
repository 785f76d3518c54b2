/**
 * A timeline as rows: for each evaluation a heading, its model calls, its tools by lane, and what it waited for; children follow the evaluation
 * that started them.
 */
import type { Timeline, TimelineEvaluation, TimelineSpan } from 'holdfast/inspect';
import { type Interval, type TimeScale, timeScale } from './time-scale.ts';

/** A span with its place. */
export interface PlacedSpan {
  readonly key: string;
  readonly span: TimelineSpan;
  readonly evaluation: TimelineEvaluation;
  /** Counts the rows of the whole chart. A span of a process that was down covers all rows of its evaluation. */
  readonly row: number;
  readonly rows: number;
  readonly from: number;
  readonly to: number;
}

/** A row: its label, and how deep it is nested. */
export interface GanttRow {
  readonly key: string;
  readonly kind: 'heading' | 'lane';
  readonly label: string;
  readonly depth: number;
  readonly evaluation: TimelineEvaluation;
}

export interface GanttLayout {
  readonly rows: readonly GanttRow[];
  /** In the order in which they began. */
  readonly spans: readonly PlacedSpan[];
  readonly range: Interval;
}

/** Places every span. `now` ends those that last. */
export function ganttLayout({ evaluations }: Timeline, now: number): GanttLayout {
  const rows: GanttRow[] = [];
  const spans: PlacedSpan[] = [];
  const add = (evaluation: TimelineEvaluation, depth: number): void => {
    const { id, prompt } = evaluation;
    rows.push({ key: id, kind: 'heading', label: prompt.slice(prompt.lastIndexOf('/') + 1), depth, evaluation });
    const first = rows.length;
    const lanes = lanesOf(evaluation);
    for (const [name, label] of lanes) rows.push({ key: `${id} ${name}`, kind: 'lane', label, depth, evaluation });
    for (const [index, span] of evaluation.spans.entries()) {
      const times = { from: Date.parse(span.from), to: span.to === undefined ? now : Date.parse(span.to) };
      const place =
        span.kind === 'down'
          ? { row: first, rows: lanes.length }
          : { row: first + lanes.findIndex(([name]) => name === laneOf(span)), rows: 1 };
      spans.push({ key: `${id}.${index}`, span, evaluation, ...place, ...times });
    }
    for (const child of evaluations) if (child.parent?.evaluationId === id) add(child, depth + 1);
  };
  const known = new Set(evaluations.map(({ id }) => id));
  for (const evaluation of evaluations) {
    if (!evaluation.parent || !known.has(evaluation.parent.evaluationId)) add(evaluation, 0);
  }
  const times = evaluations.flatMap(({ from, to }) => [Date.parse(from), to === undefined ? now : Date.parse(to)]);
  const all = [...times, ...spans.flatMap(({ from, to }) => [from, to])].filter(Number.isFinite);
  const start = all.reduce((least, time) => Math.min(least, time), all[0] ?? 0);
  const end = all.reduce((most, time) => Math.max(most, time), start + 1);
  return {
    rows,
    spans: spans.sort((a, b) => a.from - b.from || a.row - b.row),
    range: { from: start, to: end },
  };
}

/** The lanes of an evaluation, by name, with their labels. */
function lanesOf({ spans, lanes }: TimelineEvaluation): readonly (readonly [name: string, label: string])[] {
  const tools = Array.from({ length: lanes }, (_, i) => [`tool ${i}`, i === 0 ? 'tools' : ''] as const);
  const isWaiting = spans.some(({ kind }) => kind === 'approval' || kind === 'suspended');
  return [['model', 'model'], ...tools, ...(isWaiting ? ([['wait', 'waits']] as const) : [])];
}

function laneOf(span: TimelineSpan): string {
  if (span.kind === 'tool') return `tool ${span.lane}`;
  return span.kind === 'approval' || span.kind === 'suspended' ? 'wait' : 'model';
}

/** The scale of a layout: waits and the time between processes are pauses. */
export function scaleOf({ spans, range }: GanttLayout, width: number): TimeScale {
  const isWork = ({ span: { kind } }: PlacedSpan): boolean => kind === 'model' || kind === 'tool' || kind === 'summary';
  return timeScale(range, spans.filter(isWork), width);
}

/** The span that an arrow key leads to from another: before and after in time, or the nearest one of the rows above and below. */
export function neighbourOf(spans: readonly PlacedSpan[], key: string, arrow: string): PlacedSpan | undefined {
  const at = spans.findIndex((span) => span.key === key);
  const current = spans[at];
  if (!current || arrow === 'Home') return spans[0];
  if (arrow === 'End') return spans.at(-1);
  if (arrow === 'ArrowLeft') return spans[at - 1] ?? current;
  if (arrow === 'ArrowRight') return spans[at + 1] ?? current;
  const isUp = arrow === 'ArrowUp';
  const rows = spans.map(({ row }) => row).filter((row) => (isUp ? row < current.row : row > current.row));
  if (rows.length === 0) return current;
  const next = rows.reduce((best, row) => (isUp === row > best ? row : best));
  const middle = (current.from + current.to) / 2;
  const distance = ({ from, to }: PlacedSpan): number => Math.abs((from + to) / 2 - middle);
  const there = spans.filter(({ row }) => row === next);
  return there.reduce((best, span) => (distance(span) < distance(best) ? span : best), there[0] as PlacedSpan);
}
