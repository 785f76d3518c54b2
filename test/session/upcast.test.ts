import { describe, expect, test } from 'vitest';
import { defineSlice } from '../../src/core/fold/slices.ts';
import type { Upcasters } from '../../src/core/log/upcast.ts';
import { appendForLoop } from '../../src/session/append/append-for-loop.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { user } from '../core/log.ts';
import { collect, logIn, rejection } from './log-of.ts';
import { STORES } from './stores.ts';

const plan = defineSlice({
  name: 'plan',
  initial: [] as string[],
  on: { 'plan/added': (steps, event: { step: string }) => [...steps, event.step] },
});

/** Reads `step/noted` events as `plan/added`, and throws if one has no text. */
const upcasters: Upcasters = {
  'step/noted': ({ text, ...event }: { text?: string } & Parameters<Upcasters[string]>[0]) => {
    if (text === undefined) throw new Error('it has no text');
    return { ...event, type: 'plan/added', step: text };
  },
};

describe.for(STORES)('an upcaster that throws, on %s', ([, create]) => {
  test('rejects the append before anything is written, and the session can be opened again', async () => {
    const store = await create();
    const errors: unknown[] = [];
    const options = { store, id: 's1', slices: [plan], upcasters, onError: (error: unknown) => errors.push(error) };
    const session = await openSession(options);
    await session.append([{ type: 'step/noted', text: 'a' }]);
    const bad = { type: 'step/noted', number: 7 };
    const refused = { code: 'EVENT_INVALID', message: expect.stringContaining('it has no text') };
    expect(await rejection(session.append([{ type: 'step/noted', text: 'b' }, bad]))).toMatchObject(refused);
    expect(await rejection(appendForLoop(session, [{ ...bad }], { plain: 100 }))).toMatchObject(refused);
    expect(await rejection(session.transaction((tx) => tx.dispatch(bad as never)))).toMatchObject(refused);
    expect(await logIn(store)).toHaveLength(1);
    expect(session.select(plan).all()).toEqual(['a']);
    expect((await openSession(options)).select(plan).all()).toEqual(['a']);
    expect(errors).toEqual([]);
  });

  test('does not prevent opening a log: its event stays, is folded by no slice and is reported once', async () => {
    const store = await create();
    const writer = await openSession({ store, id: 's1' });
    await writer.append([user('hi', 0), { type: 'step/noted', text: 'a' }, { type: 'step/noted', number: 7 }]);
    await writer.append([{ type: 'step/noted', text: 'b' }]);
    const errors: unknown[] = [];
    const options = { store, id: 's1', slices: [plan], upcasters, onError: (error: unknown) => errors.push(error) };
    const session = await openSession(options);
    expect(session.seq).toBe(4);
    expect(session.select(plan).all()).toEqual(['a', 'b']);
    expect(session.messages()).toHaveLength(1);
    const events = await collect(session.events());
    expect(events[2]).toMatchObject({ seq: 3, type: 'step/noted', number: 7 });
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3, 4]);
    expect(errors).toMatchObject([{ code: 'EVENT_INVALID', message: expect.stringContaining('event 3') }]);
    await session.append([{ type: 'step/noted', text: 'c' }]);
    expect(session.select(plan).all()).toEqual(['a', 'b', 'c']);
    const fork = await session.fork();
    expect(fork.select(plan).all()).toEqual(['a', 'b', 'c']);
  });
});

test('an event whose upcaster throws is not folded under its old type either', async () => {
  const store = memoryStore();
  const writer = await openSession({ store, id: 's1' });
  await writer.append([{ type: 'plan/added', step: 'from before' }, user('hi', 0), { type: 'plan/added', step: 'b' }]);
  await writer.compact();
  const strict: Upcasters = {
    'plan/added': (event) => {
      if ((event as { step?: string }).step !== 'b') throw new Error('no');
      return event;
    },
    'message/recorded': () => {
      throw new Error('no');
    },
  };
  const seen: number[] = [];
  const session = await openSession({ store, id: 's1', slices: [plan], upcasters: strict, onError: () => {} });
  expect(session.select(plan).all()).toEqual(['b']);
  session.subscribe((event) => void seen.push(event.seq));
  await writer.append([{ type: 'plan/added', step: 'x' }, user('more', 1), { type: 'plan/added', step: 'b' }]);
  await session.refresh();
  expect(session.select(plan).all()).toEqual(['b', 'b']);
  expect(seen).toEqual([4, 5, 6]);
});

test('a transaction reads its own event under its translated type', async () => {
  const session = await openSession({ store: memoryStore(), id: 's1', slices: [plan], upcasters });
  await session.transaction(async (tx) => {
    await tx.dispatch({ type: 'step/noted', text: 'a' } as never);
    expect(tx.select(plan).all()).toEqual(['a']);
  });
  expect(session.select(plan).all()).toEqual(['a']);
});
