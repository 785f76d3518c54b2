/** An append need not read its session while nothing but appends of this process changed it. These are the changes that it must see. */
import { describe, expect, test } from 'vitest';
import type { LeaseHolder, Store } from '../../src/ports/store.ts';
import * as temporary from './support/temporary.ts';

const { note, temporaryDatabase } = temporary;
/** Indexing would be a transaction between two appends. */
const openStore = (path: string): Promise<Store> => temporary.openStore(path, { backgroundIndexing: false });

const holder = (id: string): LeaseHolder => ({ id, host: 'host', pid: 1, startedAt: '0' });

let count = 0;
function append(store: Store, expectedSeq: number, fence?: number): Promise<{ readonly seq: number }> {
  const id = `append-${++count}`;
  return store.append('s', [note(expectedSeq + 1)], { id, expectedSeq, ...(fence !== undefined && { fence }) });
}

/** An append to another session: a session that writes alone does not share its transaction. */
function appendElsewhere(store: Store): Promise<{ readonly seq: number }> {
  return store.append('elsewhere', [note('first')], { id: `append-${++count}`, expectedSeq: 0 });
}

async function takeLease(store: Store, id: string): Promise<number> {
  const before = await store.readLease('s');
  const attempt = await store.acquireLease('s', {
    holder: holder(id),
    ttlMs: 60_000,
    ...(before && { replacing: before }),
  });
  expect(attempt.acquired).toBe(true);
  return attempt.lease.fence;
}
const stale = (detail: string): object => ({ code: 'SESSION_CONFLICT', detail });

describe.for(['this process', 'another process'])('a change by %s', (writer) => {
  /** A store whose last transaction was an append to the session, and the one that makes the change. */
  async function stores(): Promise<{ readonly store: Store; readonly other: Store }> {
    const path = temporaryDatabase();
    const store = await openStore(path);
    await append(store, 0);
    await append(store, 1);
    return { store, other: writer === 'this process' ? store : await openStore(path) };
  }

  test('a newer lease refuses the fence of the older one, also after an append without a fence (I6)', async () => {
    const { store, other } = await stores();
    const old = await takeLease(store, 'first');
    await append(store, 2, old);
    await append(store, 3, old);
    const newer = await takeLease(other, 'second');
    await expect(append(store, 4, old)).rejects.toMatchObject(stale('fence'));
    await append(store, 4);
    await expect(append(store, 5, old)).rejects.toMatchObject(stale('fence'));
    expect(await append(store, 5, newer)).toEqual({ seq: 6 });
    expect(await append(store, 6, newer)).toEqual({ seq: 7 });
  });

  test('an append refuses a sequence that was used meanwhile', async () => {
    const { store, other } = await stores();
    await append(other, 2);
    await expect(append(store, 2)).rejects.toMatchObject(stale('sequence'));
    expect(await append(store, 3)).toEqual({ seq: 4 });
  });

  test('an append to a deleted session does not continue it', async () => {
    const { store, other } = await stores();
    const { incarnation } = await store.head('s');
    await other.deleteSession('s');
    const appending = store.append('s', [note('late')], { id: 'late', expectedSeq: 2, incarnation });
    await expect(appending).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });
});

test('of two appends that are committed together at one sequence, the second is refused', async () => {
  const store = await openStore(temporaryDatabase());
  await append(store, 0);
  await append(store, 1);
  const [, ...both] = await Promise.allSettled([appendElsewhere(store), append(store, 2), append(store, 2)]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await append(store, 3)).toEqual({ seq: 4 });
});

test('an append that is committed before a newer lease of the same transaction leaves its fence stale', async () => {
  const store = await openStore(temporaryDatabase());
  await append(store, 0);
  const old = await takeLease(store, 'first');
  await append(store, 1, old);
  const lease = await store.readLease('s');
  const replacing = lease ?? expect.fail('the lease is held');
  const [, , attempt] = await Promise.all([
    appendElsewhere(store),
    append(store, 2, old),
    store.acquireLease('s', { holder: holder('second'), ttlMs: 60_000, replacing }),
  ]);
  expect(attempt.acquired).toBe(true);
  await expect(append(store, 3, old)).rejects.toMatchObject(stale('fence'));
});
