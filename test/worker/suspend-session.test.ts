/** D79: workers give up on a session only as they saw it. */
import { expect, test } from 'vitest';
import { memoryStore, openSession } from '../../src/index.ts';
import { suspendSession } from '../../src/worker/leave-session.ts';

const failure = (seq: number) => ({ error: new Error('it failed'), attempts: 5, seq, by: 'worker' });

test('a session is suspended with its error if nothing was appended since its run failed', async () => {
  const session = await openSession({ store: memoryStore(), id: 's' });
  const { seq } = await session.send('Hello');
  expect(await suspendSession(session, failure(seq))).toBe(true);
  expect(session.summary?.suspended).toMatchObject({ attempts: 5, error: { message: 'it failed' } });
});

test('a session is not suspended when another process has appended since, and the log does not change', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 's' });
  const { seq } = await session.send('Hello');
  const other = await openSession({ store, id: 's' });
  await other.send('Is anything wrong?');
  expect(await suspendSession(session, failure(seq))).toBe(false);
  expect((await store.head('s')).seq).toBe(seq + 1);
});

test('a session that another process runs is not suspended', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 's' });
  const { seq } = await session.send('Hello');
  const holder = { id: 'other', host: 'elsewhere', pid: 1, startedAt: '0' };
  await store.acquireLease('s', { holder, ttlMs: 60_000 });
  expect(await suspendSession(session, failure(seq))).toBe(false);
  expect((await store.head('s')).seq).toBe(seq);
});
