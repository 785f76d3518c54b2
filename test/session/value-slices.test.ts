import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineSlice } from '../../src/core/fold/slices.ts';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { defineTool, scriptedModel } from '../../src/index.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { collect, until } from './log-of.ts';
import { STORES } from './stores.ts';

interface Budget {
  readonly cents: number;
  readonly tags: readonly string[];
}
const budget = defineSlice({
  name: 'budget',
  initial: { cents: 0, tags: [] } as Budget,
  on: {
    'budget/raised': (value, event: { readonly by: number }) =>
      event.by === 0 ? value : { ...value, cents: value.cents + event.by },
    'budget/tagged': (value, event: { readonly tag: string }) => ({ ...value, tags: [...value.tags, event.tag] }),
  },
});
/** Counts every raise, also those of failed tools. */
const raises = defineSlice({
  name: 'raises',
  initial: 0,
  rollback: false,
  on: { 'budget/raised': (count) => count + 1 },
});
const plan = defineSlice({
  name: 'plan',
  initial: [] as string[],
  on: { 'plan/added': (steps, event: { readonly step: string }) => [...steps, event.step] },
});
const slices = [budget, raises, plan] as const;

describe.for(STORES)('a slice that holds a value, on %s', ([, create]) => {
  const open = async (id = 's1') => {
    const store = await create();
    return { store, session: await openSession({ store, id, slices }) };
  };

  test('starts with its initial value, and each reducer returns the next one', async () => {
    const { session } = await open();
    expect(session.select(budget).get()).toEqual({ cents: 0, tags: [] });
    expect(session.select(raises).get()).toBe(0);
    await session.dispatch({ type: 'budget/raised', by: 5 });
    await session.dispatch({ type: 'budget/tagged', tag: 'a' });
    expect(session.select(budget).get()).toEqual({ cents: 5, tags: ['a'] });
    expect(session.select(raises).get()).toBe(1);
    expect(session.select(plan).all()).toEqual([]);
  });

  test('another handle loads it from the log, and from a stored snapshot with the events after it', async () => {
    const { store, session } = await open();
    await session.dispatch({ type: 'budget/raised', by: 5 });
    const opened = async () => (await openSession({ store, id: 's1', slices })).select(budget).get();
    expect(await opened()).toEqual({ cents: 5, tags: [] });
    await session.compact();
    expect(await opened()).toEqual({ cents: 5, tags: [] });
    await session.dispatch({ type: 'budget/raised', by: 2 });
    expect(await opened()).toEqual({ cents: 7, tags: [] });
  });

  test('observers receive the values before and after a commit that changed it, and are not called otherwise', async () => {
    const { session } = await open();
    const seen: unknown[] = [];
    session.observe(budget, (before, after) => {
      seen.push([before.cents, after.cents]);
    });
    await session.dispatch({ type: 'budget/raised', by: 1 });
    await session.dispatch({ type: 'budget/raised', by: 0 });
    await session.dispatch({ type: 'budget/raised', by: 2 });
    await until(() => seen.length === 2);
    expect(seen).toEqual([
      [0, 1],
      [1, 3],
    ]);
  });

  test('transactions change it, restore resets it, and one that does not roll back keeps its value', async () => {
    const { session } = await open();
    await session.dispatch({ type: 'budget/raised', by: 5 });
    const snapshot = session.snapshot();
    await session.transaction(async (tx) => {
      await tx.dispatch({ type: 'budget/raised', by: tx.select(budget).get().cents });
      expect(tx.select(budget).get().cents).toBe(10);
    });
    expect(session.select(budget).get().cents).toBe(10);
    await session.restore(snapshot);
    expect(session.select(budget).get().cents).toBe(5);
    expect(session.select(raises).get()).toBe(2);
    await session.refresh();
    const again = await openSession({ store: session.store, id: 's1', slices });
    expect([again.select(budget).get().cents, again.select(raises).get()]).toEqual([5, 2]);
  });

  test('restoring into an empty session copies it, also through a session that does not define it (D6)', async () => {
    const { store, session } = await open();
    await session.dispatch({ type: 'budget/raised', by: 5 });
    const stranger = await openSession({ store, id: 's2' });
    await stranger.restore(JSON.stringify(session.snapshot()));
    await stranger.compact();
    const copy = await openSession({ store, id: 's3', slices });
    await copy.restore(stranger.snapshot());
    const again = await openSession({ store, id: 's3', slices });
    for (const one of [copy, again]) {
      expect(one.select(budget).get()).toEqual({ cents: 5, tags: [] });
      expect(one.select(raises).get()).toBe(1);
    }
    expect((await openSession({ store, id: 's2', slices })).select(budget).get().cents).toBe(5);
  });

  test('a fork has its value at the event where it was forked', async () => {
    const { session } = await open();
    await session.dispatch({ type: 'budget/raised', by: 5 });
    await session.dispatch({ type: 'budget/raised', by: 2 });
    expect((await session.fork()).select(budget).get().cents).toBe(7);
    expect((await session.fork({ at: 1 })).select(budget).get().cents).toBe(5);
  });
});

