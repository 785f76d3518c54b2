import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyedList } from '../../src/core/keyed-list.ts';

interface Item {
  readonly key: string;
  readonly value: number;
}

const KEYS = ['a', 'b', 'c', 'd', 'e', '__proto__', 'constructor', ''];
const keyOf = (item: Item): string => item.key;
const empty = (): KeyedList<Item> => KeyedList.from<Item>([], keyOf);

const operation = fc.record({
  do: fc.constantFrom('put', 'put', 'put', 'remove'),
  from: fc.nat(),
  key: fc.constantFrom(...KEYS),
});

test('lists that grew from one list have their own keys, as separate Maps would', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
      const versions: { readonly list: KeyedList<Item>; readonly map: ReadonlyMap<string, Item> }[] = [
        { list: empty(), map: new Map() },
      ];
      let value = 0;
      for (const step of operations) {
        const base = versions[step.from % versions.length];
        if (!base) continue;
        const map = new Map(base.map);
        if (step.do === 'remove') {
          map.delete(step.key);
          versions.push({ list: base.list.remove(step.key), map });
        } else {
          const item = { key: step.key, value: ++value };
          versions.push({ list: base.list.put(item), map: map.set(step.key, item) });
        }
      }
      for (const { list, map } of versions) {
        expect([...list]).toEqual([...map.values()]);
        expect(list.length).toBe(map.size);
        for (const key of KEYS) {
          expect(list.get(key)).toBe(map.get(key));
          expect(list.has(key)).toBe(map.has(key));
          expect(list.indexOf(key)).toBe([...map.keys()].indexOf(key));
        }
      }
    }),
  );
});

test('putting the same item, or removing a missing one, returns the same list', () => {
  const item = { key: 'a', value: 1 };
  const list = empty().put(item);
  expect(list.put(item)).toBe(list);
  expect(list.remove('b')).toBe(list);
});

test('of two items with one key the later one replaces the earlier one at its position', () => {
  const list = KeyedList.from(
    [
      { key: 'a', value: 1 },
      { key: 'b', value: 2 },
      { key: 'a', value: 3 },
    ],
    keyOf,
  );
  expect(list.toJSON()).toEqual([
    { key: 'a', value: 3 },
    { key: 'b', value: 2 },
  ]);
});
