/** Strategies in the address, forks at blocks, and words that differ. */
import { expect, test } from 'vitest';
import type { StrategyStep } from '../../src/history/managers/strategy.ts';
import { strategyManager } from '../../src/history.ts';
import { forkRequest } from '../../studio/src/compare/fork-request.ts';
import { MANAGERS, newStep, parseStrategies, replayQuery, withNumber } from '../../studio/src/compare/strategy-list.ts';
import { wordDifferences } from '../../studio/src/compare/word-differences.ts';

test.for(Object.keys(MANAGERS) as StrategyStep['manager'][])(
  'a new step of %s is one that the server accepts',
  (manager) => {
    expect(() => strategyManager({ steps: [newStep(manager)] })).not.toThrow();
  },
);

test('strategies come back from the query of the route as they went', () => {
  const strategies = [{ steps: [newStep('tokenBudget')] }, { steps: [newStep('passthrough'), newStep('summarize')] }];
  const query = new URLSearchParams(replayQuery(strategies));
  expect(query.getAll('strategy').map((text) => JSON.parse(text))).toEqual(strategies);
  expect(parseStrategies(JSON.stringify(strategies))).toEqual(strategies);
});

test.for([
  null,
  '',
  '{',
  '[]',
  '[null]',
  '[{"steps":[]}]',
  '[{"steps":[{"manager":"toString"}]}]',
  '{"steps":1}',
  '"x"',
])('an address with %s has the strategies to begin with', (text) => {
  expect(parseStrategies(text)).toEqual(parseStrategies(null));
});

test('a number of a step is set and removed', () => {
  const step = withNumber(newStep('slidingWindow'), 'low', 3);
  expect(step).toEqual({ manager: 'slidingWindow', size: 20, low: 3 });
  expect(withNumber(step, 'low', undefined)).toEqual({ manager: 'slidingWindow', size: 20 });
});

test('a message of the user is replaced by a fork, every other block is kept', () => {
  const nothing = { text: ' ', model: '', title: ' ' };
  expect(forkRequest({ id: 'b', type: 'user_message' }, { text: 'Hi', model: ' m ', title: 'T' })).toEqual({
    block: 'b',
    before: true,
    input: 'Hi',
    title: 'T',
    metadata: { model: 'm' },
  });
  expect(forkRequest({ id: 'b', type: 'tool_use' }, nothing)).toEqual({ block: 'b' });
});

test('words that only one text has are marked, and texts with little in common are not compared', () => {
  expect(wordDifferences('a red boat', 'a blue boat')).toEqual({
    left: [
      { text: 'a ', isChanged: false },
      { text: 'red', isChanged: true },
      { text: ' boat', isChanged: false },
    ],
    right: [
      { text: 'a ', isChanged: false },
      { text: 'blue', isChanged: true },
      { text: ' boat', isChanged: false },
    ],
  });
  expect(wordDifferences('one two three', 'something else entirely')).toBeUndefined();
});
