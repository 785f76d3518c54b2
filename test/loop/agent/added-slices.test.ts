/** Slices that `agent.run` adds to a handle (D6, D80): in a new session, while the store fails, and beside other work on the handle. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createAgent,
  defineSlice,
  defineTool,
  HoldfastError,
  memoryStore,
  openSession,
  type Store,
  scriptedModel,
  textOf,
} from '../../../src/index.ts';

const notes = defineSlice({
  name: 'notes',
  initial: [] as string[],
  on: { 'note/added': (all, event: { readonly text: string }) => [...all, event.text] },
});
const read = defineTool({
  name: 'read',
  description: 'Reads all notes',
  input: z.object({}),
  slices: [notes],
  effect: 'read',
  execute: (_, { session }) => session.select(notes).all().join(', ') || 'none',
});
const reader = createAgent({
  name: 'reader',
  model: scriptedModel(({ turn, messages }) => {
    const last = messages.at(-1);
    return turn === 1 || !last ? { toolCalls: [{ name: 'read', arguments: {} }] } : textOf(last);
  }),
  instructions: '',
  tools: [read],
});

/** A store whose log has one note, and a handle of another process that did not read it as such. */
async function withNote(onHead: () => unknown = () => {}) {
  const base = memoryStore();
  await (await openSession({ store: base, id: 's', slices: [notes] })).dispatch({ type: 'note/added', text: 'a' });
  let isOpen = false;
  const store: Store = new Proxy(base, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'head') return value.bind(target);
      return async (id: string) => {
        if (isOpen) await onHead();
        return target.head(id);
      };
    },
  });
  const session = await openSession({ store, id: 's' });
  isOpen = true;
  const notesOfAnother = async () => (await openSession({ store: base, id: 's', slices: [notes] })).select(notes).all();
  return { session, notesOfAnother };
}

test('a tool reads its slice in a session that has no event of it (D80)', async () => {
  const session = await openSession({ store: memoryStore(), id: 's' });
  expect(await reader.run(session, 'Read.')).toMatchObject({ text: 'none' });
  expect(session.select(notes).all()).toEqual([]);
});

test('slices that could not be added, for the store failed, are added by the same line (D80)', async () => {
  let fails = 1;
  const { session, notesOfAnother } = await withNote(() => {
    if (fails-- > 0) throw new HoldfastError('STORE_FAILED', 'the disk is away');
  });
  await expect(reader.run(session, 'Read.', { id: 'm1' })).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(await reader.run(session, 'Read.', { id: 'm1' })).toMatchObject({ text: 'a' });
  await session.compact();
  expect(await notesOfAnother()).toEqual(['a']);
});

test('a run whose slices another run is adding waits until they are folded (D80)', async () => {
  const folds = Promise.withResolvers<void>();
  let calls = 0;
  const { session } = await withNote(() => (calls++ === 0 ? folds.promise : undefined));
  const first = reader.run(session, 'Read.', { id: 'm1' });
  const second = reader.run(session, 'Read.', { id: 'm2' });
  for (let i = 0; i < 50; i++) await setImmediate();
  folds.resolve();
  expect(await first).toMatchObject({ text: 'a' });
  expect(await second).toMatchObject({ text: 'a' });
});

test('a snapshot that is written while slices are added does not have them empty (D6, D80)', async () => {
  const folds = Promise.withResolvers<void>();
  let calls = 0;
  const { session, notesOfAnother } = await withNote(() => (calls++ === 0 ? folds.promise : undefined));
  const run = reader.run(session, 'Read.', { id: 'm1' });
  await setImmediate();
  await session.compact();
  const written = await notesOfAnother();
  folds.resolve();
  await run;
  expect(written).toEqual(['a']);
  expect(await notesOfAnother()).toEqual(['a']);
});
