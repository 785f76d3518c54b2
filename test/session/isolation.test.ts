import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { expectGapless, logIn, rejection } from './log-of.ts';
import { countingStore, STORES, slowStore } from './stores.ts';
import { account, withdraw } from './withdraw.ts';

const open = (store = memoryStore()) => openSession({ store, id: 's1', slices: [account] });
const fill = (balance: number) => ({ type: 'balance/set', balance }) as const;

describe.for(STORES)('transactions are isolated, on %s', ([, create]) => {
  test('100 concurrent withdrawals of 1 from 100 leave 0, on one handle', async () => {
    const { store, counts } = countingStore(await create());
    const session = await open(store);
    await session.dispatch(fill(100));
    await Promise.all(Array.from({ length: 100 }, () => withdraw(session)));
    expect(session.select(account).all()).toEqual([0]);
    expect(await logIn(store)).toHaveLength(101);
    expect(counts.appends).toBeLessThan(250); // each body runs about twice
  });

  test('100 concurrent withdrawals of 1 from 100 leave 0, on several handles and beside other appends', async () => {
    const random = randomFrom(SEED);
    const store = slowStore(await create(), () => Math.floor(random() * 3));
    const handles = await Promise.all([open(store), open(store), open(store)]);
    await handles[0]?.dispatch(fill(100));
    await Promise.all([
      ...Array.from({ length: 100 }, (_, i) => withdraw(handles[i % 3] as (typeof handles)[0])),
      ...Array.from({ length: 20 }, (_, n) => handles[n % 3]?.append([{ type: 'note/made', n }])),
    ]);
    for (const handle of handles) {
      await handle.refresh();
      expect(handle.select(account).all()).toEqual([0]);
    }
    expectGapless(await logIn(store));
  });

  test('a body runs again on the newer state when another handle appended meanwhile, and sees no change while it runs', async () => {
    const store = await create();
    const [session, other] = [await open(store), await open(store)];
    await session.dispatch(fill(10));
    const seen: (number | undefined)[] = [];
    await session.transaction(async (tx) => {
      seen.push(tx.select(account).latest());
      if (seen.length === 1) await other.dispatch(fill(5));
      await session.refresh();
      const balance = tx.select(account).latest() ?? 0;
      await tx.dispatch(fill(balance - 1));
    });
    expect(seen).toEqual([10, 5]);
    expect(session.select(account).all()).toEqual([4]);
  });

  test('a body reads events that another handle committed before it started', async () => {
    const store = await create();
    const [session, other] = [await open(store), await open(store)];
    await other.dispatch(fill(1));
    await withdraw(session);
    expect(session.select(account).all()).toEqual([0]);
  });
});

test('two processes that withdraw from one account at once leave 0', { timeout: 60_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-isolation-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'account.db');
  const store = await sqliteStore(path);
  const session = await open(store);
  await session.dispatch(fill(100));
  const children = Array.from({ length: 2 }, () =>
    spawn(process.execPath, [join(import.meta.dirname, 'withdraw.ts'), path, '50'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  for (const child of children) child.stdin.end('go');
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  expect(codes).toEqual([0, 0]);
  await session.refresh();
  expect(session.select(account).all()).toEqual([0]);
  expect(await logIn(store)).toHaveLength(101);
  await store.close();
});

describe('a transaction ends', () => {
  test('with the error of its body: nothing is written, and it does not run again', async () => {
    const session = await open();
    let runs = 0;
    const failure = new Error('no');
    const error = await rejection(
      session.transaction(async (tx) => {
        runs++;
        await tx.dispatch(fill(1));
        await session.append([{ type: 'note/made' }]);
        throw failure;
      }),
    );
    expect(error).toBe(failure);
    expect(runs).toBe(1);
    expect(session.select(account).all()).toEqual([0]);
  });

  test('with SESSION_CONFLICT when its body appends to the session itself, after a few attempts', async () => {
    const session = await open();
    const error = await rejection(
      session.transaction(async (tx) => {
        await session.append([{ type: 'note/made' }]);
        await tx.dispatch(fill(1));
      }),
    );
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', detail: 'sequence' });
    expect(error.message).toContain('dispatch to the transaction');
    expect(session.seq).toBe(2);
  });

  test('with a typed error instead of hanging when it starts inside another one of its session', async () => {
    const session = await open();
    const error = await rejection(session.transaction(() => session.transaction(() => 1)));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    await withdrawable(session);
  });

  test('although an earlier one still runs', async () => {
    const session = await open();
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    const slow = session.transaction(async (tx) => {
      runs++;
      const balance = tx.select(account).latest() ?? 0;
      await gate.promise;
      await tx.dispatch(fill(balance + 1));
    });
    await withdrawable(session);
    gate.resolve();
    await slow;
    expect(session.select(account).all()).toEqual([1]);
    expect(runs).toBe(2);
  });

  test('of another session inside it is independent', async () => {
    const store = memoryStore();
    const session = await open(store);
    const other = await openSession({ store, id: 's2', slices: [account] });
    await session.transaction(async (tx) => {
      await other.transaction((inner) => inner.dispatch(fill(2)));
      await tx.dispatch(fill(1));
    });
    expect([session.select(account).latest(), other.select(account).latest()]).toEqual([1, 2]);
  });
});

/** Deposits one and withdraws it again. */
async function withdrawable(session: Awaited<ReturnType<typeof open>>): Promise<void> {
  await session.transaction((tx) => tx.dispatch(fill(1)));
  await withdraw(session);
  expect(session.select(account).all()).toEqual([0]);
}
