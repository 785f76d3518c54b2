import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { List } from '../../src/core/list.ts';

/** Sizes at which the shape of the tree changes: 32 wide, two levels at 1,056, three at 32,800. */
const SIZES = [0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1055, 1056, 1057, 2048, 32_768, 32_800, 32_801, 33_900];

const range = (length: number): number[] => Array.from({ length }, (_, i) => i);

describe('a List behaves like an immutable array', () => {
  test.for(SIZES)('%i items are returned in order, each at its index', (length) => {
    const list = List.from(range(length));
    expect(list.length).toBe(length);
    expect(list.toArray()).toEqual(range(length));
    expect([...list]).toEqual(range(length));
    for (const i of [0, 1, 31, 32, 1023, 1024, length - 2, length - 1]) expect(list.at(i)).toBe(range(length).at(i));
    expect(list.at(length)).toBeUndefined();
    expect(list.at(-1)).toBe(length > 0 ? length - 1 : undefined);
    expect(list.at(-length - 1)).toBeUndefined();
  });

  test.for(SIZES.filter((length) => length > 0))('set replaces any of %i items, and only that one', (length) => {
    const list = List.from(range(length));
    for (const i of [0, Math.floor(length / 2), length - 1]) {
      const changed = list.set(i, -1);
      expect(changed.toArray()).toEqual(range(length).with(i, -1));
      expect(list.at(i)).toBe(i);
    }
  });

  test('setting the same item, or an index out of range, returns the same list', () => {
    const list = List.from(['a', 'b']);
    expect(list.set(1, 'b')).toBe(list);
    expect(list.set(2, 'c')).toBe(list);
    expect(list.set(-1, 'c')).toBe(list);
    expect(list.set(Number.NaN, 'c')).toBe(list);
  });

  test('toArray returns the same frozen array each time, and JSON a copy', () => {
    const list = List.from([1, 2]);
    expect(list.toArray()).toBe(list.toArray());
    expect(list.toJSON()).not.toBe(list.toArray());
    expect(JSON.stringify({ list })).toBe('{"list":[1,2]}');
  });
});

/** Lists grown from each other in any way, each with the array that it should equal. */
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('push' as const), from: fc.nat(), times: fc.integer({ min: 1, max: 80 }) }),
  },
  fc.record({ do: fc.constant('set' as const), from: fc.nat(), index: fc.nat() }),
);

test("lists that grew from one list never contain each other's items", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 25 }), (operations) => {
      const versions: { readonly list: List<number>; readonly array: readonly number[] }[] = [
        { list: List.empty<number>(), array: [] },
      ];
      let next = 0;
      for (const step of operations) {
        const base = versions[step.from % versions.length];
        if (!base) continue;
        if (step.do === 'set') {
          if (base.array.length === 0) continue;
          const index = step.index % base.array.length;
          versions.push({ list: base.list.set(index, ++next), array: base.array.with(index, next) });
          continue;
        }
        let { list, array } = base;
        for (let i = 0; i < step.times; i++) {
          list = list.push(++next);
          array = [...array, next];
        }
        versions.push({ list, array });
      }
      for (const { list, array } of versions) {
        expect(list.length).toBe(array.length);
        expect(list.toArray()).toEqual(array);
        expect([...list]).toEqual(array);
      }
    }),
  );
});

test("at, slice, map, filter and find return the same as an array's", () => {
  const edge = fc.integer({ min: -120, max: 120 });
  fc.assert(
    fc.property(fc.nat({ max: 100 }), edge, fc.option(edge, { nil: undefined }), (length, a, b) => {
      const list = List.from(range(length));
      const array = range(length);
      expect(list.at(a)).toBe(array.at(a));
      expect(list.slice(a, b)).toEqual(array.slice(a, b));
      expect(list.map((item, i) => item * i)).toEqual(array.map((item, i) => item * i));
      expect(list.filter((item, i) => (item + i) % 3 === 0)).toEqual(array.filter((item, i) => (item + i) % 3 === 0));
      expect(list.find((item) => item > a)).toBe(array.find((item) => item > a));
    }),
  );
});

test('a list can be iterated while it is being grown', () => {
  const seen: number[] = [];
  let list = List.from(range(40));
  for (const item of list) {
    list = list.push(item + 40);
    seen.push(item);
  }
  expect(seen).toEqual(range(40));
  expect(list.toArray()).toEqual(range(80));
});
