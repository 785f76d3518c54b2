import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { appendAll, defineSlice } from '../../src/core/fold/slices.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { messages } from '../../src/core/views/session-view.ts';
import { appendForLoop } from '../../src/session/append/append-for-loop.ts';
import { openSession, type SessionAppendOptions } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { arbitraryDrafts, SLICES } from '../core/arbitraries.ts';
import { foldLog, messageOf, plain, started, timeOf, user } from '../core/log.ts';
import { appendDraft, expectGapless, logIn, rejection } from './log-of.ts';
import { countingStore, failingStore, STORES } from './stores.ts';

const things = defineSlice({
  name: 'things',
  initial: [],
  on: {
    'thing/happened': appendAll,
    'a/a': appendAll,
    'b/b': appendAll,
    'c/c': appendAll,
    'too/large': appendAll,
    'big/number': appendAll,
  },
});

describe.for(STORES)('dispatch, on %s', ([, create]) => {
  test('I1: resolves when the event is durable, with its seq', async () => {
    const store = await create();
    const session = await openSession({ store, id: 's1', slices: [things], clock: fakeClock(Date.UTC(2026, 0, 1)) });
    expect(await session.dispatch({ type: 'thing/happened', n: 1 })).toEqual({ seq: 1 });
    expect(await logIn(store)).toEqual([{ seq: 1, at: '2026-01-01T00:00:00.000Z', type: 'thing/happened', n: 1 }]);
    expect(session.seq).toBe(1);
  });

  test('events are appended in the order of the calls, also when one of them has external content', async () => {
    const store = await create();
    const session = await openSession({ store, id: 's1', slices: [things], maxInlineLength: 10 });
    const seqs = await Promise.all([
      session.dispatch({ type: 'a/a' }),
      session.append([user('x'.repeat(50), 0)]),
      session.dispatch({ type: 'b/b' }),
      session.append([{ type: 'c/c' }, { type: 'd/d' }]),
    ]);
    expect(seqs.map(({ seq }) => seq)).toEqual([1, 2, 3, 5]);
    expect((await logIn(store)).map((event) => event.type)).toEqual(['a/a', 'message/recorded', 'b/b', 'c/c', 'd/d']);
  });

  test('the state after dispatches of several handles, in any order, is the state after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryDrafts, async (drafts) => {
        const store = await create();
        const live = await openSession({ store, id: 's1', slices: SLICES });
        // Two messages for one position are rejected (D12): another test covers it.
        await Promise.allSettled(drafts.map((draft) => appendDraft(live, draft)));
        const log = await logIn(store);
        expectGapless(log);
        expect(plain(live.state)).toEqual(plain(foldLog(log, SLICES)));
        expect(plain((await openSession({ store, id: 's1', slices: SLICES })).state)).toEqual(plain(live.state));
      }),
      { numRuns: 15 },
    );
  });
});

describe('concurrent appends', () => {
  test('share one commit', async () => {
    const { store, counts } = countingStore(memoryStore());
    const session = await openSession({ store, id: 's1', slices: [things] });
    await Promise.all(Array.from({ length: 50 }, (_, n) => session.dispatch({ type: 'thing/happened', n })));
    expect(counts.appends).toBe(1);
    expect(session.seq).toBe(50);
  });

  test('share one commit with the append that is marked as the last, and do not wait for the end of the turn', async () => {
    const { store, counts } = countingStore(memoryStore());
    const session = await openSession({ store, id: 's1', slices: [things] });
    let turned = false;
    void setImmediate().then(() => {
      turned = true;
    });
    const first = session.dispatch({ type: 'a/a' });
    await Promise.resolve(); // a little later, as the result of a second tool
    await Promise.all([first, appendForLoop(session, [{ type: 'b/b' }], { now: true })]);
    expect([counts.appends, turned, session.seq]).toEqual([1, false, 2]);
    await session.dispatch({ type: 'c/c' });
    expect([counts.appends, turned, session.seq]).toEqual([2, true, 3]);
  });

  test('fail separately: a rejected event does not affect the others', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [things], maxEventLength: 200, maxInlineLength: 10 });
    const outcomes = await Promise.allSettled([
      session.dispatch({ type: 'a/a' }),
      session.dispatch({ type: 'too/large', text: 'x'.repeat(300) }),
      // Its content is stored before its size is known: the rejection comes late.
      session.append([user('x'.repeat(50), 0), { type: 'too/large', text: 'x'.repeat(300) }]),
      session.dispatch({ type: 'big/number', n: 1n }),
      session.dispatch({ type: 'b/b' }),
    ]);
    expect(outcomes.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled']);
    expect((await logIn(store)).map((event) => event.type)).toEqual(['a/a', 'b/b']);
  });

  test('without events write nothing', async () => {
    const { store, counts } = countingStore(memoryStore());
    const session = await openSession({ store, id: 's1' });
    expect(await session.append([])).toEqual({ seq: 0 });
    expect(counts.appends).toBe(0);
  });
});

