/** A worker whose tool kills its process. Exits when no session of the store has work: `deadly-worker.ts <file>`. */
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { createAgent, defineTool, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { createWorker } from '../../src/worker.ts';

const crash = defineTool({
  name: 'crash',
  description: 'Needs too much memory',
  input: z.object({}),
  effect: 'idempotent',
  execute: async () => {
    process.kill(process.pid, 'SIGKILL');
    await setTimeout(60_000);
    return '';
  },
});
const prompt = definePrompt({ ns: 'test', key: 'deadly', instructions: 'Work.', tools: [crash] });
const model = scriptedModel(() => ({ toolCalls: [{ name: 'crash', arguments: {} }] }));
const store = await sqliteStore(process.argv[2] ?? '');
const worker = createWorker({
  store,
  agents: () => createAgent({ model, prompt }),
  pollMs: 20,
  maxAttempts: 3,
  onError: () => {},
});
worker.start();
while ((await store.listSessions({ work: true })).sessions.length > 0) await setTimeout(20);
await worker.stop();
await store.close();
