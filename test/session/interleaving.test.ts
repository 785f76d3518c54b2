/**
 * Several handles on one session, with any interleaving: no event is lost or repeated, and all handles have the same state (I1, I6).
 * The handles and the store are real; only the store's timing is generated.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../../src/core/errors.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { SLICES } from '../core/arbitraries.ts';
import { foldLog, messageOf, plain } from '../core/log.ts';
import { expectGapless, logIn, rejection } from './log-of.ts';
import { type Fault, failingStore, STORES, slowStore } from './stores.ts';

type Step =
  | { readonly do: 'dispatch'; readonly handle: number; readonly events: number; readonly large: boolean }
  | { readonly do: 'transaction' | 'refresh' | 'open' | 'reopen' | 'compact' | 'await'; readonly handle: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('dispatch' as const),
      handle: fc.nat(),
      events: fc.integer({ min: 1, max: 3 }),
      large: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('transaction', 'refresh', 'open', 'reopen', 'compact', 'await'),
      handle: fc.nat(),
    }),
  },
);

const LIMITS = { maxInlineLength: 20, slices: SLICES, id: 's1' } as const;

/** One requested append: its handle, its events and its outcome. */
interface Asked {
  readonly handle: number;
  /** A transaction is appended when its body ends: only the other appends are in call order. */
  readonly ordered: boolean;
  readonly marks: readonly string[];
  outcome: number | 'refused' | 'unknown' | undefined;
}

/** Runs all operations of the handles concurrently and returns the requested appends. */
async function play(
  store: Store,
  steps: readonly Step[],
): Promise<{ asked: Asked[]; handles: Session<typeof SLICES>[] }> {
  const open = () => openSession({ store, ...LIMITS });
  const handles = [await open(), await open()];
  const asked: Asked[] = [];
  const underWay: Promise<unknown>[] = [];
  let count = 0;

  const ask = (
    one: Step,
    handle: number,
    events: number,
    run: (marks: readonly string[]) => Promise<{ seq: number }>,
  ): void => {
    const marks = Array.from({ length: events }, () => `mark ${++count}`);
    const entry: Asked = { handle, ordered: one.do === 'dispatch', marks, outcome: undefined };
    asked.push(entry);
    underWay.push(
      run(marks).then(
        ({ seq }) => {
          entry.outcome = seq;
        },
        (error: unknown) => {
          entry.outcome = isHoldfastError(error, 'STORE_FAILED') ? 'unknown' : 'refused';
          if (!isHoldfastError(error)) throw error;
        },
      ),
    );
  };

  for (const one of steps) {
    const at = one.handle % handles.length;
    const session = handles[at];
    if (!session) continue;
    if (one.do === 'dispatch') {
      ask(one, at, one.events, (marks) =>
        session.append(
          marks.map((mark) =>
            one.large
              ? {
                  type: 'message/recorded',
                  message: messageOf('user', `${mark} ${'large '.repeat(5)}`, 0, { evaluationId: mark, id: mark }),
                }
              : { type: 'plan/added', step: mark },
          ),
        ),
      );
    } else if (one.do === 'transaction') {
      ask(one, at, 2, async (marks) => {
        await session.transaction(async (tx) => {
          for (const mark of marks) await tx.dispatch({ type: 'plan/added', step: mark });
          expect(JSON.stringify(tx.select(SLICES[0]).all())).toContain(`"${marks[1]}"`);
        });
        return { seq: session.seq };
      });
    } else if (one.do === 'refresh') underWay.push(session.refresh());
    else if (one.do === 'compact') underWay.push(session.compact());
    else if (one.do === 'open') handles.push(await open());
    else if (one.do === 'reopen') {
      await session.close();
      handles[at] = await open();
    } else await Promise.all(underWay);
  }
  await Promise.all(underWay);
  return { asked, handles };
}

/** Expects that everything was written, except transactions whose handle was closed before their body ended. */
function expectWritten(asked: readonly Asked[]): void {
  const written = asked.filter((one) => one.ordered || one.outcome !== 'refused');
  expect(written.map((one) => one.outcome)).toEqual(written.map(() => expect.any(Number)));
}

