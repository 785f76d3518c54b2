/** One measured number and its limit. Figures are ratios of two values measured in the same run. */
export interface Figure {
  readonly section: string;
  readonly figure: string;
  readonly value: number;
  /** The limit, e.g. `<= 1.3`. Absent: the number is for information. */
  readonly limit?: string;
  readonly holds: boolean;
  /** Details of the number, for the table. */
  readonly note?: string;
}

/** A section of the benchmark: `bench/<name>.ts` exports one as `section`. */
export interface Section {
  readonly name: string;
  readonly about: string;
  run(): AsyncIterable<Figure>;
}

/** A figure that must not exceed `limit`. */
export function atMost(section: string, figure: string, value: number, limit: number, note?: string): Figure {
  return { section, figure, value: round(value), limit: `<= ${limit}`, holds: value <= limit, ...(note && { note }) };
}

/** A figure that must reach `limit`. */
export function atLeast(section: string, figure: string, value: number, limit: number, note?: string): Figure {
  return { section, figure, value: round(value), limit: `>= ${limit}`, holds: value >= limit, ...(note && { note }) };
}

/** A figure without a limit. */
export function info(section: string, figure: string, value: number, note?: string): Figure {
  return { section, figure, value: round(value), holds: true, ...(note && { note }) };
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(4));
}

/** The median of the samples: one slow round does not change it. */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
