/** `openStore`: one address for each kind of store, its driver loaded when it is used. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent, memoryStore, openSession, openStore, scriptedModel } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { crashPoints, storeWithCrashPoints } from '../../src/testing.ts';

const agent = createAgent({ name: 'a', model: scriptedModel(() => 'Hello.'), instructions: '' });
const directory = mkdtempSync(join(tmpdir(), 'open-store-'));

test.for(['agent.db', 'sqlite:other.db'])('%s is a SQLite file, which another process finds again', async (address) => {
  const path = address.replace(/[\w-]+\.db/, (name) => join(directory, name));
  const store = await openStore(path);
  await agent.run(await store.session('s'), 'Hi.', { id: 'm1' });
  await store.close();
  const again = await sqliteStore(path.replace('sqlite:', ''));
  onTestFinished(() => again.close());
  expect((await openSession({ store: again, id: 's' })).messages()).toHaveLength(2);
});

test('memory: lasts as long as the process, and each one is another', async () => {
  const store = await openStore('memory:');
  await agent.run(await store.session('s'), 'Hi.');
  expect((await store.listSessions()).sessions).toHaveLength(1);
  expect((await (await openStore('memory:')).listSessions()).sessions).toEqual([]);
});

test('a store of your own gets `session`, and stays the same object', async () => {
  const own = memoryStore();
  const store = await openStore(own);
  expect(store).toBe(own);
  expect(await openStore(store)).toBe(own);
  expect((await store.session('s', { readOnly: false })).store).toBe(own);
});

test('the sessions of a store with crash points pass the points, whichever of the two wraps the other', async () => {
  const inside = crashPoints();
  const outside = crashPoints();
  const stores = [
    storeWithCrashPoints(await openStore('memory:'), inside),
    await openStore(storeWithCrashPoints(memoryStore(), outside)),
  ];
  for (const store of stores) await agent.run(await store.session('s'), 'Hi.');
  expect(inside.passed).toContain('before append');
  expect(outside.passed).toEqual(inside.passed);
});

test('store.session passes its options on', async () => {
  const store = await openStore('memory:');
  await expect(store.session('none', { readOnly: true })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  await expect(store.session('s', { slice: [] } as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('a read-only file is not created', async () => {
  await expect(openStore(join(directory, 'none.db'), { readOnly: true })).rejects.toMatchObject({
    code: expect.stringMatching(/^STORE_|INVALID_ARGUMENT/),
  });
});

test.for([
  ['mysql://root:secret@localhost/db', {}, 'mysql:'],
  ['redis://localhost', {}, 'redis:'],
  ['memory:name', {}, 'memory:'],
  ['memory:', { readOnly: true }, 'readOnly'],
  ['agent.db', { schema: 'x' }, 'schema'],
  ['agent.db', { readonly: true }, 'readonly'],
  ['', {}, ''],
  [undefined, {}, 'address'],
  [42, {}, 'address'],
] as const)('%s with %j is refused, and says what is possible', async ([address, options, message]) => {
  const error = await openStore(address as string, options as object).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) });
  expect(error?.message).not.toContain('secret');
});

test.for([
  [{ statuss: 'failed' }, 'statuss'],
  [{ status: 'bogus' }, 'running, suspended'],
] as const)('listSessions refuses %j, which would list every session or none', async ([options, message]) => {
  const store = await openStore('memory:');
  await expect(store.listSessions(options as never)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining(message),
  });
});

test('search refuses an option that does not exist', async () => {
  const store = await openStore('memory:');
  await expect(store.search?.('x', { limt: 3 } as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
