import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  appendAll,
  defineSlice,
  reduceSlice,
  replaceLatest,
  type SliceItems,
  type SliceReducer,
  upsertBy,
} from '../../src/core/fold/slices.ts';
import { List } from '../../src/core/list.ts';
import type { UserEvent } from '../../src/core/log/events.ts';
import {
  adapterStates,
  evaluations,
  itemsOf,
  messages,
  selectionOf,
  toolStarts,
  usage,
} from '../../src/core/views/session-view.ts';
import { foldLog, logOf, started, timeOf, toolStarted, user } from './log.ts';

describe('defineSlice', () => {
  test('has defaults: version 1, rolls back, persists (D5)', () => {
    expect(defineSlice({ name: 'plan', initial: [], on: {} })).toEqual({
      name: 'plan',
      initial: [],
      on: {},
      version: 1,
      rollback: true,
      persist: true,
    });
  });

  test.for([
    'messages',
    'evaluations',
    'toolStarts',
    'adapterStates',
    'usage',
    'summaries',
    '__proto__',
    'constructor',
    '',
    ' ',
    'two words',
    '1st',
    'a/b',
    'ä',
    '-a',
  ])('"%s" is not a valid name', (name) => {
    expect(() => defineSlice({ name, initial: [], on: {} })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  test.for([1.5, -1, Number.NaN, '2' as unknown as number])('%s is not a valid version', (version) => {
    expect(() => defineSlice({ name: 'plan', initial: [], on: {}, version })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  test.for([
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
    Symbol('a'),
    () => 1,
    new Map(),
    new Set(),
    Promise.resolve([]),
  ])('the initial value must be a JSON value: %s is rejected', (initial) => {
    expect(() => defineSlice({ name: 'plan', initial, on: {} })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('a JSON value') }),
    );
  });

  test('a slice that starts with an array is a list, one that starts with any other JSON value is a value', () => {
    const on = {};
    for (const initial of [[], ['a']]) expect(defineSlice({ name: 'a', initial, on }).holds).toBeUndefined();
    for (const initial of [null, 0, '', false, {}, { list: [] }])
      expect(defineSlice({ name: 'a', initial, on })).toMatchObject({ holds: 'value', initial });
  });
});

describe('ready-made reducers', () => {
  const event = (seq: number, id: number): UserEvent => ({
    seq,
    at: timeOf(seq),
    type: 'a/b' as UserEvent['type'],
    id,
  });

  test.for([
    ['appendAll', appendAll, (items: readonly UserEvent[], item: UserEvent) => [...items, item]],
    ['replaceLatest', replaceLatest, (_: readonly UserEvent[], item: UserEvent) => [item]],
    [
      'upsertBy',
      upsertBy<UserEvent>((item) => item.id as number),
      (items: readonly UserEvent[], item: UserEvent) =>
        items.some((one) => one.id === item.id)
          ? items.map((one) => (one.id === item.id ? item : one))
          : [...items, item],
    ],
  ] as const)('%s returns what a plain reducer would, for any items', ([, reducer, model]) => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 6 }), { maxLength: 80 }), (ids) => {
        let items: SliceItems = [];
        let direct: readonly UserEvent[] = [];
        let expected: readonly UserEvent[] = [];
        for (const [i, id] of ids.entries()) {
          items = reduceSlice(reducer as SliceReducer<unknown>, items, event(i, id));
          direct = reducer(direct, event(i, id)) as readonly UserEvent[];
          expected = model(expected, event(i, id));
        }
        expect(items instanceof List ? items.toArray() : items).toEqual(expected);
        expect(direct).toEqual(expected);
      }),
    );
  });

  test('I9: appending does not copy the existing items', () => {
    let items: SliceItems = [];
    for (let i = 0; i < 100; i++) items = reduceSlice(appendAll, items, event(i, i));
    expect(items).toBeInstanceOf(List);
  });
});

describe('selecting', () => {
  const state = foldLog(logOf(started(), user('hi', 0), toolStarted('a', 'once')));

  test.for([
    [messages, 1],
    [evaluations, 1],
    [toolStarts, 1],
    [adapterStates, 0],
    [usage, 0],
  ] as const)('the built-in slice $0.name always exists', ([slice, count]) => {
    expect(itemsOf(state, slice.name)).toHaveLength(count);
  });

  test.for(['missing', '__proto__', 'constructor', 'toString'])('a slice called %s does not exist', (name) => {
    expect(itemsOf(state, name)).toBeUndefined();
  });

  test('all, latest and where return the items at the time of the selection', () => {
    const selection = selectionOf([1, 2, 3]);
    expect(selection.all()).toEqual([1, 2, 3]);
    expect(selection.latest()).toBe(3);
    expect(selection.where((item) => item > 1)).toEqual([2, 3]);
    expect(selectionOf([]).latest()).toBeUndefined();
  });
});
