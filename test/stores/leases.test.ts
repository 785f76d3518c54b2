import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/ports/clock.ts';
import type { LeaseHolder, LeaseKeeper, Store } from '../../src/ports/store.ts';
import { thisProcess } from '../../src/session/process-identity.ts';
import { type SqliteStore, sqliteStore } from '../../src/sqlite.ts';
import { bootId } from '../../src/stores/boot-id.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { systemClock } from '../../src/stores/system-clock.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

/** D76: how leases expire and are renewed. */

const MINUTE = 60_000;
const TTL = 30_000;

function temporaryFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-leases-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'store.db');
}

async function open(path: string, clock?: Clock): Promise<SqliteStore> {
  const store = await sqliteStore(path, { ...(clock && { clock }) });
  onTestFinished(() => store.close());
  return store;
}

/** The system's clock after the time of day was changed. */
function setClock(jump: { ms: number }): Clock {
  return { ...systemClock, now: () => Date.now() + jump.ms };
}

async function acquire(store: Store, holder: LeaseHolder = thisProcess(), ttlMs = TTL): Promise<number> {
  const answer = await store.acquireLease('s', { holder, ttlMs });
  expect(answer.acquired).toBe(true);
  return answer.lease.fence;
}

const stores = [
  {
    name: 'memory',
    async pair(jump: { ms: number }): Promise<readonly [Store, Store]> {
      const store = memoryStore({ clock: setClock(jump) });
      return [store, store];
    },
  },
  {
    name: 'SQLite',
    async pair(jump: { ms: number }): Promise<readonly [Store, Store]> {
      const path = temporaryFile();
      return [await open(path, setClock(jump)), await open(path, setClock(jump))];
    },
  },
];

