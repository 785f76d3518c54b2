import assert from 'node:assert/strict';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { NewEvent } from '../../core/log/events.ts';
import type { Store } from '../../ports/store.ts';
import { type Harness, type HarnessOptions, note, readNotes, withStore } from './harness.ts';
import { emptyModel } from './model.ts';
import { applyOperation, checkAgainstModel, type Operation } from './model-operations.ts';

type FastCheck = typeof import('fast-check');
type Arbitrary<T> = import('fast-check').Arbitrary<T>;

/** A rule checked on generated histories. */
export interface PropertyCase {
  readonly name: string;
  check(options: HarnessOptions, runs: number): Promise<void>;
}

/** Loaded on demand: a program that never runs the suite does not need fast-check. */
async function loadFastCheck(): Promise<FastCheck> {
  try {
    return await import('fast-check');
  } catch (cause) {
    throw new HoldfastError(
      'DEPENDENCY_MISSING',
      'the conformance suite needs fast-check; run: npm install --save-dev fast-check',
      { cause },
    );
  }
}

const SESSIONS = ['s', 't', 'u'] as const;
const HASHES = ['sha256:1', 'sha256:2', 'sha256:3'] as const;

function operations(fc: FastCheck): Arbitrary<Operation[]> {
  const session = fc.constantFrom(...SESSIONS);
  const kind = <K extends Operation['kind']>(name: K) => fc.constant(name);
  /** One of these, mostly the first. */
  const mostly = <T extends string>(usual: T, ...others: readonly T[]): Arbitrary<T> =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
  const life = mostly('none', 'present', 'ended');
  const hashes = fc.subarray([...HASHES], { maxLength: 2 });
  const operation: Arbitrary<Operation> = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: kind('append'),
        session,
        life,
        count: fc.integer({ min: 1, max: 4 }),
        id: mostly('fresh', 'newest', 'older'),
        events: fc.constantFrom('same', 'other'),
        place: mostly('end', 'start', 'before', 'beyond', 'own'),
        fence: fc.constantFrom('none', 'none', 'current', 'stale', 'unknown'),
        contents: hashes,
        call: mostly('none', 'put', 'drop'),
        endsDrafts: fc.subarray(['d', 'e']),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: kind('acquire'),
        session,
        who: fc.constantFrom('one', 'two'),
        ttlMs: fc.constantFrom(1, 100, 1000),
        replacing: fc.constantFrom('nobody', 'current', 'stale', 'renewed'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: kind('renew'), session, fence: fc.constantFrom('current', 'stale') }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: kind('release'),
        session,
        fence: fc.constantFrom('current', 'stale'),
        seq: fc.constantFrom('none', 'end', 'before'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: kind('wait'), ms: fc.constantFrom(1, 99, 1000) }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('delete'), session, life }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: kind('snapshot'),
        session,
        life,
        back: fc.integer({ min: -1, max: 3 }),
        revision: fc.constantFrom('none', 'present', 'older'),
        fence: mostly('none', 'current', 'stale'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: kind('replace'),
        session,
        life,
        back: fc.integer({ min: 0, max: 5 }),
        kept: hashes,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: kind('draft'),
        session,
        life,
        draftId: fc.constantFrom('d', 'e'),
        fence: mostly('current', 'stale'),
        step: fc.integer({ min: 0, max: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: kind('fork'),
        session,
        target: session,
        life,
        back: fc.integer({ min: -1, max: 4 }),
      }),
    },
  );
  return fc.array(operation, { maxLength: 40 });
}

/** More than a writer needs while the others make progress: a store that always rejects fails instead of hanging. */
const MAX_ATTEMPTS = 1000;

/** A writer that makes each of its appends exactly once, despite concurrent writers. */
async function writeAll(store: Store, sessionId: string, writer: string, sizes: readonly number[]): Promise<void> {
  let head = 0;
  for (const [i, size] of sizes.entries()) {
    const id = `${writer}.${i}`;
    const events = Array.from({ length: size }, (_, n) => note({ id, n, size }));
    const { seq, expectedSeq } = await appendAtEnd(store, sessionId, events, id, head);
    // Repeats the append as after a lost acknowledgement.
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
      expectedSeq = (await store.head(sessionId)).seq;
    }
  }
  return assert.fail(`append ${id} was rejected ${MAX_ATTEMPTS} times`);
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
      assert.deepEqual(notes.slice(i, i + size), whole, 'an append is contiguous');
      appends.push(id);
    }
    for (const [w, sizes] of writers.entries()) {
      const own = appends.filter((id) => id.startsWith(`w${w}.`));
      assert.deepEqual(
        own,
        sizes.map((_, i) => `w${w}.${i}`),
        'each append once, in order',
      );
    }
  }
}

export const propertyCases: readonly PropertyCase[] = [
  {
    name: 'any history of appends, contents, drafts, leases, forks, deletions and time ends in the same state as the model (I1, I6)',
    async check(options, runs) {
      const fc = await loadFastCheck();
      await fc.assert(
        fc.asyncProperty(operations(fc), (history) =>
          withStore(options, async ({ store, clock }) => {
            const model = emptyModel();
            for (const operation of history) {
              await applyOperation(operation, model, store, clock);
              await checkAgainstModel(model, store, HASHES);
            }
            assert.ok((await store.check()).ok, 'the integrity check passes');
          }),
        ),
        { numRuns: runs },
      );
    },
  },
  {
    name: 'concurrent writers lose, repeat and split no append (I1, I6)',
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
