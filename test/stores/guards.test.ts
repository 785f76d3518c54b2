/** The suite checks each rule of the store contract: a store that breaks one rule fails it. */
import { expect, test } from 'vitest';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { type ConformanceTest, storeConformance } from '../../src/stores/conformance.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { damageable, loseContent, makeUnreachable, replacing } from './support/broken-store-parts.ts';
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

/** The suite for memory stores that can be damaged. */
function suiteOf(wrap: (store: Store, clock: Clock) => Store): readonly ConformanceTest[] {
  const whole = new WeakMap<Store, Store>();
  return storeConformance({
    async create({ clock }) {
      const store = damageable(memoryStore({ clock }));
      const wrapped = wrap(store, clock);
      whole.set(wrapped, store);
      return wrapped;
    },
    async loseContent(store, hash) {
      loseContent(whole.get(store) ?? store, hash);
    },
    async makeUnreachable(store) {
      makeUnreachable(whole.get(store) ?? store);
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

/** A runner's context, and the reasons that it was given. */
function skips(): { readonly reasons: string[]; skip(reason?: string): void } {
  const reasons: string[] = [];
  return { reasons, skip: (reason = '') => reasons.push(reason) };
}

test('a rule about an option that the suite was not given is skipped, and creates no store', async () => {
  const create = () => Promise.reject(new Error('a store was created'));
  const suite = storeConformance({ create }).filter(({ skipped }) => skipped !== undefined);
  expect(new Set(suite.map(({ skipped }) => skipped))).toEqual(
    new Set(['reopen', 'loseContent', 'makeUnreachable'].map((name) => `the suite was given no \`${name}\``)),
  );
  const context = skips();
  for (const { run } of suite) await run(context);
  expect(context.reasons).toEqual(suite.map(({ skipped }) => skipped));
});

test('a rule about a method that the store lacks is reported as skipped when it has run', async () => {
  const without = suiteOf((store) => replacing(store, { search: undefined, watchWork: undefined }));
  const context = skips();
  for (const { run } of without) await run(context);
  const reasons = new Set(without.map(({ skipped }) => skipped));
  expect(reasons).toContain('the store has no `search`');
  expect(reasons).toContain('the store has no `watchWork`');
  expect(context.reasons).toEqual(without.map(({ skipped }) => skipped).filter((reason) => reason !== undefined));
  expect(without.filter(({ skipped }) => skipped === undefined).length).toBeGreaterThan(90);
});

test('runners that count parameters do not wait for a callback', () => {
  expect(new Set(suiteOf((store) => store).map(({ run }) => run.length))).toEqual(new Set([0]));
});
