/** The suite checks each rule of the store contract: a store that breaks one rule fails it. */
import { expect, test } from 'vitest';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { type ConformanceTest, storeConformance } from '../../src/stores/conformance.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { losable, loseContent } from './support/broken-store-parts.ts';
import { brokenStores } from './support/broken-stores.ts';

/** More turns of the event loop than any case on a memory store needs: a longer wait never ends. */
const TURNS = 5000;

/** The outcome of a case: it passes, fails, or waits for ever. */
async function outcomeOf(run: () => Promise<void>): Promise<'passes' | 'fails' | 'hangs'> {
  let outcome: 'passes' | 'fails' | undefined;
  void run().then(
    () => {
      outcome = 'passes';
    },
    () => {
      outcome = 'fails';
    },
  );
  for (let turn = 0; turn < TURNS && outcome === undefined; turn++)
    await new Promise((resolve) => setImmediate(resolve));
  return outcome ?? 'hangs';
}

/** The suite for memory stores whose contents can be lost. */
function suiteOf(wrap: (store: Store, clock: Clock) => Store): readonly ConformanceTest[] {
  const whole = new WeakMap<Store, Store>();
  return storeConformance({
    async create({ clock }) {
      const store = losable(memoryStore({ clock }));
      const wrapped = wrap(store, clock);
      whole.set(wrapped, store);
      return wrapped;
    },
    async loseContent(store, hash) {
      loseContent(whole.get(store) ?? store, hash);
    },
  });
}

test.for(brokenStores)('the suite detects that $breaks', async ({ noticedBy, wrap }) => {
  const suite = suiteOf((store, clock) => wrap(store, clock));
  const cases = suite.filter(({ name }) => name.includes(noticedBy));
  expect(cases.length, `cases named ${noticedBy}`).toBeGreaterThan(0);
  const outcomes = await Promise.all(cases.map(({ run }) => outcomeOf(run)));
  expect(outcomes.some((outcome) => outcome !== 'passes')).toBe(true);
});

test('a correct store passes all cases that detect the broken ones', async () => {
  const suite = suiteOf((store) => store);
  const cases = suite.filter(({ name }) => brokenStores.some(({ noticedBy }) => name.includes(noticedBy)));
  for (const { name, run } of cases) expect(await outcomeOf(run), name).toBe('passes');
});
