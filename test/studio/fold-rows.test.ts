/** Long runs of rows are folded. */
import { expect, test } from 'vitest';
import type { RequestFate } from '../../src/history/inspect/request-rows.ts';
import type { RequestRow } from '../../src/inspect.ts';
import { foldRows } from '../../studio/src/record/fold-rows.ts';

const rows = (...fates: readonly RequestFate[]): readonly RequestRow[] =>
  fates.map((fate, i) => ({ messageId: `${i}`, role: 'user', fate, recordedTokens: 10, sentTokens: 10 }));
const shape = (fates: readonly RequestFate[], open: readonly number[] = []): readonly string[] =>
  foldRows(rows(...fates), new Set(open)).map((shown) =>
    shown.kind === 'row'
      ? `${shown.index} ${shown.row.fate}`
      : `${shown.from} ${shown.count} × ${shown.fate}, ${shown.tokens}`,
  );

test('four messages that were sent as recorded are one row, three are three', () => {
  expect(shape(['whole', 'whole', 'whole', 'whole', 'dropped', 'whole', 'whole', 'whole'])).toEqual([
    '0 4 × whole, 40',
    '4 dropped',
    '5 whole',
    '6 whole',
    '7 whole',
  ]);
});

test('a run that a person opened is shown row by row', () => {
  expect(shape(['whole', 'whole', 'whole', 'whole'], [0])).toHaveLength(4);
});

test('long runs of dropped and summarised messages are folded, changed messages never', () => {
  const many = (fate: RequestFate): readonly RequestFate[] => Array.from({ length: 12 }, () => fate);
  expect(shape([...many('dropped'), ...many('summarised')])).toEqual([
    '0 12 × dropped, 120',
    '12 12 × summarised, 120',
  ]);
  expect(shape(many('shortened'))).toHaveLength(12);
  expect(shape([])).toEqual([]);
});
