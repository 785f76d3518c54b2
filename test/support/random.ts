/**
 * Random numbers of tests. Every random choice comes from the seed of the run, which is 1 unless `SEED` is given, and every failure names it:
 * `SEED=<number> npm test` repeats the choices. `npm run test:nightly` takes a new seed each time.
 */

/** Random numbers from 0 to 1, the same for the same seed. */
export type Random = () => number;

/** The seed of this run. */
export const SEED: number = readSeed(process.env.SEED);

/**
 * How much of a matrix a run takes: `POINTS=all` takes all of it, a number that many points of each row, and otherwise a spread of the usual size. The seed
 * chooses.
 */
export const POINTS: 'all' | number | undefined = readPoints(process.env.POINTS);

function readPoints(text?: string): 'all' | number | undefined {
  if (text === undefined || text === 'all') return text;
  const points = Number(text);
  if (!Number.isSafeInteger(points) || points < 1)
    throw new Error(`POINTS must be all or a whole number from 1, not "${text}"`);
  return points;
}

function readSeed(text = '1'): number {
  const seed = Number(text);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`SEED must be a whole number from 0, not "${text}"`);
  return seed;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of the nth input of a series: each input has its own, so that one that fails can be repeated alone. */
export function seedOf(series: number, index: number): number {
  return (Math.imul(series, 0x9e3779b1) + index) >>> 0;
}

/** Chooses this many of the items, spread over all of them: one at random from each of as many equal parts. */
export function spread<T>(items: readonly T[], count: number, random: Random): readonly T[] {
  if (count >= items.length) return items;
  const part = items.length / count;
  return Array.from({ length: count }, (_, n) => items[Math.floor((n + random()) * part)] as T);
}
