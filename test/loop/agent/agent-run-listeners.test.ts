/** Listeners of agents and runs: each gets each event once, and none changes the run (D80). */
import { expect, test } from 'vitest';
import { agentOf, openMemory } from './run-fixtures.ts';

test('a run that a listener starts follows the one that called the listener (D61, D80)', async () => {
  const session = await openMemory();
  const agent = agentOf();
  let started: Promise<unknown> | undefined;
  await agent.run(session, 'One.', {
    id: 'm1',
    onEvent: ({ type }) => {
      if (type === 'evaluation/started') started ??= agent.run(session, 'Two.', { id: 'm2' });
    },
  });
  expect(await started).toMatchObject({ status: 'completed', text: 'You said: Two.' });
});

test('a listener that throws does not keep events from the others (D80)', async () => {
  const seen: string[] = [];
  const agent = agentOf({ onEvent: ({ type }) => void seen.push(type) });
  await agent.run(await openMemory({ onError: () => {} }), 'Hi.', {
    onEvent: () => {
      throw new Error('a listener failed');
    },
  });
  expect(seen).toContain('evaluation/completed');
});

test("the agent's listener gets each event once, also when two runs use one handle (D80)", async () => {
  const seqs: number[] = [];
  const agent = agentOf({ onEvent: (event) => void ('seq' in event && seqs.push(event.seq)) });
  const session = await openMemory();
  await Promise.all([agent.run(session, 'One.', { id: 'm1' }), agent.run(session, 'Two.', { id: 'm2' })]);
  expect(seqs).toEqual([...new Set(seqs)]);
});
