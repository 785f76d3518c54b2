/** Opening a session from its log, from a valid snapshot or from an invalid one gives the same state (D6, D17). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnySlice, appendAll, defineSlice } from '../../src/core/fold/slices.ts';
import type { NewEvent } from '../../src/core/log/events.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { arbitraryLog, SLICES } from '../core/arbitraries.ts';
import { foldLog, plain, started, timeOf, user } from '../core/log.ts';
import { expectGapless, logIn } from './log-of.ts';
import { countingStore, STORES, withChanges } from './stores.ts';

const append = (store: Store, events: readonly object[], expectedSeq: number): Promise<{ readonly seq: number }> =>
  store.append('s1', events.map(({ seq: _, ...event }: { seq?: number }) => event) as unknown as NewEvent[], {
    id: `at ${expectedSeq}`,
    expectedSeq,
  });

/** A store with this log and a snapshot of its first `at` events, as a session with these slices would write it. */
async function storeWith(
  log: readonly object[],
  at: number,
  slices: readonly AnySlice[],
  store = memoryStore(),
): Promise<Store> {
  if (at > 0) {
    await append(store, log.slice(0, at), 0);
    await (await openSession({ store, id: 's1', slices })).compact();
  }
  if (log.length > at) await append(store, log.slice(at), at);
  return store;
}

const open = (store: Store, slices: readonly AnySlice[] = SLICES) =>
  openSession({ store, id: 's1', slices, onError: () => {} });

describe.for(STORES)('D6: from a snapshot at any position, on %s', ([kind, create]) => {
  test('the state is that of the whole log', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, fc.nat(), async (log, cut) => {
        const at = cut % (log.length + 1);
        const store = await storeWith(log, at, SLICES, await create());
        expect(plain((await open(store)).state)).toEqual(plain(foldLog(log, SLICES)));
      }),
      { numRuns: kind === 'memory' ? 100 : 10 },
    );
  });
});

describe('D6: a snapshot of other slices', () => {
  const [plan, notes, audit, focus] = SLICES;
  /** The slice with an earlier version of its reducer. */
  const as = (slice: AnySlice, version: number): AnySlice => ({
    ...slice,
    version,
    on: { 'plan/added': (items: readonly unknown[]) => [...items, `by version ${version}`] },
  });

  test.for<readonly [string, readonly AnySlice[]]>([
    ['none of them', []],
    ['some of them', [notes, audit]],
    ['all but one', [plan, notes, focus]],
    ['one in an older version', [as(plan, 0), notes, audit]],
    ['one in a newer version', [plan, as(notes, 2), audit]],
    ['all in other versions', SLICES.map((slice) => as(slice, 7))],
    ['others that this process does not define', [defineSlice({ name: 'foreign', initial: [1], on: {} }), plan]],
    ['one that persists now and did not', [{ ...focus, persist: true }]],
  ])('that contained %s: every slice is folded from the whole log', async ([, before]) => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, fc.nat(), async (log, cut) => {
        const store = await storeWith(log, cut % (log.length + 1), before);
        expect(plain((await open(store)).state)).toEqual(plain(foldLog(log, SLICES)));
      }),
      { numRuns: 30 },
    );
  });

  test('written alternately by programs with different slices, it stays up to date for both', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryLog,
        fc.array(fc.tuple(fc.nat({ max: 20 }), fc.subarray([...SLICES])), { maxLength: 5 }),
        async (log, turns) => {
          const store = memoryStore();
          let at = 0;
          for (const [count, slices] of turns) {
            const next = log.slice(at, at + count);
            if (next.length > 0) await append(store, next, at);
            at += next.length;
            if (at > 0) await (await open(store, slices)).compact();
          }
          expect(plain((await open(store)).state)).toEqual(plain(foldLog(log.slice(0, at), SLICES)));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('slices that this process does not define survive a snapshot that it writes', async () => {
    const foreign = defineSlice({ name: 'foreign', initial: [], on: { 'plan/added': appendAll } });
    const store = await storeWith([{ type: 'plan/added', at: timeOf(1), step: 'a' }], 1, [foreign]);
    const before = JSON.parse((await store.readSnapshot('s1'))?.data ?? '{}');
    const here = await open(store, []);
    await here.append([{ type: 'plan/added', step: 'b' }]);
    expect(here.snapshot().slices.foreign).toEqual(before.slices.foreign);
    await here.compact();
    expect((await open(store, [foreign])).select(foreign).all()).toMatchObject([{ step: 'a' }, { step: 'b' }]);
  });
});

