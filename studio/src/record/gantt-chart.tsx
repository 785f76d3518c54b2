import { type KeyboardEvent, memo, useEffect, useId, useMemo, useRef } from 'react';
import { count, duration, roughly } from '../ui/format.ts';
import { useScrollWindow } from '../ui/use-scroll-window.ts';
import { useWidth } from '../ui/use-width.ts';
import { type GanttLayout, type GanttRow, neighbourOf, type PlacedSpan, scaleOf } from './gantt-layout.ts';
import { drawnSpans } from './gantt-window.ts';
import { spanLabel } from './span-sentence.ts';
import type { TimeScale } from './time-scale.ts';

const ROW = 22;
const BAR = 16;
const AXIS = 20;
const LETTER = 6;

/**
 * The rows and spans of a timeline. A list of choices for the keyboard and for screen readers: left and right move in time, up and down to the
 * nearest span of another row.
 */
export function GanttChart(props: {
  readonly layout: GanttLayout;
  /** How much wider than the page it is. */
  readonly zoom: number;
  readonly chosen: string;
  readonly describe: (placed: PlacedSpan) => string;
  readonly onChoose: (key: string) => void;
}) {
  const { layout, zoom, chosen, describe, onChoose } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const outer = useRef<HTMLDivElement>(null);
  const vertical = useScrollWindow(outer, 'y');
  const horizontal = useScrollWindow(box, 'x');
  const id = useId();
  const inner = Math.max(0, width - 8) * zoom;
  const scale = useMemo(() => scaleOf(layout, inner), [layout, inner]);
  const height = AXIS + layout.rows.length * ROW + 4;
  const firstRow = Math.max(0, Math.floor((vertical.from - AXIS) / ROW));
  const shown = layout.rows.slice(firstRow, Math.ceil((vertical.to - AXIS) / ROW));
  const area = { firstRow, endRow: firstRow + shown.length, left: horizontal.from, right: horizontal.to };
  const choose = (event: KeyboardEvent): void => {
    if (!/^Arrow|^Home$|^End$/.test(event.key)) return;
    const next = neighbourOf(layout.spans, chosen, event.key);
    if (!next) return;
    event.preventDefault();
    onChoose(next.key);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another chosen span, or another zoom, scrolls to it
  useEffect(() => {
    const option = svg.current?.querySelector('[aria-selected=true]');
    option?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen, zoom]);
  const at = layout.spans.findIndex(({ key }) => key === chosen);
  return (
    <div ref={outer} className="flex min-h-0 flex-1 overflow-y-auto">
      <Labels rows={shown} firstRow={firstRow} height={height} />
      <div ref={box} className="min-w-0 flex-1 overflow-x-auto overflow-y-hidden">
        {width > 0 && (
          <svg
            ref={svg}
            width={inner + 8}
            height={height}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its options are shapes
            role="listbox"
            tabIndex={0}
            aria-label="Model calls, tools and waits in the order in which they began"
            aria-activedescendant={at < 0 ? undefined : `${id}-${at}`}
            onKeyDown={choose}
            className="block"
          >
            <Hatch id={`${id}-hatch`} />
            <Ground rows={shown} firstRow={firstRow} scale={scale} width={inner} height={height} />
            {drawnSpans(layout.spans, scale, area, chosen).map(({ placed, index, x, width: wide }) => (
              <Bar
                key={placed.key}
                id={`${id}-${index}`}
                hatch={`${id}-hatch`}
                placed={placed}
                position={index + 1}
                total={layout.spans.length}
                x={x}
                width={wide}
                isChosen={placed.key === chosen}
                label={`${spanLabel(placed.span)}: ${describe(placed)}`}
                onChoose={onChoose}
              />
            ))}
          </svg>
        )}
      </div>
    </div>
  );
}

const INDENTS = ['', 'pl-3', 'pl-6', 'pl-9'];

interface Rows {
  /** Those that are near the screen. */
  readonly rows: readonly GanttRow[];
  readonly firstRow: number;
}

function Labels({ rows, firstRow, height }: Rows & { readonly height: number }) {
  return (
    <div
      aria-hidden="true"
      className="w-36 shrink-0 border-r border-line pl-4 max-md:w-20"
      style={{ height, paddingTop: AXIS + firstRow * ROW }}
    >
      {rows.map(({ key, kind, label, depth }) => (
        <div
          key={key}
          title={label}
          className={`truncate pr-2 leading-[22px] ${INDENTS[Math.min(depth, 3)]} ${kind === 'heading' ? 'font-medium' : 'text-xs text-muted'}`}
          style={{ height: ROW }}
        >
          {label}
        </div>
      ))}
    </div>
  );
}

/** The axis, lines between evaluations, and the pauses that are drawn shorter than they were. */
function Ground(props: Rows & { readonly scale: TimeScale; readonly width: number; readonly height: number }) {
  const { rows, firstRow, scale, width, height } = props;
  const yOf = (index: number): number => AXIS + (firstRow + index) * ROW;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
    <g aria-hidden="true" className="fill-muted text-[10px]">
      {scale.ticks.map(({ x, ms }) => (
        <g key={ms}>
          <line x1={x} x2={x} y1={AXIS} y2={height} className="stroke-line" />
          <text x={x + 3} y={13}>
            {ms === 0 ? '0' : duration(ms)}
          </text>
        </g>
      ))}
      {scale.pauses.map(({ x, width: wide, from, to }) => (
        <g key={from}>
          <rect x={x} y={0} width={wide} height={height} className="fill-panel" />
          <text x={x + wide / 2} y={13} textAnchor="middle">
            {`⋯ ${roughly(to - from)}`}
          </text>
        </g>
      ))}
      {rows.map(({ key, kind, evaluation }, index) =>
        kind === 'heading' ? (
          <g key={key}>
            <line x1={0} x2={width + 8} y1={yOf(index)} y2={yOf(index)} className="stroke-line" />
            <text x={Math.min(scale.x(Date.parse(evaluation.from)) + 3, width - 120)} y={yOf(index) + 15}>
              {`${count(evaluation.turns, 'turn')}, ${evaluation.status}`}
            </text>
          </g>
        ) : null,
      )}
    </g>
  );
}

