/** A process that runs the inputs of a session: it listens to the log, and runs when something was appended. */
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { openSession, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';

const session = await openSession({ store: await sqliteStore(process.argv[2] ?? ''), id: 's' });
const adapter = createAdapter({ model: scriptedModel(() => 'ok') });
const prompt = definePrompt({ ns: 'bench', key: 'chat', instructions: '' });
process.on('message', () => {}); // keeps the process alive as long as its parent
const listening = session.events({ live: true });
process.send?.('ready');
for await (const _ of listening) {
  if (session.queue().length > 0) await adapter.run(prompt, { session });
}