describe('I9: a snapshot bounds the replay', () => {
  const log = Array.from({ length: 200 }, (_, i) => ({ type: 'plan/added', at: timeOf(i), step: String(i) }));

  test.for([0, 1, 150, 199, 200])('after a snapshot at %i only the rest is read', async (at) => {
    const { store, counts } = countingStore(await storeWith(log, at, [SLICES[0]]));
    const session = await open(store, [SLICES[0]]);
    expect(session.seq).toBe(200);
    expect(counts.events).toBe(200 - at);
  });

  test('a slice that is new, or changed, reads the whole log once; the next snapshot contains it', async () => {
    const { store, counts } = countingStore(await storeWith(log, 200, []));
    const session = await open(store, [SLICES[0]]);
    expect(counts.events).toBe(200);
    await session.compact();
    counts.events = 0;
    expect((await open(store, [SLICES[0]])).select(SLICES[0]).all()).toHaveLength(200);
    expect(counts.events).toBe(0);
  });

  test('a snapshot is written after enough events, on closing and on opening', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => ({ type: 'plan/added', at: timeOf(i), step: String(i) }));
    const store = memoryStore();
    await append(store, many.slice(1), 0);
    await (await open(store)).close();
    expect(await store.readSnapshot('s1')).toBeUndefined();
    const session = await open(store);
    await session.dispatch({ type: 'plan/added', step: 'last' });
    await session.close();
    expect((await store.readSnapshot('s1'))?.seq).toBe(10_000);
    await append(store, many, 10_000);
    await open(store);
    expect((await store.readSnapshot('s1'))?.seq).toBe(20_000);
  });
});

describe('D17: a snapshot is optional', () => {
  const log = [
    { ...started(), at: timeOf(1) },
    { ...user('hi', 0), at: timeOf(2) },
    { type: 'plan/added', at: timeOf(3), step: 'a' },
  ];

  async function expectUnharmed(data: (text: string) => string): Promise<void> {
    const store = await storeWith(log, 3, SLICES);
    const text = (await store.readSnapshot('s1'))?.data ?? '';
    const lying = withChanges(store, { readSnapshot: async () => ({ seq: 3, data: data(text) }) });
    const session = await open(lying);
    expect(plain(session.state)).toEqual(plain(foldLog(await logIn(store), SLICES)));
    await session.dispatch({ type: 'plan/added', step: 'b' });
    expectGapless(await logIn(store));
  }

  test('one that was truncated at any length opens the same state', async () => {
    const store = await storeWith(log, 3, SLICES);
    const text = (await store.readSnapshot('s1'))?.data ?? '';
    const expected = plain(foldLog(await logIn(store), SLICES));
    for (let length = 0; length < text.length; length += 7) {
      const data = text.slice(0, length);
      const session = await open(withChanges(store, { readSnapshot: async () => ({ seq: 3, data }) }));
      expect(plain(session.state)).toEqual(expected);
    }
  });

  const changed = (change: (snapshot: Record<string, unknown>) => object) => (text: string) =>
    JSON.stringify(change(JSON.parse(text) as Record<string, unknown>));
  const slicesOf = (snapshot: Record<string, unknown>) => snapshot.slices as Record<string, object>;

  test.for<readonly [string, (text: string) => string]>([
    ['empty', () => ''],
    ['another program’s', () => '{"hello":"world"}'],
    ['of a newer version', changed((snapshot) => ({ ...snapshot, version: 99 }))],
    [
      'of another session',
      changed((snapshot) => ({
        ...snapshot,
        sessionId: 's2',
        slices: { ...slicesOf(snapshot), plan: { version: 1, seq: 3, items: [] } },
      })),
    ],
    ['ahead of its log', changed((snapshot) => ({ ...snapshot, seq: 9 }))],
    [
      'without a part of the conversation',
      changed((snapshot) => ({ ...snapshot, slices: { ...slicesOf(snapshot), messages: undefined } })),
    ],
    [
      'with an older part of the conversation',
      changed((snapshot) => ({
        ...snapshot,
        slices: { ...slicesOf(snapshot), usage: { version: 1, seq: 1, items: [] } },
      })),
    ],
    [
      'with a conversation of another version',
      changed((snapshot) => ({
        ...snapshot,
        slices: { ...slicesOf(snapshot), messages: { version: 9, seq: 3, items: ['?'] } },
      })),
    ],
    [
      'with a damaged message',
      changed((snapshot) => ({
        ...snapshot,
        slices: { ...slicesOf(snapshot), messages: { version: 1, seq: 3, items: [null] } },
      })),
    ],
    [
      'with a damaged summary',
      changed((snapshot) => ({
        ...snapshot,
        slices: { ...slicesOf(snapshot), summaries: { version: 1, seq: 3, items: [null] } },
      })),
    ],
    ['without a description of the session', changed((snapshot) => ({ ...snapshot, summary: undefined }))],
    [
      'nested 100,000 levels deep',
      (text) => text.replace('"items":[', `"items":[${'['.repeat(100_000)}${']'.repeat(100_000)},`),
    ],
  ])('one that is %s opens the same state', async ([, data]) => {
    await expectUnharmed(data);
  });

  test('a store that cannot write a snapshot is reported, and neither opening nor closing fails', async () => {
    const memory = memoryStore();
    await append(
      memory,
      Array.from({ length: 10_000 }, () => ({ type: 'a/a', at: timeOf(1) })),
      0,
    );
    const errors: unknown[] = [];
    const full = new Error('full');
    const store = withChanges(memory, { writeSnapshot: () => Promise.reject(full) });
    const session = await openSession({ store, id: 's1', onError: (error) => errors.push(error) });
    await session.close();
    expect(errors).toEqual([full, full]);
  });

  test('a slice that is not persisted is folded on every opening', async () => {
    const { store, counts } = countingStore(await storeWith(log, 3, SLICES));
    expect((await open(store)).select(SLICES[3]).all()).toMatchObject([{ step: 'a' }]);
    expect(counts.events).toBe(3);
  });
});
