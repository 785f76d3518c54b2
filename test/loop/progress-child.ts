/** A process that is killed while its tool runs, after the tool's progress is stored. */
import { setTimeout } from 'node:timers/promises';
import { openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { uploader } from './progress-agent.ts';

const [database = ''] = process.argv.slice(2);
const store = await sqliteStore(database);
const session = await openSession({ store, id: 'session' });
const { adapter, prompt } = uploader(async (ctx) => {
  ctx.progress({ text: 'part 1 of 2\n', percent: 50 });
  while ((await store.readDraft('session')).length === 0) await setTimeout(20);
  process.kill(process.pid, 'SIGKILL');
  await setTimeout(60_000);
  return 'never';
});
await adapter.evaluate(prompt, { session, input: 'Upload it.' });
