/** Agents by name, and the problems that workers and servers show instead of guessing (D80). */
import { expect, test } from 'vitest';
import { createAgent, type EvaluationEvent, openStore, scriptedModel } from '../../src/index.ts';
import { createServer } from '../../src/server.ts';
import { createWorker } from '../../src/worker.ts';
import { until } from '../server/support.ts';
import { untilSession, work } from './support.ts';

const named = (name: string) => createAgent({ name, model: scriptedModel(() => `From ${name}.`), instructions: '' });
const [one, two] = [named('one'), named('two')];

test('each input is run by the agent that it names, and one without a name by the newest evaluation’s', async () => {
  const store = await openStore('memory:');
  const events: [string, string][] = [];
  const onEvent = (event: EvaluationEvent, { sessionId }: { readonly sessionId: string }): void => {
    if (event.type === 'evaluation/completed') events.push([sessionId, event.type]);
  };
  work({ store, agents: { one, two }, onEvent });
  const session = await store.session('s');
  await session.send('A', { id: 'a', agent: 'two' });
  await session.send('B', { id: 'b', agent: 'one' });
  await session.send('C', { id: 'c' });
  await untilSession(store, 's', (one) => one.queue().length === 0 && one.summary?.status === 'completed');
  await session.refresh();
  expect(session.turns().map(({ assistantMessage }) => assistantMessage.promptKey)).toEqual(['two', 'one', 'one']);
  expect(events).toEqual([1, 2, 3].map(() => ['s', 'evaluation/completed']));
});

test('an agent that no process has is a visible problem, and the session is not given up', async () => {
  const store = await openStore('memory:');
  const errors: unknown[] = [];
  const { worker } = work({ store, agents: { one, two }, onError: (error) => errors.push(error) });
  const session = await store.session('s');
  await session.send('Which?', { id: 'a' });
  await until(() => errors.length > 0);
  expect(errors[0]).toMatchObject({ code: 'AGENT_UNKNOWN', message: expect.stringContaining('one, two') });
  expect(worker.stats().failures).toMatchObject([{ sessionId: 's', error: { code: 'AGENT_UNKNOWN' } }]);
  await session.refresh();
  expect(session.summary?.suspended).toBeUndefined();
});

test('a function that chooses another agent than the input names is a visible problem', async () => {
  const store = await openStore('memory:');
  const errors: unknown[] = [];
  work({ store, agents: () => one, onError: (error) => errors.push(error) });
  await (await store.session('s')).send('For two.', { agent: 'two' });
  await until(() => errors.length > 0);
  expect(errors[0]).toMatchObject({ code: 'AGENT_UNKNOWN' });
});

test('no agent is chosen for a session with nothing to do: what is sent next may be for another one', async () => {
  const store = await openStore('memory:');
  const chosen: string[] = [];
  const agents = ({ summary }: { readonly summary: { readonly title?: string } | undefined }) => {
    chosen.push(summary?.title ?? 'none');
    return one;
  };
  const session = await store.session('s');
  await session.describe({ title: 'before' });
  const { worker } = work({ store, agents });
  worker.wake('s');
  await until(() => worker.stats().running.length === 0 && worker.stats().waiting === 0);
  await session.describe({ title: 'after' });
  await session.send('Hi.');
  await untilSession(store, 's', (each) => each.summary?.status === 'completed');
  expect(new Set(chosen)).toEqual(new Set(['after']));
});

test.for([
  ['another name', { three: one }, /agents\.three .* "one"/],
  ['a prompt and an adapter', { one: { prompt: one.prompt, adapter: one.adapter } }, /no agent/],
  ['nothing', undefined, /needs agents/],
] as const)('agents by %s are refused', async ([, agents, message]) => {
  const store = await openStore('memory:');
  expect(() => createWorker({ store, agents: agents as never })).toThrow(message);
  if (agents) expect(() => createServer({ store, agents: agents as never })).toThrow(message);
});

test('a server refuses an input for an agent that it does not have', async () => {
  const store = await openStore('memory:');
  const server = createServer({ store, agents: { one } });
  const send = (agent: string): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/sessions/s/inputs', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-holdfast-request': '1', host: 'localhost' },
        body: JSON.stringify({ input: 'Hi.', id: 'm1', agent }),
      }),
    );
  const refused = await send('two');
  expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'AGENT_UNKNOWN' } }]);
  expect((await send('one')).status).toBe(202);
  expect((await store.session('s')).queue()).toMatchObject([{ id: 'm1', agent: 'one' }]);
  await server.close();
});
