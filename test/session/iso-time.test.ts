import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoTime } from '../../src/session/append/iso-time.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

test('a time is formatted as toISOString does, whatever was formatted before', () => {
  const anyTime = fc.oneof(
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.integer({ min: 1_799_999_999_000, max: 1_800_000_001_000 }),
    fc.double({ min: 0, max: 2e12, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(anyTime), (times) => {
      for (const time of times) expect(isoTime(fakeClock(time))).toBe(new Date(time).toISOString());
    }),
  );
});
