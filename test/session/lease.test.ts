import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { LeaseHolder, Store } from '../../src/ports/store.ts';
import { holdLease } from '../../src/session/lease.ts';
import { isDead, thisProcess } from '../../src/session/process-identity.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { rejection } from './log-of.ts';

const elsewhere: LeaseHolder = { id: 'h', host: 'another-host', pid: 1, startedAt: '0' };

function stage(): { clock: FakeClock; store: Store } {
  const clock = fakeClock();
  return { clock, store: memoryStore({ clock }) };
}

/** A store whose renewals are held back until the process wakes up. */
function sleeping(store: Store): { readonly store: Store; wake(): void } {
  let asleep = true;
  return {
    store: {
      ...store,
      renewLease: (...args) => (asleep ? new Promise(() => {}) : store.renewLease(...args)),
    },
    wake: () => {
      asleep = false;
    },
  };
}

/** Moves the clock and runs the due timers. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  clock.advance(ms);
  for (let turns = 0; turns < 5; turns++) await setImmediate();
}

describe('D51: a lease', () => {
  test('is renewed while it is held', async () => {
    const { clock, store } = stage();
    const lease = await holdLease(store, 's1', { clock, ttlMs: 3000 });
    for (let i = 0; i < 10; i++) await advance(clock, 1000);
    expect((await store.readLease('s1'))?.expiresAt).toBeGreaterThan(clock.now());
    expect(await rejection(holdLease(store, 's1', { clock, ttlMs: 3000 }))).toMatchObject({ code: 'SESSION_BUSY' });
    expect(lease.lost.aborted).toBe(false);
    await lease.release();
    expect(clock.waiting).toBe(0);
  });

  test('that is released can be acquired with a higher fence; releasing twice changes nothing', async () => {
    const { clock, store } = stage();
    const first = await holdLease(store, 's1', { clock });
    await first.release();
    const second = await holdLease(store, 's1', { clock });
    await first.release();
    expect(second.fence).toBeGreaterThan(first.fence);
    expect((await store.readLease('s1'))?.fence).toBe(second.fence);
  });

  test('of a live holder is SESSION_BUSY, with the holder and the expiry', async () => {
    const { clock, store } = stage();
    await store.acquireLease('s1', { holder: elsewhere, ttlMs: 1000 });
    const error = await rejection(holdLease(store, 's1', { clock }));
    expect(error).toMatchObject({ code: 'SESSION_BUSY', data: { holder: elsewhere } });
    expect(error.message).toContain('another-host');
  });

  test('of another holder is taken over when it has expired', async () => {
    const { clock, store } = stage();
    const { lease } = await store.acquireLease('s1', { holder: elsewhere, ttlMs: 1000 });
    await advance(clock, 1001);
    expect((await holdLease(store, 's1', { clock })).fence).toBeGreaterThan(lease.fence);
  });

  test('of a dead process is taken over at once', async () => {
    const { clock, store } = stage();
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    const dead = { ...thisProcess(), pid: child.pid ?? 0, startedAt: '1' };
    const { lease } = await store.acquireLease('s1', { holder: dead, ttlMs: 1e9 });
    expect((await holdLease(store, 's1', { clock })).fence).toBeGreaterThan(lease.fence);
  });

  test('that was taken over notifies its holder, and is not renewed', async () => {
    const { clock, store } = stage();
    const lease = await holdLease(store, 's1', { clock, ttlMs: 3000 });
    await store.acquireLease('s1', { holder: elsewhere, ttlMs: 1e9, replacing: { fence: lease.fence, renewals: 0 } });
    await advance(clock, 1000);
    expect(lease.lost.aborted).toBe(true);
    expect(lease.lost.reason).toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
    expect(clock.waiting).toBe(0);
    await lease.release();
    expect((await store.readLease('s1'))?.holder).toEqual(elsewhere);
  });

  test('is kept while the store is unreachable, and a failed release is not an error', async () => {
    const { clock, store } = stage();
    let reachable = true;
    const flaky: Store = {
      ...store,
      renewLease: (...args) => (reachable ? store.renewLease(...args) : Promise.reject(new Error('unreachable'))),
      releaseLease: (...args) => (reachable ? store.releaseLease(...args) : Promise.reject(new Error('unreachable'))),
    };
    const lease = await holdLease(flaky, 's1', { clock, ttlMs: 3000 });
    reachable = false;
    await advance(clock, 1000);
    reachable = true;
    await advance(clock, 1000);
    expect(lease.lost.aborted).toBe(false);
    expect((await store.readLease('s1'))?.expiresAt).toBe(clock.now() + 3000);
    reachable = false;
    await lease.release();
  });

  test('is renewed right before an effect if a renewal is overdue, and not otherwise', async () => {
    const { clock, store } = stage();
    const asleep = sleeping(store);
    const lease = await holdLease(asleep.store, 's1', { clock, ttlMs: 3000 });
    expect(lease.ensure()).toBeUndefined();
    clock.advance(3001);
    asleep.wake();
    await lease.ensure();
    expect((await store.readLease('s1'))?.expiresAt).toBe(clock.now() + 3000);
    expect(lease.ensure()).toBeUndefined();
  });

  test('that was taken over while its holder slept stops the holder right before its next effect', async () => {
    const { clock, store } = stage();
    const asleep = sleeping(store);
    const lease = await holdLease(asleep.store, 's1', { clock, ttlMs: 3000 });
    clock.advance(3001);
    asleep.wake();
    await store.acquireLease('s1', { holder: elsewhere, ttlMs: 1e9 });
    const error = await rejection(lease.ensure() ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
    expect(lease.lost.aborted).toBe(true);
  });

  test('that is overdue and cannot be renewed stops the holder right before its next effect', async () => {
    const { clock, store } = stage();
    const unreachable = { ...store, renewLease: () => Promise.reject(new Error('unreachable')) };
    const lease = await holdLease(unreachable, 's1', { clock, ttlMs: 3000 });
    clock.advance(3001);
    const error = await rejection(lease.ensure() ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence', cause: { message: 'unreachable' } });
  });

  test('is kept and renewed when its release names a seq that is not the last (D61)', async () => {
    const { clock, store } = stage();
    const lease = await holdLease(store, 's1', { clock, ttlMs: 3000 });
    await store.append('s1', [{ type: 'note/added', at: '2026-01-01T00:00:00.000Z' }], { id: 'a', expectedSeq: 0 });
    expect(await lease.release({ seq: 0 })).toBe(false);
    for (let i = 0; i < 5; i++) await advance(clock, 1000);
    expect((await store.readLease('s1'))?.expiresAt).toBeGreaterThan(clock.now());
    expect(await lease.release({ seq: 1 })).toBe(true);
    expect(await store.readLease('s1')).toBeUndefined();
    expect(clock.waiting).toBe(0);
  });

  test('is gone when it is released during a renewal', async () => {
    const { clock, store } = stage();
    const lease = await holdLease(store, 's1', { clock, ttlMs: 3000 });
    clock.advance(1000);
    await lease.release();
    await advance(clock, 0);
    expect(clock.waiting).toBe(0);
    expect(await store.readLease('s1')).toBeUndefined();
  });
});

describe('D76: waiting for a lease', () => {
  const neighbour: LeaseHolder = { ...thisProcess(), id: 'neighbour' };

  /** Moves the clock until the promise has settled; returns by how much. */
  async function waited(clock: FakeClock, promise: Promise<unknown>): Promise<number> {
    const start = clock.now();
    let settled = false;
    const end = (): void => {
      settled = true;
    };
    promise.then(end, end);
    for (; !settled; await setImmediate()) await advance(clock, 100);
    return clock.now() - start;
  }

  test('a lease that is held is acquired when it is released', async () => {
    const { clock, store } = stage();
    const { lease } = await store.acquireLease('s1', { holder: neighbour, ttlMs: 1e9 });
    const waiting = holdLease(store, 's1', { clock, waitMs: 1e6 });
    await advance(clock, 5000);
    await store.releaseLease('s1', lease.fence);
    await waited(clock, waiting);
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  test('a lease that stays held is SESSION_BUSY after the time limit or when the signal aborts', async () => {
    const { clock, store } = stage();
    await store.acquireLease('s1', { holder: neighbour, ttlMs: 1e9 });
    const late = holdLease(store, 's1', { clock, waitMs: 1000 });
    expect(await waited(clock, late)).toBeGreaterThanOrEqual(1000);
    expect(await rejection(late)).toMatchObject({ code: 'SESSION_BUSY', data: { holder: neighbour } });
    const controller = new AbortController();
    const cancelled = holdLease(store, 's1', { clock, waitMs: 1e6, signal: controller.signal });
    await advance(clock, 1000);
    controller.abort();
    expect(await rejection(cancelled)).toMatchObject({ code: 'SESSION_BUSY' });
    expect(clock.waiting).toBe(0);
  });

  test('a lease that expired by a clock of another machine is watched for its ttl before it is taken', async () => {
    const { clock, store } = stage();
    const { lease } = await store.acquireLease('s1', { holder: elsewhere, ttlMs: 1000 });
    await advance(clock, 1001);
    const waiting = holdLease(store, 's1', { clock, ttlMs: 3000, waitMs: 1e6 });
    await advance(clock, 2000);
    await store.renewLease('s1', lease.fence, 1); // its holder is alive
    expect(await waited(clock, waiting)).toBeGreaterThanOrEqual(3000);
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  test('a lease that expired by the clock of this boot is taken at once', async () => {
    const { clock, store } = stage();
    await store.acquireLease('s1', { holder: neighbour, ttlMs: 1000 });
    await advance(clock, 1001);
    const before = clock.now();
    await holdLease(store, 's1', { clock, ttlMs: 3000, waitMs: 1e6 });
    expect(clock.now()).toBe(before);
  });
});

describe('whether a process is dead', () => {
  test('this one is not, and each holder has an id of its own', () => {
    expect(isDead(thisProcess())).toBe(false);
    expect(thisProcess().id).not.toBe(thisProcess().id);
  });

  test('a process on another host may be alive', () => {
    expect(isDead({ ...thisProcess(), host: 'another-host', pid: 2 ** 30 })).toBe(false);
  });

  test.skipIf(process.platform !== 'linux')('a pid that was reused by another process is', () => {
    expect(isDead({ ...thisProcess(), startedAt: '1' })).toBe(true);
    expect(isDead({ ...thisProcess(), startedAt: 'unknown' })).toBe(false);
  });
});