describe('events that are already plain data', () => {
  const plainly = (text: string): [readonly [ReturnType<typeof user>], { readonly plain: number }] => [
    [user(text, 0)],
    { plain: text.length + 1000 },
  ];

  test('are stored as they are, with their time', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', clock: fakeClock(Date.UTC(2026, 0, 1)) });
    const [events, options] = plainly('hi');
    await appendForLoop(session, events, options);
    expect(session.messages()[0]).toBe((events[0] as { readonly message?: unknown }).message);
    expect(await logIn(store)).toEqual([{ ...user('hi', 0), seq: 1, at: '2026-01-01T00:00:00.000Z' }]);
  });

  test('are redacted, rejected when they are too long, and their large content is external, like all others', async () => {
    const hidden = await openSession({
      store: memoryStore(),
      id: 's1',
      redact: (event) => JSON.parse(JSON.stringify(event).replaceAll('secret', '***')),
    });
    await appendForLoop(hidden, ...plainly('a secret'));
    expect(JSON.stringify(hidden.messages())).not.toContain('secret');
    const strict = await openSession({ store: memoryStore(), id: 's1', maxEventLength: 2000 });
    expect(await rejection(appendForLoop(strict, ...plainly('x'.repeat(3000))))).toMatchObject({
      code: 'EVENT_TOO_LARGE',
    });
    const apart = await openSession({ store: memoryStore(), id: 's1', maxInlineLength: 2000 });
    await appendForLoop(apart, ...plainly('x'.repeat(3000)));
    expect(apart.messages()[0]?.content).toMatchObject([{ type: 'file', standsFor: 'text' }]);
  });
});

test('a program cannot claim that its events are plain or discarded: `append` copies them and marks nothing', async () => {
  const store = memoryStore();
  const session = await openSession({ store, id: 's1', slices: [things] });
  const event = { type: 'thing/happened', list: [1] };
  await session.append([event], { plain: 100, discarded: 1, now: true } as SessionAppendOptions);
  event.list.push(2);
  expect(session.select(things).latest()).toMatchObject({ list: [1] });
  expect((await logIn(store))[0]).not.toHaveProperty('discarded');
  expect(event).toEqual({ type: 'thing/happened', list: [1, 2] });
});

describe('D12: one message per position', () => {
  const said = (text: string, more: object = {}) => ({
    type: 'message/recorded',
    message: messageOf('user', text, 0, more),
  });

  test('the same message again is a no-op at any time; another message is a conflict', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    await session.append([said('hi')]);
    await session.append([said('hi', { createdAt: timeOf(99) })]);
    expect(session.messages()).toHaveLength(1);
    const before = await logIn(store);
    expect(await rejection(session.append([said('other')]))).toMatchObject({
      code: 'SESSION_CONFLICT',
      detail: 'sequence',
    });
    expect(await logIn(store)).toEqual(before);
  });

  test('of two handles that both found the position free one is rejected with a conflict', async () => {
    const store = memoryStore();
    const [one, other] = [await openSession({ store, id: 's1' }), await openSession({ store, id: 's1' })];
    const outcomes = await Promise.allSettled([one.append([said('one')]), other.append([said('other')])]);
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await logIn(store)).toHaveLength(1);
    await Promise.all([one.refresh(), other.refresh()]);
    expect(one.messages()).toEqual(other.messages());
  });

  test('so is the second of two in one commit; the other events of the commit are written', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [things] });
    const outcomes = await Promise.allSettled([
      session.append([said('one')]),
      session.append([said('other'), { type: 'a/a' }]),
      session.append([said('one')]),
      session.dispatch({ type: 'b/b' }),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect((await logIn(store)).map((event) => event.type)).toEqual(['message/recorded', 'message/recorded', 'b/b']);
    expect(session.messages()).toHaveLength(1);
  });

  test('two messages for one position in one append are rejected', async () => {
    const session = await openSession({ store: memoryStore(), id: 's1' });
    expect(await rejection(session.append([said('one'), said('other')]))).toMatchObject({ code: 'SESSION_CONFLICT' });
    expect(session.seq).toBe(0);
  });

  test('the same holds for redacted messages and for external content', async () => {
    const session = await openSession({
      store: memoryStore(),
      id: 's1',
      maxInlineLength: 10,
      redact: (event) => JSON.parse(JSON.stringify(event).replaceAll('secret', '***')),
    });
    await session.append([said('secret')]);
    await session.append([said('secret')]);
    const large = { type: 'message/recorded', message: messageOf('user', 'x'.repeat(40), 1) };
    await session.append([large]);
    await session.append([large]);
    expect(session.messages()).toHaveLength(2);
  });
});

