import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainCopy } from '../../src/session/append/plain-copy.ts';

const anything = fc.anything({
  withDate: true,
  withMap: true,
  withSet: true,
  withBoxedValues: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
});

test('a lenient copy equals the value after JSON, for any value', () => {
  fc.assert(
    fc.property(anything, (value) => {
      const text = JSON.stringify(value) as string | undefined;
      const copied = plainCopy(value, { lenient: true });
      expect(copied.value).toStrictEqual(text === undefined ? undefined : JSON.parse(text));
      // The counted length is never less than the real one.
      expect(text?.length ?? 0).toBeLessThanOrEqual(copied.characters * 6);
    }),
    { numRuns: 2000 },
  );
});

test('a copy equals the value after JSON if JSON can represent it; any other value is rejected', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), anything), (value) => {
      let copied: unknown;
      try {
        copied = plainCopy(value).value;
      } catch (error) {
        expect(error).toMatchObject({ code: 'EVENT_INVALID', message: expect.stringContaining('JSON cannot carry') });
        expect(isDeepStrictEqual(value, asJson(value))).toBe(false);
        return;
      }
      expect(copied).toStrictEqual(asJson(value));
    }),
    { numRuns: 2000 },
  );
});

function asJson(value: unknown): unknown {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : JSON.parse(text);
}

test('a copy shares no mutable data with the value', () => {
  const value = { list: [{ text: 'a' }], when: new Date(0) };
  const copied = plainCopy(value).value as typeof value;
  expect(copied).not.toBe(value);
  expect(copied.list).not.toBe(value.list);
  expect(copied.list[0]).not.toBe(value.list[0]);
});

test('__proto__ stays a field and does not change a prototype', () => {
  const copied = plainCopy(JSON.parse('{"__proto__":{"polluted":true}}')).value as object;
  expect(Object.getPrototypeOf(copied)).toBe(Object.prototype);
  expect(Object.keys(copied)).toEqual(['__proto__']);
  expect((copied as { polluted?: boolean }).polluted).toBeUndefined();
});

const nested = (levels: number): unknown => {
  let value: unknown = 'x';
  for (let i = 0; i < levels; i++) value = { inner: value };
  return value;
};
const circle: { self?: unknown; other?: unknown } = {};
circle.self = circle;
circle.other = circle;

test.for<readonly [string, unknown]>([
  ['nested too deep', nested(101)],
  ['nested 100,000 levels deep', nested(100_000)],
  ['in a circle, twice over', circle],
  ['a bigint', { n: 1n }],
])('I10: %s is rejected', ([, value]) => {
  expect(() => plainCopy(value)).toThrow(expect.objectContaining({ code: 'EVENT_INVALID' }));
});

test('the maximum depth is accepted', () => {
  expect(plainCopy(nested(100)).value).toEqual(nested(100));
});
