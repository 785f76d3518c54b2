/**
 * `readers.ts <database> <count>`: tails a session like a server for this many clients, each with its own handle. It reports when all of
 * them are tailing; for a message from its parent it replies with what they read, and ends.
 */
import { openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';

export interface ReaderReport {
  readonly items: number;
  readonly characters: number;
  readonly cpuMs: number;
}

const [database = '', count = '1'] = process.argv.slice(2);
const store = await sqliteStore(database);
const sessions = await Promise.all(Array.from({ length: Number(count) }, () => openSession({ store, id: 'session' })));
let items = 0;
let characters = 0;
const reading = sessions.map(async (session) => {
  for await (const item of session.events({ live: true, drafts: true })) {
    items++;
    characters += JSON.stringify(item).length;
  }
});
const before = process.cpuUsage();
process.once('message', async () => {
  await Promise.all(sessions.map((session) => session.close()));
  await Promise.all(reading);
  await store.close();
  const { user, system } = process.cpuUsage(before);
  process.send?.({ items, characters, cpuMs: (user + system) / 1000 } satisfies ReaderReport);
});
process.send?.('ready');
