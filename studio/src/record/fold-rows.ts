/** The rows of a request with long runs of one fate folded, so that what changed can be seen. */

import type { RequestRow } from 'holdfast/inspect';
import type { RequestFate } from '../../../src/history/inspect/request-rows.ts';

/** A row, or a run of messages that were all sent as they are recorded, or all left out. */
export type ShownRow =
  | { readonly kind: 'row'; readonly row: RequestRow; readonly index: number }
  | {
      readonly kind: 'run';
      readonly fate: RequestFate;
      readonly count: number;
      /** The position of its first row. */
      readonly from: number;
      readonly tokens: number;
    };

/** Shorter runs are shown, and runs of other fates are never folded: each of their rows differs. */
const MIN_RUN: Partial<Readonly<Record<RequestFate, number>>> = { whole: 4, dropped: 12, summarised: 12 };

/** Folds long runs, except those that a person opened (by the position of their first row). */
export function foldRows(rows: readonly RequestRow[], open: ReadonlySet<number>): readonly ShownRow[] {
  const shown: ShownRow[] = [];
  for (let from = 0; from < rows.length; ) {
    const { fate } = rows[from] as RequestRow;
    let end = from;
    while (rows[end]?.fate === fate) end++;
    const run = rows.slice(from, end);
    if (run.length >= (MIN_RUN[fate] ?? Number.POSITIVE_INFINITY) && !open.has(from)) {
      const tokens = run.reduce((sum, row) => sum + row.recordedTokens, 0);
      shown.push({ kind: 'run', fate, count: run.length, from, tokens });
    } else {
      for (const [i, row] of run.entries()) shown.push({ kind: 'row', row, index: from + i });
    }
    from = end;
  }
  return shown;
}
