/** The options of a worker, as a program of its own has them: the database is in the environment. */
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { createAgent, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import type { WorkerOptions } from '../../src/worker.ts';

const store = await sqliteStore(process.env.WORKER_DATABASE ?? '');
const prompt = definePrompt({ ns: 'test', key: 'chat', instructions: 'Be kind.' });
const adapter = createAdapter({ model: scriptedModel(() => 'Hello yourself.') });

export default { store, agents: () => createAgent({ adapter, prompt }), pollMs: 50 } satisfies WorkerOptions;

export const close = async (): Promise<void> => {
  await store.close();
  console.log('closed');
};
