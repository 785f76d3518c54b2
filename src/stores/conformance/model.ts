import assert from 'node:assert/strict';
import { type ConflictDetail, type ErrorCode, isHoldfastError } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/events.ts';
import type { Lease, Store, StoredSnapshot } from '../../ports/store.ts';
import { holder, note, readAll, type SuiteClock } from './harness.ts';

/**
 * The contract once more, as a program that is too simple to be wrong: plain arrays, no persistence, no concurrency. Each
 * operation is carried out on the store and on the model, and both must answer alike.
 */

export type Operation =
  | {
      readonly kind: 'append';
      readonly session: string;
      readonly count: number;
      readonly id: 'fresh' | 'newest' | 'older';
      readonly events: 'same' | 'other';
      readonly place: 'end' | 'start' | 'before' | 'beyond' | 'own';
      readonly fence: 'none' | 'current' | 'stale' | 'unknown';
    }
  | {
      readonly kind: 'acquire';
      readonly session: string;
      readonly who: string;
      readonly ttlMs: number;
      readonly replacing: 'nobody' | 'current' | 'stale';
    }
  | { readonly kind: 'renew' | 'release'; readonly session: string; readonly fence: 'current' | 'stale' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'delete'; readonly session: string }
  | { readonly kind: 'snapshot'; readonly session: string; readonly back: number }
  | { readonly kind: 'replace'; readonly session: string; readonly back: number };

interface Append {
  readonly id: string;
  readonly start: number;
  readonly events: readonly NewEvent[];
}

interface ModelSession {
  appends: Append[];
  log: NewEvent[];
  /** Given out in this life of the session, oldest first. */
  fences: number[];
  lease: Lease | undefined;
  snapshot: StoredSnapshot | undefined;
}

export interface Model {
  readonly sessions: Map<string, ModelSession>;
  /** Every fence of every session and life. */
  readonly fences: Map<string, number>;
  counter: number;
}

export function emptyModel(): Model {
  return { sessions: new Map(), fences: new Map(), counter: 0 };
}

function sessionOf(model: Model, id: string): ModelSession {
  const session = model.sessions.get(id) ?? { appends: [], log: [], fences: [], lease: undefined, snapshot: undefined };
  model.sessions.set(id, session);
  return session;
}

/** What an operation came to, in a form that store and model can be compared in. */
type Answer = { readonly value: unknown } | { readonly code: ErrorCode; readonly detail?: ConflictDetail | undefined };

async function answerOf(operation: Promise<unknown>): Promise<Answer> {
  try {
    return { value: await operation };
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { code: error.code, detail: error.detail };
  }
}

/** Carries an operation out on both sides and compares what they say. */
export async function applyOperation(
  operation: Operation,
  model: Model,
  store: Store,
  clock: SuiteClock,
): Promise<void> {
  if (operation.kind === 'wait') {
    clock.advance(operation.ms);
    return;
  }
  const id = operation.session;
  const session = sessionOf(model, id);
  const seq = session.log.length;
  switch (operation.kind) {
    case 'append':
      return applyAppend(operation, model, session, store);
    case 'acquire': {
      const { who, ttlMs } = operation;
      const replacing = pickFence(session, operation.replacing);
      const answer = await store.acquireLease(id, {
        holder: holder(who),
        ttlMs,
        ...(replacing !== undefined && { replacing }),
      });
      const { lease } = session;
      if (lease && lease.expiresAt > clock.now() && lease.fence !== replacing) {
        assert.deepEqual(answer, { acquired: false, lease });
        return;
      }
      const { fence } = answer.lease;
      assert.ok(fence > (model.fences.get(id) ?? 0), 'a fence only rises');
      session.lease = { fence, holder: holder(who), expiresAt: clock.now() + ttlMs };
      assert.deepEqual(answer, { acquired: true, lease: session.lease });
      session.fences.push(fence);
      model.fences.set(id, fence);
      return;
    }
    case 'renew': {
      const fence = pickFence(session, operation.fence) ?? 12345;
      const renewed = session.lease?.fence === fence;
      assert.equal(await store.renewLease(id, fence, 500), renewed);
      if (renewed && session.lease) session.lease = { ...session.lease, expiresAt: clock.now() + 500 };
      return;
    }
    case 'release': {
      const fence = pickFence(session, operation.fence) ?? 12345;
      await store.releaseLease(id, fence);
      if (session.lease?.fence === fence) session.lease = undefined;
      return;
    }
    case 'delete':
      assert.equal(await store.deleteSession(id), seq > 0);
      model.sessions.delete(id);
      return;
    case 'snapshot': {
      const snapshot = { seq: Math.max(0, seq - operation.back), data: `{"n":${model.counter++}}` };
      const answer = await answerOf(store.writeSnapshot(id, snapshot));
      assert.deepEqual('code' in answer && answer.code, snapshot.seq > seq && 'INVALID_ARGUMENT');
      // The state of an empty log is known without a snapshot.
      const isNews = snapshot.seq > 0 && snapshot.seq >= (session.snapshot?.seq ?? 0);
      if (isNews && snapshot.seq <= seq) session.snapshot = snapshot;
      return;
    }
    case 'replace': {
      const target = seq - operation.back;
      const event = note(`erased ${model.counter++}`);
      const answer = await answerOf(store.replaceEvent(id, { ...event, seq: target } as SessionEvent));
      const isThere = target >= 1;
      assert.equal('value' in answer, isThere);
      if (!isThere) return;
      session.log[target - 1] = event;
      session.snapshot = undefined;
      // A repetition of an append that was since erased is outside the contract.
      session.appends = session.appends.map((append) =>
        append.start < target && target <= append.start + append.events.length ? { ...append, id: 'erased' } : append,
      );
      return;
    }
    default:
      return operation satisfies never;
  }
}

