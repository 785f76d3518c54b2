/** Which part of a timeline is drawn. */
import { expect, test } from 'vitest';
import type { PlacedSpan } from '../../studio/src/record/gantt-layout.ts';
import { drawnSpans } from '../../studio/src/record/gantt-window.ts';
import { timeScale } from '../../studio/src/record/time-scale.ts';

/** Spans of 1 ms, one after the other, in as many rows as are given. */
function spans(count: number, rows: number): readonly PlacedSpan[] {
  return Array.from({ length: count }, (_, index) => ({
    key: `span ${index}`,
    span: { kind: 'model' } as never,
    evaluation: {} as never,
    row: index % rows,
    rows: 1,
    from: index,
    to: index + 1,
  }));
}

const WHOLE = { firstRow: 0, endRow: 1000, left: 0, right: 1000 };

test('only spans of rows in the window are drawn, and the chosen one', () => {
  const all = spans(1000, 1000);
  const scale = timeScale({ from: 0, to: 1000 }, all, 1000);
  const drawn = drawnSpans(all, scale, { ...WHOLE, firstRow: 10, endRow: 20 }, 'span 900');
  expect(drawn.map(({ index }) => index)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 900]);
});

test('only spans between the sides of the window are drawn', () => {
  const all = spans(100, 1);
  const scale = timeScale({ from: 0, to: 100 }, all, 1000);
  const drawn = drawnSpans(all, scale, { ...WHOLE, left: 300, right: 400 }, '');
  expect(drawn.every(({ x, width }) => x + width >= 300 && x <= 400)).toBe(true);
  expect(drawn.length).toBeGreaterThan(8);
});

test('a row has no more spans than it has pixels, however many there are', () => {
  const all = spans(100_000, 1);
  const scale = timeScale({ from: 0, to: 100_000 }, all, 1000);
  const drawn = drawnSpans(all, scale, WHOLE, '');
  expect(drawn.length).toBeLessThanOrEqual(1000);
  expect(drawn.length).toBeGreaterThan(300);
});
