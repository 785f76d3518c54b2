/** Times as positions, with long pauses drawn short. */
import { expect, test } from 'vitest';
import { timeScale } from '../../studio/src/record/time-scale.ts';

const MINUTE = 60_000;

test('without pauses the scale is linear', () => {
  const { x, pauses } = timeScale({ from: 1000, to: 2000 }, [{ from: 1000, to: 2000 }], 500);
  expect(pauses).toEqual([]);
  expect([1000, 1500, 2000].map(x)).toEqual([0, 250, 500]);
});

test('a long pause takes a fixed width, and the work around it the rest', () => {
  const day = 24 * 60 * MINUTE;
  const range = { from: 0, to: 2 * MINUTE + day };
  const { x, pauses } = timeScale(
    range,
    [
      { from: 0, to: MINUTE },
      { from: MINUTE + day, to: range.to },
    ],
    1000,
  );
  expect(pauses).toMatchObject([{ from: MINUTE, to: MINUTE + day }]);
  const [pause] = pauses;
  expect(pause?.x).toBeCloseTo((1000 - 44) / 2);
  expect(pause?.width).toBe(44);
  expect(x(range.to)).toBeCloseTo(1000);
  expect(x(MINUTE + day / 2)).toBeCloseTo(500); // the middle of the pause is the middle of the chart
});

test('many pauses together take at most four tenths of the width', () => {
  const busy = Array.from({ length: 100 }, (_, i) => ({ from: i * 10 * MINUTE, to: i * 10 * MINUTE + 1000 }));
  const { pauses } = timeScale({ from: 0, to: 99 * 10 * MINUTE + 1000 }, busy, 1000);
  expect(pauses).toHaveLength(99);
  expect(pauses.reduce((sum, { width }) => sum + width, 0)).toBeCloseTo(400);
});

test('positions never go back in time, and times outside of the range are at its ends', () => {
  const busy = [
    { from: 5000, to: 6000 },
    { from: 5500, to: 9000 },
    { from: 900_000, to: 901_000 },
  ];
  const { x, ticks } = timeScale({ from: 0, to: 1_000_000 }, busy, 800);
  const positions = Array.from({ length: 200 }, (_, i) => x(i * 5000));
  expect(positions).toEqual([...positions].sort((a, b) => a - b));
  expect(x(-5)).toBe(0);
  expect(x(2_000_000)).toBeCloseTo(800);
  expect(ticks.map((tick) => tick.x)).toEqual(ticks.map((tick) => tick.x).sort((a, b) => a - b));
});

test('a session without any work, and one of no length, have a scale', () => {
  expect(timeScale({ from: 7, to: 7 }, [], 100).x(7)).toBe(0);
  expect(timeScale({ from: 0, to: 10 * MINUTE }, [], 100).x(10 * MINUTE)).toBeLessThanOrEqual(100);
});