describe('an event is recorded as it was when it was dispatched', () => {
  test('even if the caller changes the object afterwards', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [things] });
    const event = { type: 'thing/happened', list: [1], inner: { text: 'before' } };
    const done = session.append([event]);
    event.inner.text = 'after';
    event.list.push(2);
    await done;
    event.type = 'thing/changed';
    const [logged] = await logIn(store);
    expect(logged).toMatchObject({ type: 'thing/happened', list: [1], inner: { text: 'before' } });
    expect(session.select(things).all()).toEqual([logged]);
  });

  test('and the live state equals the state after a restart', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [things] });
    await session.dispatch({
      type: 'thing/happened',
      date: new Date(0),
      nothing: undefined,
      zero: -0,
      url: new URL('https://example.org/a'),
      list: [null, [], new String('boxed')],
    });
    const again = await openSession({ store, id: 's1', slices: [things] });
    expect(session.select(things).all()).toStrictEqual(again.select(things).all());
    expect(session.select(things).latest()).toMatchObject({
      date: '1970-01-01T00:00:00.000Z',
      zero: 0,
      url: 'https://example.org/a',
      list: [null, [], 'boxed'],
    });
  });

  test("its seq and time are the log's, not the caller's", async () => {
    const session = await openSession({ store: memoryStore(), id: 's1', clock: fakeClock(0), slices: [things] });
    await session.append([{ type: 'thing/happened' }]);
    expect(session.select(things).latest()).toMatchObject({ seq: 1, at: '1970-01-01T00:00:00.000Z' });
  });

  test.for([{ seq: 77 }, { at: '2026-05-01' }, { discarded: true }, { discarded: false }])(
    'D21: with a field that only the session may set, %j, it is rejected',
    async (field) => {
      const store = memoryStore();
      const session = await openSession({ store, id: 's1', slices: [things] });
      const [name] = Object.keys(field);
      const refused = { code: 'EVENT_INVALID', message: expect.stringContaining(`"${name}"`) };
      const event = { type: 'thing/happened', ...field };
      expect(await rejection(session.append([event]))).toMatchObject(refused);
      expect(await rejection(appendForLoop(session, [event], { discarded: 1 }))).toMatchObject(refused);
      expect(await rejection(session.transaction((tx) => tx.dispatch(event as never)))).toMatchObject(refused);
      expect(await logIn(store)).toEqual([]);
    },
  );

  test.for<readonly [string, unknown, string]>([
    ['NaN', { total: Number.NaN }, 'total'],
    ['an infinite number', { list: [1, -Infinity] }, 'list[1]'],
    ['a Map', { deep: { map: new Map([[1, 2]]) } }, 'deep.map'],
    ['a Set', { tags: new Set(['a']) }, 'tags'],
    ['undefined in a list', { list: [1, undefined] }, 'list[1]'],
    ['a hole in a list', { list: new Array(1) }, 'list[0]'],
    ['a function', { call: () => 1 }, 'call'],
    ['a symbol', { list: [{ mark: Symbol('x') }] }, 'list[0].mark'],
    ['a field that a symbol names', { inner: { [Symbol('x')]: 1 } }, 'inner'],
    ['a bigint', { n: 1n }, 'n'],
    ['an instance of a class', { cart: new (class Cart {})() }, 'cart'],
    ['an error', { error: new Error('x') }, 'error'],
    ['bytes', { bytes: new Uint8Array(2) }, 'bytes'],
    ['an invalid date', { due: new Date(Number.NaN) }, 'due'],
  ])(
    'I10: with %s, which JSON cannot represent, it is rejected and the error names the path',
    async ([, fields, path]) => {
      const store = memoryStore();
      const session = await openSession({ store, id: 's1', slices: [things] });
      const refused = { code: 'EVENT_INVALID', message: expect.stringContaining(`recorded: ${path} is `) };
      const event = { type: 'thing/happened', ...(fields as object) };
      expect(await rejection(session.append([event]))).toMatchObject(refused);
      expect(await rejection(session.transaction((tx) => tx.dispatch(event as never)))).toMatchObject(refused);
      expect(await rejection(session.describe({ metadata: fields as Record<string, unknown> }))).toMatchObject({
        code: 'EVENT_INVALID',
        message: expect.stringContaining(`recorded: metadata.${path} is `),
      });
      expect(await logIn(store)).toEqual([]);
    },
  );
});

