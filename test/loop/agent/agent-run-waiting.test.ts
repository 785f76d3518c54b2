/** `agent.run` while another process or an `evaluate` has the session (D61, D80). */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAdapter, definePrompt } from '../../../src/evaluate.ts';
import { type AgentOptions, type Model, memoryStore, openSession } from '../../../src/index.ts';
import { agentOf, echo, gate, watching } from './run-fixtures.ts';

test('wait: false is busy at once, also while an evaluate holds the lease (D80)', async () => {
  const { model, begun, go } = gate();
  const base = memoryStore();
  const evaluating = createAdapter({ model }).evaluate(definePrompt({ ns: 'a', key: 'b', instructions: '' }), {
    session: await openSession({ store: base, id: 's' }),
    input: 'x',
  });
  await begun;
  let looks = 0;
  const store = watching(base, 'acquireLease', {
    called: () => {
      if (++looks === 2) go(); // it waits, which it must not
    },
  });
  const response = await agentOf().run(await openSession({ store, id: 's' }), 'Hi.', { id: 'm1', wait: false });
  go();
  await evaluating;
  expect(response).toMatchObject({ status: 'busy', inputId: 'm1' });
});

test('a run whose input another process has done before it was acknowledged does not wait for what that does next (D80)', async () => {
  const base = memoryStore();
  const acknowledged = Promise.withResolvers<void>();
  let looks = 0;
  let hasWaited = false;
  const { model: slow, begun, go } = gate();
  const late = watching(
    watching(base, 'readLease', {
      called: () => {
        if (++looks < 3) return;
        hasWaited = true; // the response has been in the log since before it began to wait
        go();
      },
    }),
    'append',
    { answered: () => acknowledged.promise },
  );
  let requests = 0;
  const model: Model = { ...slow, stream: (request) => (++requests === 1 ? echo : slow).stream(request) };
  const agent = agentOf({ model } as Partial<AgentOptions>);
  const response = agent.run(await openSession({ store: late, id: 's' }), 'One.', { id: 'm1' });
  const other = await openSession({ store: base, id: 's' });
  while (other.queue().length === 0) {
    await setImmediate();
    await other.refresh();
  }
  await other.send('Two.', { id: 'm2' });
  const others = agent.run(other);
  await begun; // One. is done, Two. is under way
  acknowledged.resolve();
  expect(await response).toMatchObject({ status: 'completed', text: 'You said: One.' });
  go();
  await others;
  expect(hasWaited).toBe(false);
});
