import { type KeyboardEvent, memo, useId } from 'react';
import type { RequestPoint } from '../../../src/history/inspect/request-series.ts';
import { compact } from '../ui/format.ts';
import { useWidth } from '../ui/use-width.ts';
import { cacheVerdict, percent, tokens } from './cache-sentence.ts';

const HEIGHT = 116;
const STRIP = 22;
const GAP = 8;
const TOTAL = HEIGHT + GAP + STRIP + 16;
const AXIS = 40;
const MAX_BAR = 26;

/**
 * The tokens of each request, and below it how much of the request before is still its beginning. A list of choices for the keyboard and for
 * screen readers: the arrow keys choose a request.
 */
export function RequestChart(props: {
  readonly requests: readonly RequestPoint[];
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
}) {
  const { requests, chosen, onChoose } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  const id = useId();
  const most = Math.max(1, ...requests.map(({ estimatedTokens }) => estimatedTokens));
  const slot = Math.max(2, (width - AXIS) / Math.max(1, requests.length));
  const scale = (value: number): number => (value / most) * (HEIGHT - 8);
  const choose = (event: KeyboardEvent): void => {
    const next = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: requests.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(Math.min(Math.max(next, 0), requests.length - 1));
  };
  const every = Math.ceil(28 / slot);
  return (
    <div ref={box} className="overflow-x-auto">
      {width > 0 && (
        <svg
          width={AXIS + slot * requests.length}
          height={TOTAL}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its options are shapes
          role="listbox"
          tabIndex={0}
          aria-label="Requests, oldest first"
          aria-orientation="horizontal"
          aria-activedescendant={`${id}-${chosen}`}
          onKeyDown={choose}
          className="block rounded"
        >
          <Axis most={most} scale={scale} width={width} />
          {requests.map((request, index) => (
            <Bar
              key={`${request.evaluationId} ${request.turn}`}
              id={`${id}-${index}`}
              request={request}
              label={optionLabel(request, index)}
              x={AXIS + index * slot}
              slot={slot}
              scale={most}
              isChosen={index === chosen}
              isStart={index > 0 && requests[index - 1]?.evaluationId !== request.evaluationId}
              isNumbered={index % every === 0}
              index={index}
              onChoose={onChoose}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

function Axis({
  most,
  scale,
  width,
}: {
  readonly most: number;
  readonly scale: (value: number) => number;
  readonly width: number;
}) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
    <g aria-hidden="true" className="fill-muted text-[10px]">
      {[most, most / 2, 0].map((value) => {
        const y = HEIGHT - scale(value);
        return (
          <g key={value}>
            <line
              x1={AXIS}
              x2={width}
              y1={y}
              y2={y}
              className="stroke-line"
              strokeDasharray={value === 0 ? undefined : '2 3'}
            />
            <text x={AXIS - 6} y={y + 3} textAnchor="end">
              {compact(Math.round(value))}
            </text>
          </g>
        );
      })}
      <text x={AXIS - 6} y={HEIGHT + GAP + STRIP / 2 + 3} textAnchor="end">
        same
      </text>
    </g>
  );
}

/** One request: the shared beginning, what is new, and the strip of what was lost. */
const Bar = memo(
  (props: {
    readonly id: string;
    readonly request: RequestPoint;
    readonly label: string;
    readonly x: number;
    readonly slot: number;
    readonly scale: number;
    readonly isChosen: boolean;
    readonly isStart: boolean;
    readonly isNumbered: boolean;
    readonly index: number;
    readonly onChoose: (index: number) => void;
  }) => {
    const { id, request, label, x, slot, scale, isChosen, isStart, isNumbered, index, onChoose } = props;
    const { estimatedTokens, cache, turn } = request;
    const height = (estimatedTokens / scale) * (HEIGHT - 8);
    const shared = Math.min(height, ((cache.comparison?.sharedTokens ?? 0) / scale) * (HEIGHT - 8));
    const bar = Math.max(1, Math.min(MAX_BAR, slot - (slot > 6 ? 3 : slot > 3 ? 1 : 0)));
    const left = x + (slot - bar) / 2;
    const stability = cache.comparison?.stability ?? (cache.cause === 'first' ? undefined : 1);
    const strip = HEIGHT + GAP;
    return (
      <g
        id={id}
        role="option"
        aria-selected={isChosen}
        aria-label={label}
        onClick={() => onChoose(index)}
        className="group/bar"
      >
        <rect
          x={x}
          y={0}
          width={slot}
          height={TOTAL}
          className={isChosen ? 'fill-raised' : 'fill-transparent group-hover/bar:fill-panel'}
        />
        {isStart && <line x1={x} x2={x} y1={0} y2={strip + STRIP} className="stroke-strong-line" />}
        <rect x={left} y={HEIGHT - height} width={bar} height={height} className="fill-accent opacity-35" />
        <rect x={left} y={HEIGHT - shared} width={bar} height={shared} className="fill-accent" />
        {stability !== undefined && (
          <>
            <rect x={left} y={strip} width={bar} height={STRIP * (1 - stability)} className="fill-fails" />
            <rect
              x={left}
              y={strip + STRIP * (1 - stability)}
              width={bar}
              height={STRIP * stability}
              className="fill-strong-line"
            />
          </>
        )}
        {isNumbered && (
          <text
            x={x + slot / 2}
            y={TOTAL - 3}
            textAnchor="middle"
            className={`text-[10px] ${isChosen ? 'fill-ink' : 'fill-muted'}`}
          >
            {turn}
          </text>
        )}
      </g>
    );
  },
);

const VERDICTS = { used: 'cache used', missed: 'cache missed', open: 'cache not known' } as const;

function optionLabel({ turn, estimatedTokens, cache }: RequestPoint, index: number): string {
  const { comparison, manager } = cache;
  const same = comparison ? `, ${percent(comparison.stability)} of the request before unchanged` : '';
  const by = manager === undefined ? '' : ` by ${manager}`;
  return `Request ${index + 1}, turn ${turn}: ${tokens(estimatedTokens)} tokens${same}, ${VERDICTS[cacheVerdict(cache)]}${by}`;
}

/** What the colours mean. */
export function ChartLegend() {
  return (
    <p className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted" aria-hidden="true">
      <Sample className="bg-accent">same beginning as the request before</Sample>
      <Sample className="bg-accent opacity-35">new in this request</Sample>
      <Sample className="bg-strong-line">kept of the request before</Sample>
      <Sample className="bg-fails">lost for the cache</Sample>
    </p>
  );
}

function Sample({ className, children }: { readonly className: string; readonly children: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span className={`size-2 rounded-xs ${className}`} /> {children}
    </span>
  );
}
