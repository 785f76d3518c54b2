/**
 * A worker whose tool must run once: `paying-worker.ts <address> <schema> <lease in ms>`. The tool prints `paying`, returns when a line
 * arrives on stdin, and prints `paid`. Its leases name no process, as between machines: the worker is not known to be dead.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../../src/evaluate.ts';
import { createAgent, defineTool, type Store, scriptedModel } from '../../../src/index.ts';
import { postgresStore } from '../../../src/postgres.ts';
import { createWorker } from '../../../src/worker.ts';

const [address = '', schema = '', leaseMs] = process.argv.slice(2);
const lines = createInterface(process.stdin);
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  effect: 'once',
  async execute() {
    console.log('paying');
    await once(lines, 'line');
    console.log('paid');
    return 'paid';
  },
});
const model = scriptedModel(({ turn }) => (turn === 1 ? { toolCalls: [{ name: 'pay', arguments: {} }] } : 'Done.'));
const prompt = definePrompt({ ns: 'test', key: 'pay', instructions: 'Pay.', tools: [pay] });
const adapter = createAdapter({ model, leaseTtlMs: Number(leaseMs) });

const store = await postgresStore(address, { schema, maxConnections: 3 });
const acquireLease: Store['acquireLease'] = (id, { holder, ...options }) => {
  const { bootId: _, pidNamespace: __, ...anonymous } = holder;
  return store.acquireLease(id, { ...options, holder: anonymous });
};
const worker = createWorker({
  store: { ...store, acquireLease },
  agents: () => createAgent({ adapter, prompt }),
  pollMs: 50,
  onError: (error) => console.log('error', String(error).replaceAll('\n', ' ')),
});
worker.start();
console.log('ready');
await worker.stopOn();
await store.close();
process.exit(0);
