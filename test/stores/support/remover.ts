/**
 * A process that erases the first message of a session or deletes the session: `remover.ts <database>`, with lines `erase <id>` and
 * `delete <id>` on its input. It prints a line when the session is open and when the work is done.
 */
import { createInterface } from 'node:readline';
import { openSession } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';

const [path = ''] = process.argv.slice(2);
const store = await sqliteStore(path, { busyTimeoutMs: 20_000 });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [work, id = ''] = line.split(' ');
  const session = await openSession({ store, id, maxInlineLength: 20 });
  process.stdout.write('opened\n');
  if (work === 'delete') await store.deleteSession(id);
  else {
    await session.eraseMessage('e1:0').catch((error: { readonly code?: string }) => {
      // Another reader keeps the old text in the write-ahead log for a while, which is not tested here.
      if (error.code !== 'STORE_BUSY') throw error;
    });
  }
  await session.close();
  process.stdout.write('done\n');
}
await store.close();