describe('D58: redact', () => {
  test('runs once on every event, also on those of a transaction, a failed tool and a restore', async () => {
    const seen: string[] = [];
    const store = memoryStore();
    const session = await openSession({
      store,
      id: 's1',
      slices: [things],
      redact: (event) => {
        seen.push(event.type);
        return { ...event, times: (((event as { times?: number }).times as number) ?? 0) + 1 } as typeof event;
      },
    });
    await session.dispatch({ type: 'thing/happened' });
    await session.transaction((tx) => tx.dispatch({ type: 'thing/happened' }));
    const stage = session.stage();
    await stage.dispatch({ type: 'thing/happened' });
    await appendForLoop(session, stage.close() as readonly { type: string }[], { discarded: 1 });
    await session.restore(session.snapshot());
    expect((await logIn(store)).map((event) => (event as { times?: number }).times)).toEqual([1, 1, 1, 1]);
    expect(seen).toEqual(['thing/happened', 'thing/happened', 'thing/happened', 'session/restored']);
  });

  test('redacted text is in no state, log or snapshot', async () => {
    const store = memoryStore();
    const session = await openSession({
      store,
      id: 's1',
      slices: [things],
      redact: (event) => JSON.parse(JSON.stringify(event).replaceAll('secret', '***')),
    });
    await session.append([user('my secret', 0), { type: 'thing/happened', text: 'secret' }]);
    await session.compact();
    const everything = [
      session.select(messages).all(),
      session.select(things).all(),
      await logIn(store),
      await store.readSnapshot('s1'),
    ];
    expect(JSON.stringify(everything)).not.toContain('secret');
  });

  test.for<readonly [string, (event: unknown) => unknown]>([
    ['forgets to return it', () => undefined],
    ['takes its type away', () => ({})],
    ['breaks a message', (event) => ({ ...(event as object), message: null })],
    [
      'throws',
      () => {
        throw new Error('redact');
      },
    ],
  ])('a redact function that %s records nothing', async ([, redact]) => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', redact: redact as never });
    await rejection(session.append([user('hi', 0)]));
    expect(await logIn(store)).toEqual([]);
  });
});

describe('a deleted session', () => {
  test('rejects a dispatch with SESSION_NOT_FOUND instead of retrying for ever', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1', slices: [things] });
    await session.append([started(), user('hi', 0)]);
    await store.deleteSession('s1');
    expect(await rejection(session.dispatch({ type: 'a/a' }))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('a store that fails twice rejects the dispatch, and the next dispatch finds out whether it was written', async () => {
    const memory = memoryStore();
    let faults = 2;
    const session = await openSession({
      store: failingStore(memory, () => (faults-- > 0 ? 'after' : 'none')),
      id: 's1',
      slices: [things],
    });
    expect(await rejection(session.dispatch({ type: 'a/a' }))).toMatchObject({ code: 'STORE_FAILED' });
    expect(await session.dispatch({ type: 'b/b' })).toEqual({ seq: 2 });
    expect((await logIn(memory)).map((event: SessionEvent) => event.type)).toEqual(['a/a', 'b/b']);
  });
});
