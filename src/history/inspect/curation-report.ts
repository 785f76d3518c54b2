import type { CurationReplay, ReplayedRequest } from './replay-curation.ts';

/** Replays as text: a line for each strategy, a small chart of its requests, and, if requested, every request. */

/** How much to print. */
export interface CurationReportOptions {
  /** How many columns a chart may take. */
  readonly width?: number;
  /** How many requests to list for each strategy, evenly over the conversation; none by default. */
  readonly rows?: number;
}

/** Strategies side by side: what each sends, and how much of it a prompt cache could hold. */
export function formatReplays(replays: readonly CurationReplay[], options: CurationReportOptions = {}): string {
  const { width = 60, rows = 0 } = options;
  const summary = table(
    ['strategy', 'requests', 'tokens', 'largest', 'cached', 'prefix kept', 'breaks'],
    replays.map(({ strategy, totals }) => [
      strategy,
      String(totals.requests),
      thousands(totals.tokens),
      thousands(totals.largest),
      percent(totals.tokens === 0 ? 0 : totals.cachedTokens / totals.tokens),
      percent(totals.meanPrefixKept),
      String(totals.breaks),
    ]),
  );
  const most = Math.max(0, ...replays.map(({ totals }) => totals.largest));
  const details = replays.flatMap((replay) => ['', ...detail(replay, { width, rows, most })]);
  return [...summary, ...details].join('\n');
}

function detail(
  { strategy, requests }: CurationReplay,
  { width, rows, most }: { readonly width: number; readonly rows: number; readonly most: number },
): readonly string[] {
  const tokens = chart(
    requests.map(({ estimatedTokens }) => (most === 0 ? 0 : estimatedTokens / most)),
    width,
  );
  const kept = chart(
    requests.map(({ prefixKept }) => prefixKept),
    width,
  );
  const lines = [strategy, `  tokens       ${tokens}  ${thousands(most)} at the top`, `  prefix kept  ${kept}`];
  if (rows === 0 || requests.length === 0) return lines;
  const listed = table(['turn', 'messages', 'sent', 'tokens', 'cached', 'kept', ''], sample(requests, rows).map(row));
  return [...lines, ...listed.map((line) => `  ${line}`)];
}

function row(request: ReplayedRequest): readonly string[] {
  const { turn, originalCount, curatedCount, estimatedTokens, cachedTokens, prefixKept, repairs, needs } = request;
  const remarks = [
    ...(repairs.length > 0 ? [`${repairs.length} repaired`] : []),
    ...(needs.length > 0 ? ['wants a summary'] : []),
  ];
  const counts = [turn, originalCount, curatedCount].map(String);
  return [...counts, thousands(estimatedTokens), thousands(cachedTokens), percent(prefixKept), remarks.join(', ')];
}

/** At most `count` of them, the first and the last among them. */
function sample<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  if (count === 1) return items.slice(-1);
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))] as T);
}

const BARS = '▁▂▃▄▅▆▇█';

/** Shares between 0 and 1 as a line of bars; where several fall into one column, their mean. */
function chart(shares: readonly number[], width: number): string {
  const columns = Math.min(width, shares.length);
  return Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * shares.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * shares.length) / columns));
    const mean = shares.slice(from, to).reduce((sum, share) => sum + share, 0) / (to - from);
    return BARS[Math.min(BARS.length - 1, Math.max(0, Math.round(mean * (BARS.length - 1))))];
  }).join('');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(head), ...rows.map(line)];
}

function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
