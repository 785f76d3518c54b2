import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Strategy, strategyFromName, strategyManager } from '../../src/history/managers/strategy.ts';

const size = fc.integer({ min: 1, max: 50 });
const step = fc.oneof(
  fc.constant({ manager: 'passthrough' as const }),
  size.map((most) => ({ manager: 'slidingWindow' as const, size: most })),
  fc
    .tuple(size, size)
    .map(([a, b]) => ({ manager: 'slidingWindow' as const, size: Math.max(a, b) + 1, low: Math.min(a, b) })),
  size.map((maxLength) => ({ manager: 'truncateToolResults' as const, maxLength })),
  fc
    .tuple(size, size)
    .map(([a, b]) => ({ manager: 'clearToolResults' as const, size: Math.max(a, b) + 1, low: Math.min(a, b) })),
  size.map((max) => ({ manager: 'tokenBudget' as const, max })),
  fc.tuple(size, size).map(([a, b]) => ({ manager: 'summarize' as const, size: Math.max(a, b), low: Math.min(a, b) })),
);

test('the name of a strategy describes it, as far as numbers do (property)', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
      const { name } = strategyManager({ steps });
      expect(strategyFromName(name)).toEqual({ steps });
    }),
  );
});

test.for([
  'function',
  'pin + sliding-window(3)',
  'sliding-window',
  'sliding-window(x)',
  'sliding-window(3, high 2)',
  '',
  '+',
  '__proto__(1)',
])('the name %j describes no strategy', (name) => {
  expect(strategyFromName(name)).toBeUndefined();
});

test.for<readonly [unknown, RegExp]>([
  [null, /steps/],
  [{}, /steps/],
  [{ steps: [] }, /1 to 8 steps/],
  [{ steps: Array.from({ length: 9 }, () => ({ manager: 'passthrough' })) }, /1 to 8 steps/],
  [{ steps: ['x'] }, /steps\[0\] must be an object/],
  [{ steps: [{ manager: '__proto__' }] }, /steps\[0\]\.manager must be one of/],
  [{ steps: [{ manager: 'keepImportant', size: 1, score: 'x' }] }, /manager must be one of/],
  [{ steps: [{ manager: 'slidingWindow' }] }, /size/],
  [{ steps: [{ manager: 'slidingWindow', size: '3' }] }, /steps\[0\]\.size must be a number/],
  [{ steps: [{ manager: 'slidingWindow', size: 3, low: 9 }] }, /low is 9/],
  [{ steps: [{ manager: 'tokenBudget', max: 10, estimator: 'x' }] }, /no option "estimator"/],
  [{ steps: [{ manager: 'truncateToolResults', suffix: 'x'.repeat(10_001) }] }, /suffix must be text of at most/],
  [{ steps: [{ manager: 'truncateToolResults', tools: 'all' }] }, /tools must be a list/],
  [{ steps: [{ manager: 'passthrough' }], more: 1 }, /no field "more"/],
])('%j is refused with the name of what is wrong (I10)', ([strategy, message]) => {
  expect(() => strategyManager(strategy as Strategy)).toThrow(message);
});
