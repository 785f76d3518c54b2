/** What a run costs: each call of the store is a round trip where the store is a server. */
import { expect, test } from 'vitest';
import { createAgent, memoryStore, openSession, scriptedModel } from '../../../src/index.ts';

test('one input costs nine calls of the store: the log is read once, after the lease was taken', async () => {
  const calls: (string | symbol)[] = [];
  const store = new Proxy(memoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        calls.push(name);
        return value.apply(target, given);
      };
    },
  });
  const session = await openSession({ store, id: 'ada' });
  const agent = createAgent({ name: 'greeter', model: scriptedModel(['Hello.']), instructions: 'Greet.' });
  calls.length = 0;
  await agent.run(session, 'Hello', { id: 'm1' });
  const taken = ['readLease', 'acquireLease', 'keepLease', 'read'];
  expect(calls).toEqual(['append', ...taken, 'watch', 'append', 'append', 'releaseLease']);
});
