import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isUserEvent, type SessionEvent } from '../../src/core/log/events.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { collect, logIn, rejection, until } from './log-of.ts';
import { STORES, slowStore, withChanges } from './stores.ts';

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
const seqOf = (event: SessionEvent): number => event.seq;

describe.for(STORES)('subscribe and events, on %s', ([kind, create]) => {
  test('I7: a listener that starts at any time receives each event once, in order, from its position', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            handle: fc.nat({ max: 2 }),
            events: fc.integer({ min: 1, max: 3 }),
            listen: fc.boolean(),
            from: fc.nat({ max: 12 }),
            rest: fc.boolean(),
          }),
          { minLength: 1, maxLength: 12 },
        ),
        fc.infiniteStream(fc.nat({ max: 3 })),
        async (steps, turns) => {
          const plainStore = await create();
          const store = slowStore(plainStore, () => turns.next().value ?? 0);
          const open = () => openSession({ store, id: 's1' });
          const handles = [await open(), await open(), await open()];
          const listeners: { readonly from: number; readonly seen: number[] }[] = [];
          const underWay: Promise<unknown>[] = [];
          const abort = new AbortController();
          for (const step of steps) {
            const session = handles[step.handle];
            if (!session) continue;
            if (step.listen) {
              // 0 stands for a subscription to future events only.
              const pushed = { from: step.from === 0 ? session.seq + 1 : step.from, seen: [] as number[] };
              listeners.push(pushed);
              session.subscribe(
                (event) => void pushed.seen.push(event.seq),
                step.from === 0 ? {} : { from: step.from },
              );
              const pulled = { from: Math.max(1, step.from), seen: [] as number[] };
              listeners.push(pulled);
              underWay.push(
                (async () => {
                  for await (const event of session.events({ from: pulled.from, live: true, signal: abort.signal }))
                    pulled.seen.push(event.seq);
                })(),
              );
            }
            const appended = session.append(numbers(1, step.events).map((n) => ({ type: 'thing/happened', n })));
            if (step.rest) await appended;
            else underWay.push(appended);
          }
          const head = steps.reduce((sum, step) => sum + step.events, 0);
          await until(() => listeners.every(({ from, seen }) => seen.length >= head - from + 1));
          for (const { from, seen } of listeners) expect(seen).toEqual(numbers(from, head));
          abort.abort();
          await Promise.all(underWay);
          expect(await logIn(plainStore)).toHaveLength(head);
        },
      ),
      { numRuns: kind === 'memory' ? 80 : 10 },
    );
  });
});

async function sessionOf(count: number, options: { readonly onError?: (error: unknown) => void } = {}) {
  const store = memoryStore();
  const session = await openSession({ store, id: 's1', ...options });
  if (count > 0) await session.append(numbers(1, count).map((n) => ({ type: n % 2 ? 'odd/one' : 'even/one', n })));
  return { store, session };
}

/** A store whose next few reads fail. */
function unreadable() {
  const memory = memoryStore();
  const failures = { left: 0 };
  const store = withChanges(memory, {
    async *read(...args) {
      if (failures.left-- > 0) throw new Error('unreadable');
      yield* memory.read(...args);
    },
  });
  return { store, failures };
}

