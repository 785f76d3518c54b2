/** The hooks in a small DOM: strict mode, server rendering, changing ids, unmounting, lists and the inbox. */
import { Window } from 'happy-dom';
import { act, createElement, type FunctionComponent, StrictMode } from 'react';
import type { Root } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../src/evaluate.ts';
import { createAgent, defineTool, scriptedModel } from '../../src/index.ts';
import type { Sessions } from '../../src/react/use-sessions.ts';
import { type PersonInbox, useConversation, useInbox, useSessions } from '../../src/react.ts';
import { counting, serve, until } from '../server/support.ts';
import { Network, textsOf } from './support.ts';

const host = globalThis as { window?: unknown; document?: unknown; IS_REACT_ACT_ENVIRONMENT?: boolean };
const dom = new Window();
let createRoot: (element: unknown) => Root;
let hydrateRoot: (element: unknown, node: unknown) => Root;
beforeAll(async () => {
  host.window = dom;
  host.document = dom.document;
  host.IS_REACT_ACT_ENVIRONMENT = true;
  ({ createRoot, hydrateRoot } = (await import('react-dom/client')) as unknown as {
    createRoot: typeof createRoot;
    hydrateRoot: typeof hydrateRoot;
  });
});
afterAll(async () => {
  await dom.happyDOM.close();
  host.window = undefined;
  host.document = undefined;
});

/** Waits for something that is rendered. React 18 renders what changes within `act` when `act` ends. */
function rendered(condition: () => boolean | Promise<boolean>): Promise<void> {
  return until(async () => {
    await act(() => new Promise((resolve) => setTimeout(resolve, 1)));
    return condition();
  });
}

function Chat({ url, fetch, initial }: { url: string; fetch?: Network['fetch']; initial?: { state: unknown } }) {
  const { state, status } = useConversation(url, { fetch, initial });
  return createElement('p', {}, `${status}: ${textsOf({ state }).join(' | ')}`);
}

const chatOf = (props: Parameters<typeof Chat>[0]) => createElement(StrictMode, null, createElement(Chat, props));

test('strict mode opens one connection, another id another one, and unmounting closes it', async () => {
  const { url, send, server } = await serve({ agents: counting, heartbeatMs: 5 });
  await send('POST', '/sessions/ada/inputs', { input: 'Hello' });
  const network = new Network();
  const element = dom.document.createElement('div');
  const root = createRoot(element);
  await act(async () => root.render(chatOf({ url: `${url}/sessions/ada`, fetch: network.fetch })));
  await rendered(() => element.textContent === 'live: Hello | I have read 1 messages.');
  expect(network.streams()).toHaveLength(1);
  expect(server.stats().streams).toBe(1);
  await act(async () => root.render(chatOf({ url: `${url}/sessions/bob`, fetch: network.fetch })));
  expect(element.textContent).not.toContain('Hello');
  await rendered(() => element.textContent === 'live: ');
  expect(network.streams().map((sent) => [sent.path, sent.isAborted()])).toEqual([
    ['/sessions/ada/stream', true],
    ['/sessions/bob/stream', false],
  ]);
  await act(async () => root.unmount());
  await until(() => server.stats().streams === 0);
  expect(network.streams()).toHaveLength(2);
});

test('a server renders the initial state and opens nothing; the page continues from it', async () => {
  const { url, send, json } = await serve({ agents: counting });
  await send('POST', '/sessions/ada/inputs', { input: 'Hello' });
  await until(async () => JSON.stringify(await json('/sessions/ada/state')).includes('I have read 1'));
  const initial = (await json('/sessions/ada/state')) as { readonly state: unknown };
  const network = new Network();
  const props = { url: `${url}/sessions/ada`, fetch: network.fetch, initial };
  const html = renderToString(chatOf(props));
  await new Promise(setImmediate);
  expect(html).toBe('<p>connecting: Hello | I have read 1 messages.</p>');
  expect(network.sent).toEqual([]);
  const element = dom.document.createElement('div');
  element.innerHTML = html;
  const root = await act(async () => hydrateRoot(element, chatOf(props)));
  await rendered(() => element.textContent === 'live: Hello | I have read 1 messages.');
  expect(network.streams()).toHaveLength(1);
  await act(async () => root.unmount());
});

/** Renders a hook; `current` is what it returned last. */
async function renderHook<T>(
  hook: () => T,
): Promise<{ readonly current: () => T; readonly unmount: () => Promise<void> }> {
  const box: { value?: T } = {};
  const Probe: FunctionComponent = () => {
    box.value = hook();
    return null;
  };
  const root = createRoot(dom.document.createElement('div'));
  await act(async () => root.render(createElement(StrictMode, null, createElement(Probe))));
  return { current: () => box.value as T, unmount: () => act(async () => root.unmount()) };
}

test('sessions are listed in pages and searched', async () => {
  const { url, send } = await serve();
  for (const id of ['a', 'b', 'c']) await send('PATCH', `/sessions/${id}`, { title: id, tags: ['x y', id] });
  const { current, unmount } = await renderHook<Sessions>(() => useSessions(`${url}/`, { limit: 2, tags: ['x y'] }));
  await rendered(() => current().sessions.length === 2);
  expect(current()).toMatchObject({ hasMore: true, isLoading: false, error: undefined });
  await act(() => current().loadMore());
  expect(
    current()
      .sessions.map(({ id }) => id)
      .toSorted(),
  ).toEqual(['a', 'b', 'c']);
  expect(current().hasMore).toBe(false);
  await send('DELETE', '/sessions/b');
  await act(() => current().refresh());
  expect(
    current()
      .sessions.map(({ id }) => id)
      .toSorted(),
  ).toEqual(['a', 'c']);
  await unmount();
});

test('an error of a list is returned, and what was listed stays', async () => {
  const { url, send } = await serve();
  await send('PATCH', '/sessions/a', { title: 'a' });
  const network = new Network();
  const { current, unmount } = await renderHook<Sessions>(() => useSessions(url, { fetch: network.fetch }));
  await rendered(() => current().sessions.length === 1);
  network.before = () => {
    throw new TypeError('no network');
  };
  await act(() => current().refresh());
  expect(current()).toMatchObject({ error: { code: 'UNREACHABLE' }, sessions: [{ id: 'a' }], isLoading: false });
  await unmount();
});

test('the inbox has every session that waits for a person, until it is decided', async () => {
  const post = defineTool({
    name: 'post',
    description: 'Posts a letter',
    input: z.object({}),
    effect: 'once',
    needsApproval: true,
    execute: () => 'posted',
  });
  const prompt = definePrompt({ ns: 'test', key: 'post', instructions: '', tools: [post] });
  const model = scriptedModel([{ toolCalls: [{ name: 'post', arguments: {} }] }, 'Done.']);
  const { url, send, json } = await serve({ agents: () => createAgent({ model, prompt }) });
  for (const id of ['a/1', 'b']) await send('POST', `/sessions/${encodeURIComponent(id)}/inputs`, { input: 'Post it' });
  const isSuspended = async () => ((await json('/sessions?status=suspended')).sessions as unknown[]).length === 2;
  await until(isSuspended);
  const { current, unmount } = await renderHook<PersonInbox>(() => useInbox(url, { refreshMs: 0 }));
  await rendered(() => current().entries.length === 2);
  const entry = current().entries.find(({ session }) => session.id === 'a/1');
  const [call] = entry?.calls ?? [];
  expect(call).toMatchObject({ name: 'post' });
  if (call) await entry?.actions.approve(call);
  await act(() => current().refresh());
  expect(current().entries.map(({ session }) => session.id)).toEqual(['b']);
  await unmount();
});