test('snapshots and session/restored hold a value as a list of one item', async () => {
  const session = await openSession({ store: memoryStore(), id: 's1', slices });
  await session.dispatch({ type: 'budget/raised', by: 5 });
  await session.dispatch({ type: 'plan/added', step: 'a' });
  expect(session.snapshot().slices).toMatchObject({
    budget: { version: 1, seq: 2, items: [{ cents: 5, tags: [] }] },
    raises: { version: 1, seq: 2, items: [1] },
    plan: { version: 1, seq: 2, items: ['a'] },
  });
  await session.restore(session.snapshot());
  const restored = (await collect(session.events())).at(-1);
  expect(restored).toMatchObject({ slices: { budget: [{ cents: 5, tags: [] }], plan: ['a'] } });
});

test('D6: stored items that cannot be a value are ignored, and the slice is folded from the log', async () => {
  const store = memoryStore();
  const list = defineSlice({
    name: 'budget',
    initial: [] as number[],
    on: { 'budget/raised': (all, event: { readonly by: number }) => [...all, event.by] },
  });
  const before = await openSession({ store, id: 's1', slices: [list] });
  await before.append([
    { type: 'budget/raised', by: 1 },
    { type: 'budget/raised', by: 2 },
  ]);
  await before.compact();
  const session = await openSession({ store, id: 's1', slices: [budget] });
  expect(session.select(budget).get().cents).toBe(3);
  await session.restore(before.snapshot());
  expect(session.select(budget).get().cents).toBe(3);
});

test('D21: a failing tool undoes its events in a value that rolls back, and not in one that does not', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 's1', slices });
  const raise = defineTool({
    name: 'raise',
    description: '',
    input: z.object({ by: z.number(), fails: z.boolean() }),
    slices,
    async execute({ by, fails }, ctx) {
      await ctx.session.dispatch({ type: 'budget/raised', by });
      if (fails) throw new Error('no');
      return ctx.session.select(budget).get();
    },
  });
  const call = (by: number, fails: boolean) => ({ toolCalls: [{ name: 'raise', arguments: { by, fails } }] });
  const adapter = createAdapter({ model: scriptedModel([call(5, false), call(7, true), 'done']) });
  await adapter.evaluate(definePrompt({ ns: 'n', key: 'k', instructions: '', tools: [raise] }), { session });
  expect(session.select(budget).get().cents).toBe(5);
  expect(session.select(raises).get()).toBe(2);
});

test('D69: values are frozen in views and for reducers', async () => {
  const errors: unknown[] = [];
  const changing = defineSlice({
    name: 'changing',
    initial: { tags: ['a'] },
    on: {
      'tag/added': (value) => {
        value.tags.push('b');
        return value;
      },
      'tag/set': () => ({ tags: ['c'] }),
    },
  });
  const options = {
    store: memoryStore(),
    id: 's1',
    slices: [changing],
    onError: (error: unknown) => errors.push(error),
  };
  const session = await openSession(options);
  await session.dispatch({ type: 'tag/added' });
  expect(errors).toHaveLength(1);
  expect(session.select(changing).get()).toEqual({ tags: ['a'] });
  await session.dispatch({ type: 'tag/set' });
  expect(() => session.select(changing).get().tags.push('d')).toThrow(TypeError);
});

test.for<readonly [string, () => unknown]>([
  ['nothing', () => undefined],
  ['a promise', async () => 1],
  ['a function', () => () => 1],
  ['NaN', () => Number.NaN],
  ['a Map', () => new Map()],
])('I10: a reducer that returns %s is reported, and the value does not change', async ([, reducer]) => {
  const errors: unknown[] = [];
  const broken = defineSlice({ name: 'broken', initial: 1, on: { 'a/b': reducer as () => number } });
  const options = { store: memoryStore(), id: 's1', slices: [broken], onError: (error: unknown) => errors.push(error) };
  const session = await openSession(options);
  await session.dispatch({ type: 'a/b' });
  expect(session.select(broken).get()).toBe(1);
  expect(errors).toEqual([expect.objectContaining({ code: 'EVENT_INVALID' })]);
});

test('a value that starts with null may become a list', async () => {
  const answer = defineSlice({
    name: 'answer',
    initial: null as readonly string[] | null,
    on: { 'answer/given': (_, event: { readonly words: readonly string[] }) => event.words },
  });
  const store = memoryStore();
  const session = await openSession({ store, id: 's1', slices: [answer] });
  expect(session.select(answer).get()).toBeNull();
  await session.dispatch({ type: 'answer/given', words: ['a', 'b'] });
  await session.compact();
  const again = await openSession({ store, id: 's1', slices: [answer] });
  for (const one of [session, again]) expect(one.select(answer).get()).toEqual(['a', 'b']);
});
