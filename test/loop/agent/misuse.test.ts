/** What `createAgent`, `openStore` and `agents` must refuse where the mistake is made, and not at the first run (D80). */
import { expect, test } from 'vitest';
import { createAgent, memoryStore, openStore, type Store, scriptedModel } from '../../../src/index.ts';
import { checkAgents } from '../../../src/loop/agent/choose-agent.ts';
import { crashPoints, storeWithCrashPoints } from '../../../src/testing/crash-points.ts';

const model = scriptedModel(() => 'Hello.');
const echo = createAgent({ name: 'echo', model, instructions: '' });
const base = { name: 'x', model, instructions: '' };

test.for([
  ['no options', undefined],
  ['a prompt that is none', { prompt: {}, model }],
  ['an adapter that is none', { name: 'x', instructions: '', adapter: {} }],
  ['a name that is no text', { ...base, name: 5 }],
  ['a tool that is none', { ...base, tools: [null] }],
  ['a listener that is no function', { ...base, onEvent: 'x' }],
  ['a number of turns that is none', { ...base, maxTurns: -1 }],
  ['no parallel calls', { ...base, maxParallelCalls: 0 }],
  ['a budget that is no number', { ...base, budget: { maxTokens: '5' } }],
  ['a history that is none', { ...base, history: 5 }],
] as const)('createAgent refuses %s (D80)', ([, options]) => {
  expect(() => createAgent(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});

test('agents of different namespaces and keys have different names (D80)', () => {
  const names = [
    { ns: 'a/b', key: 'c' },
    { ns: 'a', key: 'b/c' },
    { ns: 'agent', key: 'a/b/c' },
  ].flatMap((identity) => {
    try {
      return [createAgent({ ...identity, model, instructions: '' }).name];
    } catch {
      return []; // refused
    }
  });
  expect(names).toEqual([...new Set(names)]);
});

test.for([
  ['a Map', new Map([['echo', echo]])],
  ['a Set', new Set([echo])],
  ['{ __proto__: agent }', { __proto__: echo }],
  ['what only has the name of an agent', { x: { name: 'x' } }],
] as const)('a worker or server refuses as agents %s, which would run nothing (D80)', ([, agents]) => {
  expect(() => checkAgents('createWorker', agents as never)).toThrow(/agents/);
});

test('the file of sqlite://agent.db is not /agent.db (D80)', async () => {
  const opened = openStore('sqlite://no-such-directory/agent.db');
  await expect(opened).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('sessions of a wrapped store go through the wrapper, and those of what it wraps do not (D80)', async () => {
  const points = crashPoints();
  const inner = memoryStore();
  const outer = await openStore(storeWithCrashPoints(inner, points));
  await (await (await openStore(inner)).session('s')).send('Hi.');
  expect(points.passed).toEqual([]);
  await (await outer.session('s')).send('Hi.');
  expect(points.passed).toContain('before append');
});

test('an opened store can be wrapped (D80)', async () => {
  const points = crashPoints();
  const outer = await openStore(storeWithCrashPoints(await openStore('memory:'), points));
  await (await outer.session('s')).send('Hi.');
  expect(points.passed).toContain('before append');
});

test.for([
  ['frozen', (store: Store) => Object.freeze({ ...store })],
  ['derived from an opened one', (store: Store) => Object.create(store) as Store],
] as const)('a store that is %s gets sessions of its own, and the same ones each time (D80)', async ([, wrap]) => {
  const inner = await openStore('memory:');
  const store = wrap(inner);
  const outer = await openStore(store);
  expect((await outer.session('s')).store).toBe(outer);
  expect((await inner.session('s')).store).toBe(inner);
  expect(await openStore(store)).toBe(outer);
  expect(await openStore(outer)).toBe(outer);
});

test('memory is not opened as a file of that name (D80)', async () => {
  await expect(openStore('memory')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('memory:'),
  });
});

test('store.session refuses another store or id than its own (D80)', async () => {
  const store = await openStore('memory:');
  for (const options of [{ store: memoryStore() }, { id: 'other' }]) {
    await expect(store.session('s', options as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
});

test('openStore refuses options that a given store does not take (D80)', async () => {
  const opened = (openStore as (...args: readonly unknown[]) => Promise<unknown>)(memoryStore(), { readOnly: true });
  await expect(opened).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('agent.stream refuses options that are none with INVALID_ARGUMENT, as agent.run does (D80)', async () => {
  const session = await (await openStore('memory:')).session('s');
  const streamed = async () => echo.stream(session, 'Hi.', null as never).response;
  await expect(streamed()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
