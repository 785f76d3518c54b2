import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AskedCalls, inCallOrder, StrayResults } from '../../src/core/fold/asked-calls.ts';
import type { ToolMessage } from '../../src/core/log/messages.ts';
import { callOf, messageOf } from './log.ts';

const asked = (...ids: readonly string[]): AskedCalls<string> => new AskedCalls(ids.map((id) => callOf(id)));

const resultOf = (id: string, text = '', turn = 1): ToolMessage =>
  messageOf('tool', text, 1, { turn, toolCallId: id }) as ToolMessage;

describe('a result belongs to the first call of its id that has none (D11)', () => {
  test.for<[string, string[], string[], (string | undefined)[]]>([
    ['in call order', ['a', 'b'], ['a', 'b'], ['a0', 'b1']],
    ['in another order', ['a', 'b', 'c'], ['c', 'a', 'b'], ['a1', 'b2', 'c0']],
    ['of calls that share an id', ['a', 'b', 'a'], ['a', 'a', 'b'], ['a0', 'b2', 'a1']],
    [
      'of the earlier call, although the next one has its id',
      ['a', 'b', 'a', 'd'],
      ['b', 'd', 'a'],
      ['a2', 'b0', undefined, 'd1'],
    ],
    ['of no call', ['a'], ['x'], []],
    ['a second time', ['a'], ['a', 'a'], ['a0']],
  ])('%s', ([, calls, results, expected]) => {
    const pairs = asked(...calls);
    for (const [i, id] of results.entries()) pairs.addResult(id, `${id}${i}`);
    expect([...pairs.results]).toEqual(expected);
    expect(pairs.resultCount).toBe(expected.filter((result) => result !== undefined).length);
  });

  test('in every order, every call gets a result of its own id, and those of one id in the order in which they came', () => {
    const some = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 });
    fc.assert(
      fc.property(some, some, (calls, results) => {
        const pairs = asked(...calls);
        const places = results.map((id, i) => pairs.addResult(id, `${id}${i}`));
        for (const id of ['a', 'b', 'c']) {
          const own = (list: readonly string[]): readonly number[] => [...list.keys()].filter((i) => list[i] === id);
          const taken = own(results).map((i) => places[i] as number);
          const open = own(calls);
          expect(taken).toEqual(taken.map((_, i) => open[i] ?? -1));
        }
        expect(pairs.missing()).toEqual(pairs.calls.filter((_, i) => !places.includes(i)));
      }),
    );
  });
});

test('a call of an id is known with and without its result', () => {
  const pairs = asked('a');
  expect([pairs.has('a'), pairs.has('b')]).toEqual([true, false]);
  pairs.addResult('a', 'x');
  expect(pairs.has('a')).toBe(true);
});

test('results without a call follow those of the calls', () => {
  const results = ['x', 'b', 'a'].map((id) => resultOf(id));
  const ordered = inCallOrder([callOf('a'), callOf('b')], results);
  expect(ordered.map((message) => message.toolCallId)).toEqual(['a', 'b', 'x']);
});

test('a stray belongs to a call of its evaluation and turn only, and only to one that has no result', () => {
  const strays = new StrayResults();
  strays.add(resultOf('a', 'first'));
  strays.add(resultOf('a', 'of another turn', 2));
  strays.add(resultOf('b', 'second'));
  const pairs = new AskedCalls<ToolMessage>([callOf('a'), callOf('b')]);
  pairs.addResult('b', resultOf('b', 'beside'));
  strays.giveTo({ evaluationId: resultOf('a').evaluationId, turn: 1 }, pairs);
  const texts = (list: readonly ToolMessage[]): readonly unknown[] => list.map(({ content }) => content[0]);
  expect(texts(pairs.inOrder())).toMatchObject([{ text: 'first' }, { text: 'beside' }]);
  expect(texts(strays.left())).toMatchObject([{ text: 'of another turn' }, { text: 'second' }]);
});
