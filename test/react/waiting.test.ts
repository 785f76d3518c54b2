/** What waits in a session, and what people do about it: on a server, and in this process. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import * as holdfast from '../../src/index.ts';
import { ConversationClient, type RequestError } from '../../src/react.ts';
import { chat, HeldModel, serve } from '../server/support.ts';
import { follow, Network, shows, textsOf } from './support.ts';

const { createAgent, defineTool, memoryStore, openSession, scriptedModel } = holdfast;

const post = defineTool({
  name: 'post',
  description: 'Posts a letter',
  input: z.object({ to: z.string() }),
  effect: 'once',
  needsApproval: true,
  execute: ({ to }) => `posted to ${to}`,
});
const prompt = definePrompt({ ns: 'test', key: 'post', instructions: '', tools: [post] });
const adapter = createAdapter({
  model: scriptedModel([{ toolCalls: [{ name: 'post', arguments: { to: 'Ada' } }] }, 'Done.']),
});
const agents = () => createAgent({ adapter, prompt });

test.for([
  ['approve', 'posted to Ada'],
  ['deny', 'not now'],
] as const)('a call that waits is pending until a person decides: %s', async ([action, result]) => {
  const { url } = await serve({ agents });
  const client = follow(`${url}/sessions/ada`);
  await client.actions.send('Post it');
  const { pending } = await shows(client, (snapshot) => snapshot.pending.length > 0);
  const [call] = pending;
  expect(call).toMatchObject({ name: 'post', arguments: '{"to":"Ada"}' });
  if (!call) return;
  await (action === 'deny' ? client.actions.deny(call, { reason: result }) : client.actions.approve(call));
  const done = await shows(client, (snapshot) => textsOf(snapshot).includes('Done.') && snapshot.pending.length === 0);
  expect(JSON.stringify(done.state)).toContain(result);
});

test('`agent` is what the log says of the newest evaluation: it works, is suspended, or has ended', async () => {
  const { url } = await serve({ agents });
  const client = follow(`${url}/sessions/ada`);
  const statuses: string[] = [];
  const end = client.subscribe(() => {
    const { agent } = client.getSnapshot();
    if (agent !== statuses.at(-1)) statuses.push(agent);
  });
  await client.actions.send('Post it');
  const { pending } = await shows(client, ({ agent, pending }) => agent === 'waiting' && pending.length > 0);
  expect(pending).toMatchObject([{ waitsFor: 'approval' }]);
  if (pending[0]) await client.actions.approve(pending[0]);
  await shows(client, ({ agent, state }) => agent === 'idle' && state.blocks.at(-1)?.status === 'complete');
  expect(statuses.filter((status) => status !== 'working')).toEqual(['idle', 'waiting', 'idle']);
  expect((await shows(follow(`${url}/sessions/ada`), ({ status }) => status === 'live')).agent).toBe('idle');
  end();
});

test('`agent` is `working` from the placed message on, before anything of the response is there', async () => {
  const model = new HeldModel();
  const { url, send } = await serve({
    heartbeatMs: 5,
    agents: () => createAgent({ adapter: createAdapter({ model }), prompt: chat }),
  });
  const client = follow(`${url}/sessions/ada`);
  await client.actions.send('Hello');
  const { state } = await shows(client, ({ agent }) => agent === 'working');
  expect(state.blocks.every(({ status }) => status === 'complete')).toBe(true);
  await client.actions.stop();
  expect((await shows(client, ({ agent }) => agent === 'waiting')).pending).toEqual([]); // suspended: CANCELLED
  await send('DELETE', '/sessions/ada');
  await shows(client, ({ status }) => status === 'ended');
  client.actions.reconnect();
  await client.actions.send('Again');
  model.say(undefined);
  await shows(client, ({ agent, status }) => agent === 'idle' && status === 'live');
});

test('a page that is opened later shows what waits', async () => {
  const { url } = await serve({ agents });
  const first = follow(`${url}/sessions/ada`);
  await first.actions.send('Post it');
  await shows(first, ({ pending }) => pending.length > 0);
  expect((await shows(follow(`${url}/sessions/ada`), ({ pending }) => pending.length > 0)).pending).toHaveLength(1);
});

test('a call whose outcome is unknown waits for a person who settles it', async () => {
  const lost = defineTool({
    name: 'lost',
    description: 'Never ends',
    input: z.object({}),
    effect: 'once',
    timeoutMs: 1,
    execute: () => new Promise<string>(() => {}),
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'lost', arguments: {} }] }, 'Done.']);
  const { url } = await serve({ agents: () => createAgent({ name: 'lost', model, instructions: '', tools: [lost] }) });
  const client = follow(`${url}/sessions/ada`);
  await client.actions.send('Lose it');
  const { pending } = await shows(client, (snapshot) => snapshot.pending.length > 0);
  expect(pending).toMatchObject([{ name: 'lost', status: 'started', waitsFor: 'outcome' }]);
  if (pending[0]) await client.actions.settle(pending[0], { result: 'found' });
  await shows(client, (snapshot) => textsOf(snapshot).includes('Done.') && snapshot.pending.length === 0);
});

test('queued inputs are shown until they are withdrawn or stopped', async () => {
  const { url } = await serve();
  const client = follow(`${url}/sessions/ada`);
  await client.actions.send('One', { id: 'a/1' });
  await client.actions.steer('Two', { id: 'two' });
  const { queue } = await shows(client, (snapshot) => snapshot.queue.length === 2);
  expect(queue.map(({ id, mode }) => [id, mode])).toEqual([
    ['a/1', 'next'],
    ['two', 'steer'],
  ]);
  expect(await client.actions.withdraw('a/1')).toBe(true);
  await shows(client, (snapshot) => snapshot.queue.length === 1);
  await client.actions.stop();
  await shows(client, (snapshot) => snapshot.queue.length === 0);
});

test('a message whose response is lost is sent again and placed once', async () => {
  const { url, json } = await serve();
  const network = new Network();
  let isLost = true;
  network.before = async (path, init) => {
    if (!path.endsWith('/inputs') || !isLost) return undefined;
    isLost = false;
    await fetch(`${url}${path}`, init);
    throw new TypeError('the connection was lost');
  };
  const client = new ConversationClient(`${url}/sessions/ada`, { fetch: network.fetch });
  await client.actions.send('Hello');
  expect(((await json('/sessions/ada/queue')) as { readonly inputs: readonly unknown[] }).inputs).toHaveLength(1);
});

test('resuming, abandoning and settling what is not there is an error of the server', async () => {
  const { url } = await serve({ agents: () => createAgent({ adapter, prompt: chat }) });
  const { actions } = new ConversationClient(`${url}/sessions/ada`);
  await actions.send('Hello');
  const call = { evaluationId: 'e', turn: 1, callId: 'c' };
  const attempts = [
    actions.resume({ evaluationId: 'e' }),
    actions.abandon({ evaluationId: 'e' }),
    actions.settle(call, { result: 1 }),
  ];
  const codes = await Promise.all(attempts.map((attempt) => attempt.catch(({ code }: RequestError) => code)));
  expect(codes).toEqual(['CONVERSATION_NOT_FOUND', 'CONVERSATION_NOT_FOUND', 'TOOL_CALL_NOT_FOUND']);
});

test('a session in this process is followed and decided about in the same way', async () => {
  const session = await openSession({ store: memoryStore(), id: 'ada' });
  const client = new ConversationClient(session, { holdfast });
  const end = client.subscribe(() => {});
  await shows(client, ({ status }) => status === 'live');
  await client.actions.send('Post it');
  await shows(client, ({ queue }) => queue.length === 1);
  await adapter.run(prompt, { session });
  const { pending } = await shows(client, (snapshot) => snapshot.pending.length > 0 && snapshot.queue.length === 0);
  if (pending[0]) await client.actions.approve(pending[0]);
  await adapter.run(prompt, { session });
  await shows(client, (snapshot) => textsOf(snapshot).includes('Done.') && snapshot.pending.length === 0);
  await client.actions.stop();
  await session.close();
  expect((await shows(client, ({ status }) => status === 'ended')).error).toBeUndefined();
  end();
});

test('a session in this process needs the functions of holdfast', async () => {
  const session = await openSession({ store: memoryStore(), id: 'ada' });
  expect(() => new ConversationClient(session)).toThrow("import * as holdfast from 'holdfast'");
});
