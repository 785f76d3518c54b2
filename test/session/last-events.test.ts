import { expect, test } from 'vitest';
import { defineSlice } from '../../src/core/fold/slices.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';

/** The last events of a session that closes or is deleted. */

const note = { type: 'note/added' } as const;

test('events that are being appended when a session closes reach its listeners', async () => {
  const inner = memoryStore();
  const gates: PromiseWithResolvers<void>[] = [];
  const store: Store = {
    ...inner,
    async append(...args) {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return inner.append(...args);
    },
  };
  const session = await openSession({ store, id: 'one' });
  const heard: number[] = [];
  const following = (async () => {
    for await (const { seq } of session.events({ live: true })) heard.push(seq);
  })();
  const passing = async (n: number): Promise<void> => {
    while (gates.length < n) await new Promise((resolve) => setImmediate(resolve));
    gates[n - 1]?.resolve();
  };
  const first = session.append([note]);
  while (gates.length < 1) await new Promise((resolve) => setImmediate(resolve));
  const second = session.append([note]);
  const closed = session.close();
  await passing(1);
  await first;
  await passing(2);
  await Promise.all([second, closed, following]);
  expect(heard).toEqual([1, 2]);
});

test('a tail of a deleted session ends with an error', async () => {
  const store = memoryStore();
  const told = Promise.withResolvers<unknown>();
  const session = await openSession({ store, id: 'one', onError: told.resolve });
  await session.append([note]);
  await store.deleteSession('one');
  session.subscribe(() => {}, { from: 1 });
  expect(await told.promise).toMatchObject({ code: 'SESSION_NOT_FOUND' });
});

test("I9: reading one's own writes in a transaction folds each of them once", async () => {
  let folded = 0;
  const count = defineSlice({
    name: 'count',
    initial: [0] as readonly number[],
    on: {
      'count/set': (_: readonly number[], { n }: { readonly n: number }) => {
        folded++;
        return [n];
      },
    },
  });
  const session = await openSession({ store: memoryStore(), id: 'one', slices: [count] });
  await session.transaction(async (tx) => {
    for (let n = 1; n <= 100; n++) {
      await tx.dispatch({ type: 'count/set', n });
      expect(tx.select(count).all()).toEqual([n]);
    }
    expect(folded).toBe(100);
  });
});