function Hatch({ id }: { readonly id: string }) {
  return (
    <defs>
      <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="6" height="6" className="fill-fails-ground" />
        <rect width="1.5" height="6" className="fill-fails opacity-60" />
      </pattern>
    </defs>
  );
}

/** The colours of a span: of its ground, and of the text on it. */
function toneOf({ span }: PlacedSpan): readonly [bar: string, text: string] {
  switch (span.kind) {
    case 'model':
      return [
        span.outcome === 'interrupted' ? 'fill-accent-ground stroke-fails' : 'fill-accent',
        span.outcome === 'interrupted' ? 'fill-fails' : 'fill-on-accent',
      ];
    case 'tool':
      if (span.outcome === 'failed' || span.outcome === 'interrupted')
        return ['fill-fails-ground stroke-fails', 'fill-fails'];
      return [span.isRecovered ? 'fill-adds-ground stroke-adds' : 'fill-raised stroke-strong-line', 'fill-ink'];
    case 'approval':
      return ['fill-waits-ground stroke-waits', 'fill-waits'];
    case 'suspended':
      return ['fill-waits-ground', 'fill-waits'];
    case 'down':
      return ['', 'fill-fails'];
    case 'summary':
      return ['fill-violet', 'fill-ground'];
    default:
      return span satisfies never;
  }
}

const Bar = memo(
  (props: {
    readonly id: string;
    readonly hatch: string;
    readonly placed: PlacedSpan;
    /** Among all spans: some of them are not drawn. */
    readonly position: number;
    readonly total: number;
    readonly x: number;
    readonly width: number;
    readonly isChosen: boolean;
    readonly label: string;
    readonly onChoose: (key: string) => void;
  }) => {
    const { id, hatch, placed, position, total, x, width, isChosen, label, onChoose } = props;
    const { span, key, row, rows } = placed;
    const [bar, text] = toneOf(placed);
    const isDown = span.kind === 'down';
    const y = AXIS + row * ROW + (isDown ? 1 : (ROW - BAR) / 2);
    const height = isDown ? rows * ROW - 2 : BAR;
    const words = [spanLabel(span), span.kind === 'model' ? String(span.turn) : ''].find(
      (text) => text !== '' && text.length * LETTER + 6 <= width,
    );
    return (
      <g
        id={id}
        role="option"
        aria-selected={isChosen}
        aria-posinset={position}
        aria-setsize={total}
        aria-label={label}
        data-kind={span.kind}
        onClick={() => onChoose(key)}
        className="group/bar"
      >
        <rect
          x={x}
          y={y}
          width={width}
          height={height}
          rx={isDown ? 0 : 2}
          className={`${bar} group-hover/bar:opacity-80`}
          {...(isDown && { fill: `url(#${hatch})` })}
        />
        {span.to === undefined && <rect x={x + width - 3} y={y} width={3} height={height} className="fill-accent" />}
        {isChosen && (
          <rect
            x={x - 2}
            y={y - 2}
            width={width + 4}
            height={height + 4}
            rx={3}
            className="fill-none stroke-ink"
            strokeWidth="1.5"
          />
        )}
        {words !== undefined && (
          <text
            x={x + 3}
            y={isDown ? y + height / 2 + 4 : y + 12}
            className={`pointer-events-none text-[11px] ${isDown ? 'stroke-ground stroke-4 font-medium [paint-order:stroke]' : ''} ${text}`}
          >
            {words}
          </text>
        )}
      </g>
    );
  },
);