function pickFence(
  session: ModelSession,
  which: 'nobody' | 'none' | 'current' | 'stale' | 'unknown',
): number | undefined {
  if (which === 'current') return session.fences.at(-1) ?? 12345;
  if (which === 'stale') return session.fences.at(-2) ?? 12345;
  return which === 'unknown' ? 12345 : undefined;
}

async function applyAppend(
  operation: Extract<Operation, { kind: 'append' }>,
  model: Model,
  session: ModelSession,
  store: Store,
): Promise<void> {
  const end = session.log.length;
  const known = session.appends.filter((append) => append.id !== 'erased');
  const newest = session.appends.at(-1);
  const again = operation.id === 'fresh' ? undefined : operation.id === 'newest' ? known.at(-1) : known.at(0);
  const id = again?.id ?? `a${model.counter++}`;
  const fresh = Array.from({ length: operation.count }, () => note(model.counter++));
  const events = again && operation.events === 'same' ? again.events : fresh;
  const places = { end, start: 0, before: Math.max(0, end - 1), beyond: end + 1, own: again?.start ?? end };
  const expectedSeq = places[operation.place];
  const fence = pickFence(session, operation.fence);

  // An id is recognised when it is the newest append's, or when it names the place where it was made.
  const first = known.find((append) => append.id === id && (append === newest || append.start === expectedSeq));
  let expected: Answer;
  if (first) {
    const same = JSON.stringify(first.events) === JSON.stringify(events);
    expected = same ? { value: { seq: first.start + first.events.length } } : { code: 'APPEND_ID_REUSED' };
  } else if (fence !== undefined && fence !== session.fences.at(-1)) {
    expected = { code: 'SESSION_CONFLICT', detail: 'fence' };
  } else if (expectedSeq !== end) {
    expected = { code: 'SESSION_CONFLICT', detail: 'sequence' };
  } else {
    expected = { value: { seq: end + events.length } };
    session.appends.push({ id, start: end, events });
    session.log.push(...events);
  }
  const options = { id, expectedSeq, ...(fence !== undefined && { fence }) };
  const answer = await answerOf(store.append(operation.session, events, options));
  assert.deepEqual(
    answer,
    'code' in expected ? { detail: undefined, ...expected } : expected,
    JSON.stringify(operation),
  );
}

/** Compares all that can be read. */
export async function checkAgainstModel(model: Model, store: Store): Promise<void> {
  for (const [id, session] of model.sessions) {
    const expected = session.log.map((event, i) => ({ ...event, seq: i + 1 }));
    assert.deepEqual(await readAll(store, id), expected);
    assert.equal(await store.head(id), session.log.length);
    assert.deepEqual(await store.readLease(id), session.lease);
    assert.deepEqual(await store.readSnapshot(id), session.snapshot);
  }
  const listed = (await store.listSessions()).sessions.map((session) => session.id).sort();
  const alive = [...model.sessions].filter(([, session]) => session.log.length > 0).map(([id]) => id);
  assert.deepEqual(listed, alive.sort());
}
