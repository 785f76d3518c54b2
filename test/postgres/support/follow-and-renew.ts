/** A process that watches sessions and keeps their leases, all at the same moment. Prints `renewed` when each lease was. */
import { setTimeout } from 'node:timers/promises';
import { postgresStore } from '../../../src/postgres.ts';
import { appendNotes, HOLDER } from './logs.ts';

const TTL_MS = 600;
const [url = '', schema = ''] = process.argv.slice(2);
const alive = setInterval(() => {}, 60_000);
const store = await postgresStore(url, { schema, maxConnections: 4 });
const ids = Array.from({ length: 12 }, (_, i) => `s${i}`);
for (const id of ids) await appendNotes(store, id, 1, 1);

const watched = (id: string): Promise<() => void> =>
  new Promise((resolve) => {
    const stop = store.watch(id, () => resolve(stop));
  });
const stops = [await watched('first')];
stops.push(...(await Promise.all(ids.map(watched))));

const keepers = await Promise.all(
  ids.map(async (id) => {
    const attempt = await store.acquireLease(id, { holder: HOLDER, ttlMs: TTL_MS });
    if (!attempt.acquired) throw new Error(`${id} is held`);
    const { fence, expiresAt } = attempt.lease;
    return { id, expiresAt, keeper: store.keepLease(id, fence, { ttlMs: TTL_MS, onLost: () => {} }) };
  }),
);
for (const { id, expiresAt } of keepers) {
  // Several renewals each.
  while (((await store.readLease(id))?.expiresAt ?? 0) < expiresAt + 2 * TTL_MS) await setTimeout(20);
}
console.log('renewed');
for (const { keeper } of keepers) keeper.stop();
for (const stop of stops) stop();
await store.close();
clearInterval(alive);