describe.each(stores)('when the time of day is changed, in the boot of its holder ($name)', ({ pair }) => {
  test.runIf(bootId() !== undefined).each([MINUTE, -MINUTE])(
    'by %i ms, a lease expires as if it had not been',
    async (ms) => {
      const jump = { ms: 0 };
      const [store, another] = await pair(jump);
      await acquire(store);
      jump.ms = ms;
      expect((await another.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(false);
      const { expiresAt } = (await another.readLease('s')) ?? {};
      expect(expiresAt).toBeGreaterThan(Date.now() + ms);
      expect(expiresAt).toBeLessThanOrEqual(Date.now() + ms + TTL);
      await another.append('s', [{ type: 'note/added', at: '2026-01-01T00:00:00.000Z' }], { id: 'a', expectedSeq: 0 });
      const listed = await another.listSessions();
      expect(listed.sessions[0]?.lease?.expiresAt).toBeGreaterThan(Date.now() + ms);
    },
  );

  test('its holder detects a late clock, and renews', async () => {
    const jump = { ms: 0 };
    const [store] = await pair(jump);
    const keeper = store.keepLease('s', await acquire(store), { ttlMs: TTL, onLost: () => {} });
    expect(keeper.remainingMs()).toBeGreaterThan(0);
    jump.ms = MINUTE;
    expect(keeper.remainingMs()).toBeLessThan(0);
    expect(await keeper.renew()).toBe(true);
    expect(keeper.remainingMs()).toBeGreaterThan(0);
    keeper.stop();
  });
});

describe('a SQLite lease whose holder runs in another boot, or in an unknown one', () => {
  const { bootId: _, ...unknown } = thisProcess();
  test.each([
    ['another', { ...thisProcess(), bootId: 'another' }],
    ['not known', unknown],
  ])('is judged by the time of day (%s)', async (_name, holder) => {
    const path = temporaryFile();
    const jump = { ms: 0 };
    const [store, another] = [await open(path, setClock(jump)), await open(path, setClock(jump))];
    await acquire(store, holder);
    expect((await another.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(false);
    jump.ms = MINUTE;
    expect((await another.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(true);
  });
});

test('a store with a custom clock judges leases by that clock alone', async () => {
  const clock = fakeClock();
  const store = await open(temporaryFile(), clock);
  const keeper = store.keepLease('s', await acquire(store), { ttlMs: TTL, onLost: () => {} });
  expect(keeper.remainingMs()).toBe(TTL);
  keeper.stop();
  clock.advance(TTL - 1);
  expect((await store.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(false);
  clock.advance(1);
  expect(keeper.remainingMs()).toBe(0);
  expect((await store.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(true);
});

describe('releasing a lease that names a seq (D61)', () => {
  const made = { memory: async () => memoryStore(), SQLite: () => open(temporaryFile()) };
  test.each(['memory', 'SQLite'] as const)('is rejected when anything was appended since (%s)', async (name) => {
    const store = await made[name]();
    const fence = await acquire(store);
    const note = { type: 'note/added', at: '2026-01-01T00:00:00.000Z' };
    await store.append('s', [note], { id: 'a', expectedSeq: 0, fence });
    await store.append('s', [note], { id: 'b', expectedSeq: 1 });
    expect(await store.releaseLease('s', fence, { seq: 1 })).toBe(false);
    expect((await store.readLease('s'))?.fence).toBe(fence);
    expect(await store.releaseLease('s', fence, { seq: 2 })).toBe(true);
    expect(await store.readLease('s')).toBeUndefined();
  });
});

describe('a memory lease whose renewal is due while the event loop is blocked', () => {
  /** A clock whose timers do not fire, as when the event loop is blocked. */
  function blockedClock() {
    let now = 0;
    return { now: () => now, after: () => () => {}, pass: (ms: number) => (now += ms) };
  }

  test('is not taken over while its process lives', async () => {
    const clock = blockedClock();
    const store = memoryStore({ clock });
    const keeper = store.keepLease('s', await acquire(store), { ttlMs: TTL, onLost: () => {} });
    clock.pass(2 * TTL);
    expect((await store.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(false);
    keeper.stop();
    clock.pass(2 * TTL);
    expect((await store.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(true);
  });

  test('is taken over when the event loop is blocked longer than maxBlockedMs', async () => {
    const clock = blockedClock();
    const store = memoryStore({ clock });
    store.keepLease('s', await acquire(store), { ttlMs: TTL, maxBlockedMs: TTL, onLost: () => {} });
    clock.pass(3 * TTL);
    expect((await store.acquireLease('s', { holder: thisProcess(), ttlMs: TTL })).acquired).toBe(true);
  });
});

const SHORT = 900;
const PATIENCE_MS = 30_000;

/** Blocks the event loop until the condition holds, or a time limit. */
function blockUntil(condition: () => boolean): boolean {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const end = performance.now() + PATIENCE_MS;
  while (!condition() && performance.now() < end) Atomics.wait(cell, 0, 0, 10);
  return condition();
}

describe('the thread that renews the leases of a SQLite store', { timeout: 60_000 }, () => {
  async function keeping(maxBlockedMs?: number) {
    const path = temporaryFile();
    const store = await open(path);
    const lost: string[] = [];
    const fence = await acquire(store, thisProcess(), SHORT);
    const keeper: LeaseKeeper = store.keepLease('s', fence, {
      ttlMs: SHORT,
      onLost: () => lost.push('lost'),
      ...(maxBlockedMs !== undefined && { maxBlockedMs }),
    });
    const database = new Database(path, { readOnly: true, timeoutMs: 5000 });
    onTestFinished(() => database.close());
    const renewals = (): number =>
      database.prepareValue<[], number>('SELECT lease_renewals FROM sessions').get() ?? Number.NaN;
    return { path, store, fence, keeper, lost, renewals };
  }

  test('renews while the event loop is blocked', async () => {
    const { keeper, renewals, store, fence } = await keeping();
    expect(blockUntil(() => renewals() >= 5)).toBe(true);
    expect(keeper.remainingMs()).toBeGreaterThan(0);
    expect((await store.readLease('s'))?.fence).toBe(fence);
    keeper.stop();
  });

  test('stops when the event loop is blocked for longer than maxBlockedMs, and continues afterwards', async () => {
    const { keeper, renewals, store, fence, lost } = await keeping(SHORT / 3);
    expect(blockUntil(() => keeper.remainingMs() < 0)).toBe(true);
    const before = renewals();
    while (renewals() === before) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(keeper.remainingMs()).toBeGreaterThan(0);
    expect((await store.readLease('s'))?.fence).toBe(fence);
    expect(lost).toEqual([]);
  });

  test('notifies the holder when another one has taken the lease over', async () => {
    const { keeper, renewals, store, lost, fence } = await keeping();
    const holder = { ...thisProcess(), id: 'another' };
    for (let taken = false; !taken; ) {
      const replacing = { fence, renewals: renewals() }; // may be outdated by a renewal in between
      taken = (await store.acquireLease('s', { holder, ttlMs: MINUTE, replacing })).acquired;
    }
    while (lost.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(keeper.remainingMs()).toBeLessThan(0);
    expect(await keeper.renew()).toBe(false);
    expect(lost).toEqual(['lost']);
    expect((await store.readLease('s'))?.holder.id).toBe('another');
  });

  test('neither fails nor recreates the file when it is removed', async () => {
    const { path, store, keeper, lost } = await keeping();
    rmSync(path);
    await expect(keeper.renew()).rejects.toMatchObject({ code: 'STORE_REPLACED' });
    await store.close();
    expect(existsSync(path)).toBe(false);
    expect(lost).toEqual([]);
  });

  test.each([
    ['neither closes the store nor releases the lease', ''],
    ['closes the store at once', 'await store.close();'],
    ['may start no threads', ''],
  ])('lets a process end that %s', async (how, last) => {
    const sqlite = join(import.meta.dirname, '../../src/sqlite.ts');
    const program = `
      const { sqliteStore } = await import(${JSON.stringify(sqlite)});
      const store = await sqliteStore(${JSON.stringify(temporaryFile())});
      const holder = { id: 'h', host: 'h', pid: 1, startedAt: '0' };
      const { lease } = await store.acquireLease('s', { holder, ttlMs: 300 });
      store.keepLease('s', lease.fence, { ttlMs: 300, onLost: () => {} });
      while ((await store.readLease('s')).renewals < 2) await new Promise((done) => setTimeout(done, 10));
      ${last}
      console.log('ends');`;
    const flags = how.includes('threads') ? ['--permission', '--allow-fs-read=*', '--allow-fs-write=*'] : [];
    const args = [...flags, '--input-type=module', '-e', program];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(said).toBe('ends\n');
  });
});