describe('subscribe', () => {
  test.for([
    [1, [1, 2, 3, 4, 5]],
    [3, [3, 4, 5]],
    [4, [4, 5]],
    [5, [5]],
    [undefined, [4, 5]],
  ] as const)('from %s is inclusive: %s', async ([from, expected]) => {
    const { session } = await sessionOf(3);
    const seen: number[] = [];
    session.subscribe((event) => void seen.push(event.seq), from === undefined ? {} : { from });
    await session.append([{ type: 'a/a' }, { type: 'b/b' }]);
    await until(() => seen.length >= expected.length);
    expect(seen).toEqual(expected);
  });

  test.for([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('from %s is not a valid position', async (from) => {
    const { session } = await sessionOf(1);
    expect(() => session.subscribe(() => {}, { from })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(await rejection(collect(session.events({ from })))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('receives only the given types, past and future', async () => {
    const { session } = await sessionOf(4);
    const seen: number[] = [];
    session.subscribe((event) => void seen.push(event.seq), { from: 1, types: ['odd/one'] });
    await session.append([{ type: 'even/one' }, { type: 'odd/one' }]);
    await until(() => seen.length >= 3);
    expect(seen).toEqual([1, 3, 6]);
  });

  test('an error of one listener, thrown or rejected, reaches neither other listeners nor the writer', async () => {
    const errors: unknown[] = [];
    const { session } = await sessionOf(1, { onError: (error) => errors.push(error) });
    const seen: number[] = [];
    session.subscribe(() => {
      throw new Error('thrown');
    });
    session.subscribe(() => Promise.reject(new Error('rejected')), { from: 1 });
    session.subscribe((event) => void seen.push(event.seq), { from: 1 });
    await session.append([{ type: 'a/a' }]);
    await until(() => seen.length === 2 && errors.length === 3);
    expect(errors.map(String).sort()).toEqual(['Error: rejected', 'Error: rejected', 'Error: thrown']);
  });

  test('stops when it is unsubscribed, also while it catches up', async () => {
    const { session } = await sessionOf(5);
    const seen: number[] = [];
    const stop = session.subscribe(
      (event) => {
        seen.push(event.seq);
        if (event.seq === 2) stop();
      },
      { from: 1 },
    );
    await session.append([{ type: 'a/a' }]);
    await collect(session.events());
    expect(seen).toEqual([1, 2]);
  });

  test('a listener may dispatch: it receives its own event later', async () => {
    const { session } = await sessionOf(0);
    const seen: string[] = [];
    session.subscribe(async (event) => {
      seen.push(event.type);
      if (isUserEvent(event, 'ping/sent')) await session.append([{ type: 'pong/sent' }]);
    });
    await session.append([{ type: 'ping/sent' }]);
    await until(() => seen.length === 2);
    expect(seen).toEqual(['ping/sent', 'pong/sent']);
  });

  test('a failed read of the log is reported', async () => {
    const { store, failures } = unreadable();
    const errors: unknown[] = [];
    const session = await openSession({ store, id: 's1', onError: (error) => errors.push(error) });
    failures.left = 1;
    session.subscribe(() => {}, { from: 1 });
    await until(() => errors.length > 0);
    expect(errors).toEqual([new Error('unreadable')]);
  });
});

describe('events', () => {
  test.for([
    [{}, [1, 2, 3]],
    [{ from: 2 }, [2, 3]],
    [{ from: 9 }, []],
    [{ types: ['even/one'] }, [2]],
    [{ types: [] }, []],
  ] as const)('without live ends at the end of the log: %o yields %s', async ([options, expected]) => {
    const { session } = await sessionOf(3);
    expect((await collect(session.events(options))).map(seqOf)).toEqual(expected);
  });

  test('live continues until the signal aborts, with events of any handle', async () => {
    const { store, session } = await sessionOf(1);
    const other = await openSession({ store, id: 's1' });
    const abort = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const event of session.events({ live: true, signal: abort.signal })) seen.push(event.seq);
    })();
    await session.append([{ type: 'a/a' }]);
    await until(() => seen.length === 2);
    await other.append([{ type: 'b/b' }]);
    await until(() => seen.length === 3);
    abort.abort();
    await reading;
    await session.append([{ type: 'c/c' }]);
    expect(seen).toEqual([1, 2, 3]);
  });

  test('live ends when the session is closed', async () => {
    const { session } = await sessionOf(2);
    const reading = collect(session.events({ live: true }));
    await session.refresh();
    await session.close();
    expect((await reading).map(seqOf)).toEqual([1, 2]);
  });

  test('an aborted signal yields nothing', async () => {
    const { session } = await sessionOf(2);
    expect(await collect(session.events({ live: true, signal: AbortSignal.abort() }))).toEqual([]);
  });

  test('a signal ends it between two events', async () => {
    const { session } = await sessionOf(3);
    const abort = new AbortController();
    const seen: number[] = [];
    for await (const event of session.events({ signal: abort.signal })) {
      seen.push(event.seq);
      if (event.seq === 2) abort.abort();
    }
    expect(seen).toEqual([1, 2]);
  });

  test('a reader that stops does not block anything, and its watcher is removed', async () => {
    const memory = memoryStore();
    let watching = 0;
    const store = withChanges(memory, {
      watch(...args) {
        watching++;
        const stop = memory.watch(...args);
        return () => {
          watching--;
          stop();
        };
      },
    });
    const session = await openSession({ store, id: 's1' });
    await session.append([{ type: 'a/a' }]);
    expect(watching).toBe(0);
    for await (const event of session.events({ live: true })) {
      expect(event.seq).toBe(1);
      expect(watching).toBe(1);
      break;
    }
    expect(watching).toBe(0);
    const stops = [session.subscribe(() => {}), session.subscribe(() => {}, { from: 1 })];
    expect(watching).toBe(1);
    for (const stop of stops) stop();
    expect(watching).toBe(0);
    session.subscribe(() => {});
    await session.close();
    expect(watching).toBe(0);
  });
});

describe('refresh', () => {
  test('reads everything committed before the call, even if another refresh is running', async () => {
    const store = memoryStore();
    const slow = slowStore(store, () => 2);
    const session = await openSession({ store: slow, id: 's1' });
    const writer = await openSession({ store, id: 's1' });
    const first = session.refresh();
    await writer.append([{ type: 'a/a' }]);
    await session.refresh();
    expect(session.seq).toBe(1);
    await first;
  });

  test('that fails rejects for its caller, and the next one reads again', async () => {
    const { store, failures } = unreadable();
    const session = await openSession({ store, id: 's1' });
    failures.left = 1;
    const [first, second] = [session.refresh(), session.refresh()];
    expect(await rejection(first)).toEqual(new Error('unreadable'));
    await second;
    await session.refresh();
  });
});

describe('close', () => {
  test('waits for running dispatches, and rejects later ones', async () => {
    const store = memoryStore();
    const session = await openSession({ store, id: 's1' });
    const dispatched = session.append([{ type: 'a/a' }]);
    const closed = session.close();
    const late = [
      () => session.append([{ type: 'b/b' }]),
      () => session.refresh(),
      () => session.compact(),
      () => session.fork(),
      () => session.describe({ title: 'x' }),
      async () => session.subscribe(() => {}),
      async () => session.stage(),
      () => collect(session.events()),
    ];
    for (const call of late) expect(await rejection(call())).toMatchObject({ code: 'SESSION_CLOSED' });
    await closed;
    expect(await dispatched).toEqual({ seq: 1 });
    expect(await logIn(store)).toHaveLength(1);
    expect(session.seq).toBe(1);
    await session.close();
  });

  test('leaves the store and other handles open', async () => {
    const store = memoryStore();
    const [one, other] = [await openSession({ store, id: 's1' }), await openSession({ store, id: 's1' })];
    await one.close();
    expect(await other.append([{ type: 'a/a' }])).toEqual({ seq: 1 });
  });

  test('notifies no listener afterwards, not even one that is catching up', async () => {
    const { store, session } = await sessionOf(3);
    const seen: number[] = [];
    const slow = await openSession({ store: slowStore(store, () => 1), id: 's1' });
    slow.subscribe((event) => void seen.push(event.seq), { from: 1 });
    await slow.close();
    const told = seen.length;
    await session.append([{ type: 'a/a' }]);
    for (let turns = 0; turns < 20; turns++) await setImmediate(); // by then it would have caught up
    expect(seen).toHaveLength(told);
    expect(told).toBeLessThan(3);
  });
});