async function expectSound(
  store: Store,
  asked: readonly Asked[],
  handles: readonly Session<typeof SLICES>[],
): Promise<void> {
  const log = await logIn(store);
  expectGapless(log);
  const markOf = (event: object): string => {
    const { step: mark, message } = event as { readonly step?: string; readonly message?: { readonly id: string } };
    return mark ?? message?.id ?? '';
  };
  const logged = log.map(markOf);
  for (const { marks, outcome } of asked) {
    const at = logged.indexOf(marks[0] ?? '');
    if (typeof outcome === 'number' || at >= 0) {
      // Acknowledged, or written without acknowledgement: all events of it, contiguous, once.
      expect(logged.slice(at, at + marks.length)).toEqual(marks);
      expect(logged.indexOf(marks[0] ?? '', at + 1)).toBe(-1);
    }
    if (outcome === 'refused') expect(at).toBe(-1);
  }
  const asIn = (handle: number): string[] =>
    asked.filter((one) => one.handle === handle && one.ordered).flatMap((one) => one.marks);
  for (const at of handles.keys()) {
    const own = new Set(asIn(at));
    const mine = logged.filter((mark) => own.has(mark));
    expect(mine).toEqual(asIn(at).filter((mark) => mine.includes(mark)));
  }
  const expected = plain(foldLog(log, SLICES));
  for (const handle of handles) {
    await handle.refresh();
    expect(plain(handle.state)).toEqual(expected);
  }
  expect(plain((await openSession({ store, ...LIMITS })).state)).toEqual(expected);
}

describe.for(STORES)('I1, I6: handles that interleave, on %s', ([kind, create]) => {
  test('lose and repeat no event, keep the order of each handle, and end in the same state', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        fc.infiniteStream(fc.nat({ max: 3 })),
        async (steps, turns) => {
          const plainStore = await create();
          const store = slowStore(plainStore, () => turns.next().value ?? 0);
          const { asked, handles } = await play(store, steps);
          expectWritten(asked);
          await expectSound(plainStore, asked, handles);
        },
      ),
      { numRuns: kind === 'memory' ? 120 : 15 },
    );
  });
});

describe('D51: a store that loses acknowledgements', () => {
  const faults = fc.infiniteStream(fc.constantFrom<Fault>('none', 'none', 'none', 'before', 'after'));

  test('never writes an append twice, and has every acknowledged append', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        faults,
        fc.infiniteStream(fc.nat({ max: 2 })),
        async (steps, next, turns) => {
          const memory = memoryStore();
          const slow = slowStore(memory, () => turns.next().value ?? 0);
          const { asked, handles } = await play(
            failingStore(slow, () => next.next().value ?? 'none'),
            steps,
          );
          await expectSound(memory, asked, handles);
        },
      ),
      { numRuns: 120 },
    );
  });

  test('a retry after a lost acknowledgement finds the append, also after other handles have appended', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, written) => {
        const memory = memoryStore();
        const lost = new Set<string>();
        const once = failingStore(memory, ({ id }) => {
          if (lost.has(id)) return 'none';
          lost.add(id);
          return written ? 'after' : 'before';
        });
        const { asked, handles } = await play(once, steps);
        expectWritten(asked);
        await expectSound(memory, asked, handles);
      }),
      { numRuns: 60 },
    );
  });
});

describe('I6: a stale fence', () => {
  const holder = { id: 'h', host: 'elsewhere', pid: 1, startedAt: '0' };

  test.for(STORES)('writes nothing and is rejected, with any sequence, on %s', async ([, create]) => {
    const store = await create();
    const session = await openSession({ store, ...LIMITS });
    const other = await openSession({ store, ...LIMITS });
    const first = await store.acquireLease('s1', { holder, ttlMs: 1000 });
    await session.append([{ type: 'plan/added', step: 'held' }], { fence: first.lease.fence });
    const second = await store.acquireLease('s1', { holder, ttlMs: 1000, replacing: first.lease });
    await other.append([{ type: 'plan/added', step: 'taken over' }], { fence: second.lease.fence });
    const before = await logIn(store);

    for (const stale of [session, other]) {
      const error = await rejection(
        stale.append([{ type: 'plan/added', step: 'zombie' }], { fence: first.lease.fence }),
      );
      expect(error).toMatchObject({ code: 'SESSION_CONFLICT', detail: 'fence' });
    }
    expect(await logIn(store)).toEqual(before);
  });

  test('rejects only its own appends: those around it are written, in order', async () => {
    const store = memoryStore();
    const session = await openSession({ store, ...LIMITS });
    const { lease } = await store.acquireLease('s1', { holder, ttlMs: 1000 });
    const added = (mark: string, fence?: number) =>
      session.append([{ type: 'plan/added', step: mark }], fence === undefined ? {} : { fence });
    const outcomes = await Promise.allSettled([
      added('a'),
      added('stale', lease.fence - 1),
      added('b', lease.fence),
      added('c'),
    ]);
    expect(outcomes.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect((await logIn(store)).map((event) => (event as { step?: string }).step)).toEqual(['a', 'b', 'c']);
  });

  test('a current fence with a stale sequence makes the session read on and retry', async () => {
    const store = memoryStore();
    const session = await openSession({ store, ...LIMITS });
    const { lease } = await store.acquireLease('s1', { holder, ttlMs: 1000 });
    await (await openSession({ store, ...LIMITS })).dispatch({ type: 'plan/added', step: 'unfenced, in between' });
    expect(await session.append([{ type: 'plan/added', step: 'held' }], { fence: lease.fence })).toEqual({ seq: 2 });
    expect(session.seq).toBe(2);
  });
});
