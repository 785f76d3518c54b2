/** A process that runs a session under a short lease, and is stopped, blocked or hung meanwhile. Prints its outcome. */
import { appendFileSync, existsSync, writeSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { defineTool, openSession, type Store, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';

export interface LeaseProcessOptions {
  readonly database: string;
  /** A line for each act of the tool and each request to the model: what happened, and in which process. */
  readonly effects: string;
  readonly name: string;
  readonly effect?: 'idempotent' | 'once';
  readonly leaseTtlMs: number;
  readonly maxBlockedMs?: number;
  /** Stop this process when an append with such an event was committed. */
  readonly stopAfter?: { readonly type: string; readonly role?: string };
  /** The tool blocks the event loop until this file exists. */
  readonly blockUntil?: string;
}

/** The agent of all these processes: one call, then a response. */
export function leaseAgent(options: LeaseProcessOptions, store: Store) {
  const { effects, name, effect = 'idempotent', blockUntil, leaseTtlMs, maxBlockedMs } = options;
  const note = (what: string): void => appendFileSync(effects, `${what} ${name}\n`);
  const script = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: {} }] }, 'paid']);
  const model = {
    ...script,
    stream: (request: Parameters<typeof script.stream>[0]) => {
      note(`asked ${request.turn}`);
      return script.stream(request);
    },
  };
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: anything,
    effect,
    execute() {
      note('pay');
      while (blockUntil !== undefined && !existsSync(blockUntil)) Atomics.wait(CELL, 0, 0, 10);
      return 'done';
    },
  });
  const prompt = definePrompt({ ns: 'test', key: 'leases', instructions: 'Pay.', tools: [pay] });
  const adapter = createAdapter({ model, leaseTtlMs, ...(maxBlockedMs !== undefined && { maxBlockedMs }) });
  const open = () => openSession({ store, id: 'session' });
  return {
    open,
    evaluate: async (more: Omit<Parameters<typeof adapter.evaluate>[1] & object, 'session'> = {}) =>
      adapter.evaluate(prompt, { session: await open(), input: 'Please.', resume: 'auto', ...more }),
  };
}

const CELL = new Int32Array(new SharedArrayBuffer(4));

const anything = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
};

function stopping(store: Store, { type, role }: NonNullable<LeaseProcessOptions['stopAfter']>): Store {
  let stopped = false;
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'append') return value.bind(target);
      return async (...args: Parameters<Store['append']>) => {
        const result: unknown = await value.apply(target, args);
        const isIt = args[1].some((event) => {
          const message = 'message' in event ? (event.message as { readonly role?: string }) : undefined;
          return event.type === type && isDeepStrictEqual(message?.role, role);
        });
        if (isIt && !stopped) {
          stopped = true;
          writeSync(1, 'stopping\n');
          process.kill(process.pid, 'SIGSTOP');
        }
        return result;
      };
    },
  });
}

const [given] = process.argv.slice(2);
if (given !== undefined && process.argv[1] === import.meta.filename) {
  const options = JSON.parse(given) as LeaseProcessOptions;
  const store = await sqliteStore(options.database);
  const { evaluate } = leaseAgent(options, options.stopAfter ? stopping(store, options.stopAfter) : store);
  const outcome = await evaluate().then(
    ({ status }) => status,
    (error: { readonly code?: string; readonly detail?: string }) => `${error.code} ${error.detail ?? ''}`.trim(),
  );
  writeSync(1, `${outcome}\n`);
  await store.close();
}
