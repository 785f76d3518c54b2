/**
 * One worker process: `process.ts <sqlite|postgres> <address> <schema> <file of effects> <lease in ms>`. It is killed and stopped at any
 * instant. Prints a line for each append that its fence rejected, and for each defect.
 *
 * Its leases name neither boot nor pid namespace, so that no worker can know that another one's process is dead: as between machines.
 */
import { writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { isHoldfastError, type Store } from '../../../src/index.ts';
import { postgresStore } from '../../../src/postgres.ts';
import { sqliteStore } from '../../../src/sqlite.ts';
import { createWorker, type Doorbell, pgBossDoorbell } from '../../../src/worker.ts';
import { outsideFile } from '../../chaos/outside.ts';
import { chaosAgent } from './agent.ts';

const [kind, address = '', schema = '', effects = '', leaseMs = '2000', paceMs = '2'] = process.argv.slice(2);

const say = (...words: readonly (string | number)[]): void => void writeSync(1, `${words.join(' ')}\n`);

async function open(): Promise<{
  readonly store: Store;
  readonly doorbell?: Doorbell;
  readonly close: () => Promise<void>;
}> {
  if (kind === 'sqlite') {
    const store = await sqliteStore(address);
    return { store, close: () => store.close() };
  }
  const store = await postgresStore(address, { schema, maxConnections: 4 });
  const onError = (error: unknown): void => say('bell', String(error).replaceAll('\n', ' '));
  const doorbell = await pgBossDoorbell(store, address, { schema: `${schema}_boss`, onError });
  const close = async (): Promise<void> => {
    await doorbell.close();
    await store.close();
  };
  return { store, doorbell, close };
}

function asElsewhere(store: Store): Store {
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property === 'acquireLease') {
        return (id: string, { holder, ...options }: Parameters<Store['acquireLease']>[1]) => {
          const { bootId: _, pidNamespace: __, ...anonymous } = holder;
          return target.acquireLease(id, { ...options, holder: anonymous });
        };
      }
      if (property === 'append') {
        return (...args: Parameters<Store['append']>) =>
          target.append(...args).catch((error: unknown) => {
            if (isHoldfastError(error, 'SESSION_CONFLICT') && error.detail === 'fence') say('zombie', args[0]);
            throw error;
          });
      }
      return value.bind(target);
    },
  });
}

const { store, doorbell, close } = await open().catch((error: unknown) => {
  say('refused', String(error).replaceAll('\n', ' '));
  process.exit(1);
});
const worker = createWorker({
  store: asElsewhere(store),
  agents: chaosAgent(outsideFile(effects), { paceMs: Number(paceMs), leaseMs: Number(leaseMs) }),
  concurrency: 20,
  pollMs: 250,
  maxAttempts: 50, // here it is never the session's fault that its workers die
  ...(doorbell && { doorbell }),
  onError: (error, { sessionId = '' }) =>
    say(
      isHoldfastError(error) ? 'error' : 'wrong',
      sessionId,
      isHoldfastError(error) ? error.code : '',
      String(error).replaceAll('\n', ' '),
    ),
});
worker.start();
say('ready');
await worker.stopOn();
say('stats', JSON.stringify(worker.stats().counts));
await Promise.race([close(), setTimeout(5000)]); // a database that is gone must not hold up the end
process.exit(0);
