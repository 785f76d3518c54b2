import { compact } from '../ui/format.ts';
import { useWidth } from '../ui/use-width.ts';

/** One line of the chart. */
export interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

const HEIGHT = 170;
const AXIS = 40;
/** Each line has a colour and a pattern, so that they differ without colours too. The first is what was sent. */
export const LINES: readonly (readonly [stroke: string, dash: string | undefined, width: number])[] = [
  ['stroke-ink', undefined, 2],
  ['stroke-accent', undefined, 1.5],
  ['stroke-blue', '6 3', 1.5],
  ['stroke-violet', '2 3', 1.5],
  ['stroke-waits', '8 2 2 2', 1.5],
  ['stroke-fails', '1 2', 1.5],
];

/** Tokens per request of several strategies. The table beside it says the same to screen readers. */
export function SeriesChart({ series }: { readonly series: readonly Series[] }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const most = Math.max(1, ...series.flatMap(({ values }) => values));
  const length = Math.max(1, ...series.map(({ values }) => values.length));
  const x = (index: number): number => AXIS + 6 + (length === 1 ? 0 : (index / (length - 1)) * (width - AXIS - 12));
  const y = (value: number): number => HEIGHT - 18 - (value / most) * (HEIGHT - 28);
  const every = Math.max(1, Math.ceil((length * 32) / Math.max(1, width)));
  return (
    <div ref={box} className="min-w-0">
      {width > 0 && (
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`Tokens per request of ${series.map(({ name }) => name).join(', ')}`}
          className="block"
        >
          <g className="fill-muted text-[10px]">
            {[most, most / 2, 0].map((value) => (
              <g key={value}>
                <line
                  x1={AXIS}
                  x2={width}
                  y1={y(value)}
                  y2={y(value)}
                  className="stroke-line"
                  strokeDasharray={value === 0 ? undefined : '2 3'}
                />
                <text x={AXIS - 6} y={y(value) + 3} textAnchor="end">
                  {compact(Math.round(value))}
                </text>
              </g>
            ))}
            {Array.from({ length }, (_, index) =>
              index % every === 0 ? (
                <text key={index} x={x(index)} y={HEIGHT - 4} textAnchor="middle">
                  {index + 1}
                </text>
              ) : null,
            )}
          </g>
          {series
            .map(({ name, values }, index) => {
              const [stroke, dash, line] = LINES[index] ?? ['stroke-muted', undefined, 1];
              const points = values.map((value, at) => `${x(at)},${y(value)}`).join(' ');
              return (
                <polyline
                  key={`${index} ${name}`}
                  points={points}
                  fill="none"
                  strokeWidth={line}
                  strokeDasharray={dash}
                  strokeLinejoin="round"
                  className={stroke}
                />
              );
            })
            .reverse()}
        </svg>
      )}
    </div>
  );
}

/** The pattern of a line, beside its name. */
export function LineSample({ index }: { readonly index: number }) {
  const [stroke, dash, width] = LINES[index] ?? ['stroke-muted', undefined, 1];
  return (
    <svg aria-hidden="true" width="24" height="8" className="inline-block shrink-0">
      <line x1="0" x2="24" y1="4" y2="4" strokeWidth={width} strokeDasharray={dash} className={stroke} />
    </svg>
  );
}
