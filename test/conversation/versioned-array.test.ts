import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VersionedArray } from '../../src/conversation/versioned-array.ts';

const step = fc.record({
  /** The version to continue from; mostly the newest. */
  back: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(200) }),
  act: fc.constantFrom('push', 'push', 'set', 'set', 'pop', 'read', 'list'),
  index: fc.nat(500),
});

function checkAgainstArrays(steps: readonly { back: number; act: string; index: number }[]): void {
  const versions = [VersionedArray.from<number>([])];
  const models: number[][] = [[]];
  let next = 0;
  for (const { back, act, index } of steps) {
    const from = Math.max(0, versions.length - 1 - back);
    const version = versions[from] ?? VersionedArray.from<number>([]);
    const model = models[from] ?? [];
    if (act === 'read') expect(version.at(index)).toBe(model[index]);
    else if (act === 'list') expect([...version]).toEqual(model);
    else if (act === 'push' || model.length === 0) {
      versions.push(version.push(++next));
      models.push([...model, next]);
    } else if (act === 'pop') {
      versions.push(version.pop());
      models.push(model.slice(0, -1));
    } else {
      versions.push(version.set(index % model.length, ++next));
      models.push(model.with(index % model.length, next));
    }
  }
  for (const [i, version] of versions.entries()) expect(version.toJSON()).toEqual(models[i]);
}

test('every version, read or updated at any time and in any order, has the items it was made with', () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), checkAgainstArrays), { numRuns: 300 });
});

test('a chain of updates longer than the distance between two copies keeps every version', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 3000, maxLength: 3500, size: 'max' }), (steps) => {
      checkAgainstArrays(steps.map((s) => (s.act === 'list' ? { ...s, act: 'read' } : s)));
    }),
    { numRuns: 3 },
  );
});

test('one array is the start of unrelated chains', () => {
  const start = VersionedArray.from<string>([]);
  const lines = ['a', 'b', 'c'].map((name) => start.push(name).push(name));
  expect(lines.map((line) => line.toJSON())).toEqual([
    ['a', 'a'],
    ['b', 'b'],
    ['c', 'c'],
  ]);
  expect(start.toJSON()).toEqual([]);
});

test('an index out of range returns undefined', () => {
  const one = VersionedArray.from(['x']);
  expect([-1, 1, 0.5, Number.NaN].map((index) => one.at(index))).toEqual([undefined, undefined, undefined, undefined]);
});

test('an iteration reads its own version while updates happen', () => {
  let newest = VersionedArray.from(Array.from({ length: 100 }, (_, i) => i));
  const old = newest;
  const seen: number[] = [];
  for (const item of old) {
    for (let i = 0; i < 100; i++) newest = newest.set(i, -1);
    seen.push(item);
  }
  expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i));
});
