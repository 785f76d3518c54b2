/**
 * One process of the figures of workers: `worker-process.ts <holdfast|pg-boss> <address> <schema>`. Prints `ready`, begins when it
 * receives a line, and works until it is ended.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { createAgent, scriptedModel } from '../../src/index.ts';
import { postgresStore } from '../../src/postgres.ts';
import { createWorker, pgBossDoorbell } from '../../src/worker.ts';
import { CONCURRENCY, QUEUE } from './worker-settings.ts';

const [kind, url = '', schema = ''] = process.argv.slice(2);
const begin = kind === 'holdfast' ? await holdfast() : await pgBoss();
const line = once(createInterface(process.stdin), 'line');
console.log('ready');
await line;
begin();

async function holdfast(): Promise<() => void> {
  const store = await postgresStore(url, { schema, backgroundIndexing: false });
  const doorbell = await pgBossDoorbell(store, url, { schema: `${schema}_boss` });
  const prompt = definePrompt({ ns: 'bench', key: 'workers', instructions: 'Be brief.' });
  const adapter = createAdapter({ model: scriptedModel(() => 'Done.') });
  const worker = createWorker({
    store,
    doorbell,
    agents: () => createAgent({ adapter, prompt }),
    concurrency: CONCURRENCY,
  });
  return () => worker.start();
}

/** As many loops as the worker runs sessions, each with one job at a time and without a pause. */
async function pgBoss(): Promise<() => void> {
  const boss = new PgBoss({ connectionString: url, schema, useListenNotify: false, max: 10, supervise: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  const loop = async (): Promise<never> => {
    for (;;) {
      const [job] = await boss.fetch(QUEUE);
      if (job) await boss.complete(QUEUE, job.id);
      else await setTimeout(10);
    }
  };
  return () => {
    for (let n = 0; n < CONCURRENCY; n++) void loop();
  };
}
