import { afterEach, expect, test, vi } from 'vitest';
import { HOLDER } from './support/logs.ts';
import { dropSchema, newSchema, openStore } from './support/schemas.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function storeForTest(schema = newSchema()) {
  cleanUps.push(() => dropSchema(schema));
  const store = await openStore({ schema });
  cleanUps.push(() => store.close());
  return store;
}

test('a lease is renewed while the event loop is blocked for longer than it lasts (D76)', async () => {
  const store = await storeForTest();
  expect(store.settings().renewsIn).toBe('thread');
  const ttlMs = 2000;
  const { lease } = await store.acquireLease('s', { holder: HOLDER, ttlMs });
  let lost = 0;
  const keeper = store.keepLease('s', lease.fence, { ttlMs, onLost: () => lost++ });
  // The thread has to start first: it renews after a third of the time.
  while (((await store.readLease('s'))?.renewals ?? 0) === 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * ttlMs);
  expect(keeper.remainingMs()).toBeGreaterThan(0);
  expect(await store.acquireLease('s', { holder: HOLDER, ttlMs })).toMatchObject({
    acquired: false,
    lease: { fence: lease.fence },
  });
  expect(lost).toBe(0);
  keeper.stop();
});

test('machines whose clocks differ by minutes agree on when a lease ends (D76)', async () => {
  const schema = newSchema();
  const [first, second] = [await storeForTest(schema), await storeForTest(schema)];
  const real = Date.now;
  const { lease } = await first.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
  for (const minutes of [-10, 10]) {
    vi.spyOn(Date, 'now').mockImplementation(() => real() + minutes * 60_000);
    expect(await second.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 })).toMatchObject({
      acquired: false,
      lease: { fence: lease.fence },
    });
    expect(await first.renewLease('s', lease.fence, 60_000)).toBe(true);
    vi.restoreAllMocks();
  }
  expect(Math.abs(((await second.readLease('s'))?.expiresAt ?? 0) - real() - 60_000)).toBeLessThan(30_000);
  await first.releaseLease('s', lease.fence);
  const brief = await first.acquireLease('s', { holder: HOLDER, ttlMs: 1 });
  expect(brief.acquired).toBe(true);
  for (;;) {
    const taken = await second.acquireLease('s', { holder: HOLDER, ttlMs: 60_000 });
    if (taken.acquired) break;
  }
});
