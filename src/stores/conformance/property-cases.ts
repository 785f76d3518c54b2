import assert from 'node:assert/strict';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { NewEvent } from '../../core/events.ts';
import type { Store } from '../../ports/store.ts';
import { type Harness, type HarnessOptions, note, readNotes, withStore } from './harness.ts';
import { applyOperation, checkAgainstModel, emptyModel, type Operation } from './model.ts';

type FastCheck = typeof import('fast-check');
type Arbitrary<T> = import('fast-check').Arbitrary<T>;

/** A rule checked on generated histories. */
export interface PropertyCase {
  readonly name: string;
  check(options: HarnessOptions, runs: number): Promise<void>;
}

/** fast-check is wanted only here, so a program that never runs the suite need not have it. */
async function loadFastCheck(): Promise<FastCheck> {
  try {
    return await import('fast-check');
  } catch (cause) {
    throw new HoldfastError('DEPENDENCY_MISSING', 'the conformance suite needs fast-check; install it', { cause });
  }
}

function operations(fc: FastCheck): Arbitrary<Operation[]> {
  const session = fc.constantFrom('s', 't');
  const operation: Arbitrary<Operation> = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('append' as const),
        session,
        count: fc.integer({ min: 1, max: 4 }),
        id: fc.oneof(
          { weight: 4, arbitrary: fc.constant('fresh' as const) },
          { weight: 1, arbitrary: fc.constantFrom('newest' as const, 'older' as const) },
        ),
        events: fc.constantFrom('same' as const, 'other' as const),
        place: fc.oneof(
          { weight: 4, arbitrary: fc.constant('end' as const) },
          {
            weight: 1,
            arbitrary: fc.constantFrom('start' as const, 'before' as const, 'beyond' as const, 'own' as const),
          },
        ),
        fence: fc.constantFrom(
          'none' as const,
          'none' as const,
          'current' as const,
          'stale' as const,
          'unknown' as const,
        ),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('acquire' as const),
        session,
        who: fc.constantFrom('one', 'two'),
        ttlMs: fc.constantFrom(1, 100, 1000),
        replacing: fc.constantFrom('nobody' as const, 'current' as const, 'stale' as const),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('renew' as const, 'release' as const),
        session,
        fence: fc.constantFrom('current' as const, 'stale' as const),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 99, 1000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), session }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('snapshot' as const), session, back: fc.integer({ min: -1, max: 3 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('replace' as const), session, back: fc.integer({ min: 0, max: 5 }) }),
    },
  );
  return fc.array(operation, { maxLength: 40 });
}

/** More than any writer needs when others make progress: a store that refuses for ever fails instead of hanging. */
const MAX_ATTEMPTS = 1000;

/** A writer that wants its appends in the log, each of them once, whatever the others do. */
async function writeAll(store: Store, sessionId: string, writer: string, sizes: readonly number[]): Promise<void> {
  let head = 0;
  for (const [i, size] of sizes.entries()) {
    const id = `${writer}.${i}`;
    const events = Array.from({ length: size }, (_, n) => note({ id, n, size }));
    const { seq, expectedSeq } = await appendAtEnd(store, sessionId, events, id, head);
    // As if the acknowledgement had been lost.
    assert.deepEqual(await store.append(sessionId, events, { id, expectedSeq }), { seq });
    head = seq;
  }
}

async function appendAtEnd(
  store: Store,
  sessionId: string,
  events: readonly NewEvent[],
  id: string,
  from: number,
): Promise<{ readonly seq: number; readonly expectedSeq: number }> {
  let expectedSeq = from;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      return { ...(await store.append(sessionId, events, { id, expectedSeq })), expectedSeq };
    } catch (error) {
      if (!isHoldfastError(error, 'SESSION_CONFLICT') || error.detail !== 'sequence') throw error;
      expectedSeq = await store.head(sessionId);
    }
  }
  return assert.fail(`append ${id} was refused ${MAX_ATTEMPTS} times`);
}

async function checkWriters(harness: Harness, sessions: readonly (readonly (readonly number[])[])[]): Promise<void> {
  const handles = harness.reopen ? [harness.store, await harness.reopen()] : [harness.store];
  await Promise.all(
    sessions.flatMap((writers, s) =>
      writers.map((sizes, w) => writeAll(handles[w % handles.length] ?? harness.store, `s${s}`, `w${w}`, sizes)),
    ),
  );
  for (const [s, writers] of sessions.entries()) {
    const notes = (await readNotes(harness.store, `s${s}`)) as readonly { id: string; n: number; size: number }[];
    const appends: string[] = [];
    for (let i = 0; i < notes.length; i += notes[i]?.size ?? 1) {
      const { id = '', size = 1 } = notes[i] ?? {};
      const whole = Array.from({ length: size }, (_, n) => ({ id, n, size }));
      assert.deepEqual(notes.slice(i, i + size), whole, 'an append is there in one piece');
      appends.push(id);
    }
    for (const [w, sizes] of writers.entries()) {
      const own = appends.filter((id) => id.startsWith(`w${w}.`));
      assert.deepEqual(
        own,
        sizes.map((_, i) => `w${w}.${i}`),
        'each append once, in its order',
      );
    }
  }
}

export const propertyCases: readonly PropertyCase[] = [
  {
    name: 'any history of appends, leases, deletions and time ends as the model says (I1, I6)',
    async check(options, runs) {
      const fc = await loadFastCheck();
      await fc.assert(
        fc.asyncProperty(operations(fc), (history) =>
          withStore(options, async ({ store, clock }) => {
            const model = emptyModel();
            for (const operation of history) {
              await applyOperation(operation, model, store, clock);
              await checkAgainstModel(model, store);
            }
            assert.ok((await store.check()).ok, 'the store finds itself whole');
          }),
        ),
        { numRuns: runs },
      );
    },
  },
  {
    name: 'concurrent writers lose nothing, repeat nothing and split nothing, whatever they write (I1, I6)',
    async check(options, runs) {
      const fc = await loadFastCheck();
      const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 });
      const writers = fc.array(sizes, { minLength: 1, maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(fc.array(writers, { minLength: 1, maxLength: 3 }), (sessions) =>
          withStore(options, (harness) => checkWriters(harness, sessions)),
        ),
        { numRuns: runs },
      );
    },
  },
];
