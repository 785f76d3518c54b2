/** A process that erases the message of the sessions `e0`, `e1`, … : `eraser.ts <database> <count>`. */
import { openSession } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';

const [path = '', count = '0'] = process.argv.slice(2);
const store = await sqliteStore(path, { busyTimeoutMs: 20_000 });
const sessions = await Promise.all(
  Array.from({ length: Number(count) }, (_, i) => openSession({ store, id: `e${i}`, maxInlineLength: 20 })),
);
process.stdout.write('ready\n');
for (const session of sessions) {
  await session.eraseMessage('e1:0').catch((error: { readonly code?: string }) => {
    // The other process reads: the old text stays in the write-ahead log a while longer, which is not what is tested.
    if (error.code !== 'STORE_BUSY') throw error;
  });
}
await store.close();
