/** The rows of a request with long runs of unchanged messages folded, so that what changed can be seen. */
import type { RequestRow } from 'holdfast/history';

/** A row, or a run of messages that were sent as they are recorded. */
export type ShownRow =
  | { readonly kind: 'row'; readonly row: RequestRow; readonly index: number }
  | { readonly kind: 'run'; readonly rows: readonly RequestRow[]; readonly from: number; readonly tokens: number };

/** Shorter runs are shown. */
const MIN_RUN = 4;

/** Folds runs of whole messages, except those that a person opened (by the position of their first row). */
export function foldRows(rows: readonly RequestRow[], open: ReadonlySet<number>): readonly ShownRow[] {
  const shown: ShownRow[] = [];
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (rows[end]?.fate === 'whole') end++;
    if (end - at >= MIN_RUN && !open.has(at)) {
      const run = rows.slice(at, end);
      shown.push({ kind: 'run', rows: run, from: at, tokens: run.reduce((sum, row) => sum + row.sentTokens, 0) });
      at = end;
      continue;
    }
    for (const last = Math.max(end, at + 1); at < last; at++)
      shown.push({ kind: 'row', row: rows[at] as RequestRow, index: at });
  }
  return shown;
}
