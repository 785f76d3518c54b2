import { describe, expect, test } from 'vitest';
import { defineSlice } from '../../src/core/fold/slices.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';

import { STORES } from './stores.ts';

describe.for(STORES)('title, tags and metadata, on %s', ([, create]) => {
  test('belong to the session, and are in the list of sessions', async () => {
    const store = await create();
    const session = await openSession({ store, id: 's1' });
    expect(session.summary).toBeUndefined();
    await session.describe({ title: 'Review', tags: ['code', 'urgent'], metadata: { owner: 'ada', pull: 7 } });
    await session.describe({ metadata: { pull: null, state: 'open' } });
    expect(session.summary).toMatchObject({
      title: 'Review',
      tags: ['code', 'urgent'],
      metadata: { owner: 'ada', state: 'open' },
    });
    expect((await openSession({ store, id: 's1' })).summary).toEqual(session.summary);
    const listed = async (filter: Parameters<typeof store.listSessions>[0]) =>
      (await store.listSessions(filter)).sessions.map((one) => one.id);
    expect(await listed({ tags: ['urgent'] })).toEqual(['s1']);
    expect(await listed({ metadata: { owner: 'ada' } })).toEqual(['s1']);
    expect(await listed({ metadata: { pull: 7 } })).toEqual([]);
  });
});

describe('upcasters', () => {
  const plan = defineSlice({
    name: 'plan',
    initial: [] as string[],
    on: { 'plan/added': (items, event: { step: string }) => [...items, event.step] },
  });
  const upcasters = {
    'step/added': (event: SessionEvent) => ({ ...event, type: 'plan/added', step: (event as { what?: string }).what }),
  };

  test('old events are read under their new type everywhere, and are stored unchanged', async () => {
    const store = memoryStore();
    const old = await openSession({ store, id: 's1' });
    await old.append([{ type: 'step/added', what: 'a' }]);
    const session = await openSession({ store, id: 's1', slices: [plan], upcasters });
    const seen: string[] = [];
    session.subscribe((event) => void seen.push(event.type), { from: 1 });
    await old.append([{ type: 'step/added', what: 'b' }]);
    await session.refresh();
    expect(session.select(plan).all()).toEqual(['a', 'b']);
    for await (const event of session.events()) expect(event.type).toBe('plan/added');
    for await (const event of store.read('s1')) expect(event.type).toBe('step/added');
    expect(seen).toContain('plan/added');
  });

  test('an event that is dispatched under an old type is folded as after a restart', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [plan], upcasters });
    await session.dispatch({ type: 'step/added', what: 'a' } as never);
    expect(session.select(plan).all()).toEqual(['a']);
    expect((await openSession({ store, id: 's1', slices: [plan], upcasters })).select(plan).all()).toEqual(['a']);
  });

  test('a failing upcaster is reported as a typed error, and its event is kept', async () => {
    const store = memoryStore();
    await (await openSession({ store, id: 's1' })).append([{ type: 'step/added' }]);
    const broken = { 'step/added': () => null as unknown as SessionEvent };
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    expect((await openSession({ store, id: 's1', upcasters: broken, onError })).seq).toBe(1);
    expect(errors).toMatchObject([{ code: 'EVENT_INVALID' }]);
  });
});

test('a reducer that throws is reported with its slice and event, and does not affect other slices', async () => {
  const broken = defineSlice({
    name: 'broken',
    initial: [] as string[],
    on: {
      'a/a': () => {
        throw new Error('cannot');
      },
    },
  });
  const errors: Error[] = [];
  const session = await openSession({
    store: memoryStore(),
    id: 's1',
    slices: [broken],
    onError: (error) => errors.push(error as Error),
  });
  await session.dispatch({ type: 'a/a' });
  expect(session.seq).toBe(1);
  expect(errors).toMatchObject([
    { code: 'EVENT_INVALID', message: expect.stringMatching(/"broken".*a\/a at 1: cannot/) },
  ]);
});
