/**
 * Another process that appends to its own session repeatedly: `appender.ts <database>`. For each message from its parent it replies with
 * the longest and the number of its appends since the previous message.
 */
import { setTimeout } from 'node:timers/promises';
import { sqliteStore } from '../../src/sqlite.ts';

/** A busy agent, but not one that always holds the lock. */
const PAUSE_MS = 3;
const [path = ''] = process.argv.slice(2);
const store = await sqliteStore(path);
let longest = 0;
let appends = 0;
let seq = 0;

process.on('message', () => {
  process.send?.({ longest, appends });
  longest = 0;
  appends = 0;
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

for (;;) {
  const began = performance.now();
  const event = { type: 'note/added', at: '2026-01-01T00:00:00.000Z', text: 'Another session.' };
  ({ seq } = await store.append('other', [event], { id: `other-${seq}`, expectedSeq: seq }));
  longest = Math.max(longest, performance.now() - began);
  appends++;
  await setTimeout(PAUSE_MS);
}
