import assert from 'node:assert/strict';
import { isHoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import type { AppendOptions, Store } from '../../ports/store.ts';
import { chunk, holder, note, readAll, type SuiteClock } from './harness.ts';
import {
  appendTo,
  deleteFrom,
  dropUnreferred,
  forkTo,
  type Model,
  type ModelSession,
  type Outcome,
  sessionOf,
} from './model.ts';

/** The incarnation that an operation names. */
type Life = 'none' | 'present' | 'ended';

export type Operation =
  | {
      readonly kind: 'append';
      readonly session: string;
      readonly life: Life;
      readonly count: number;
      readonly id: 'fresh' | 'newest' | 'older';
      readonly events: 'same' | 'other';
      readonly place: 'end' | 'start' | 'before' | 'beyond' | 'own';
      readonly fence: 'none' | 'current' | 'stale' | 'unknown';
      /** Hashes of external contents; the n-th belongs to the n-th event, the last event has the rest. */
      readonly contents: readonly string[];
      readonly call: 'none' | 'put' | 'drop';
      readonly endsDrafts: readonly string[];
    }
  | {
      readonly kind: 'acquire';
      readonly session: string;
      readonly who: string;
      readonly ttlMs: number;
      readonly replacing: 'nobody' | 'current' | 'stale' | 'renewed';
    }
  | { readonly kind: 'renew'; readonly session: string; readonly fence: 'current' | 'stale' }
  | {
      readonly kind: 'release';
      readonly session: string;
      readonly fence: 'current' | 'stale';
      readonly seq: 'none' | 'end' | 'before';
    }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'delete'; readonly session: string; readonly life: Life }
  | {
      readonly kind: 'snapshot';
      readonly session: string;
      readonly life: Life;
      readonly back: number;
      readonly revision: 'none' | 'present' | 'older';
      readonly fence: 'none' | 'current' | 'stale';
    }
  | {
      readonly kind: 'replace';
      readonly session: string;
      readonly life: Life;
      readonly back: number;
      readonly kept: readonly string[];
    }
  | {
      readonly kind: 'draft';
      readonly session: string;
      readonly life: Life;
      readonly draftId: string;
      readonly fence: 'current' | 'stale';
      /** How many chunks are skipped before this one, or repeated. */
      readonly step: number;
    }
  | {
      readonly kind: 'fork';
      readonly session: string;
      readonly target: string;
      readonly life: Life;
      readonly back: number;
    };

const NO_FENCE = 12345;

async function outcomeOf(operation: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await operation };
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { code: error.code, detail: error.detail };
  }
}

function assertOutcome(outcome: Outcome, expected: Outcome, operation: Operation): void {
  const whole = 'code' in expected ? { detail: undefined, ...expected } : expected;
  assert.deepEqual(outcome, whole, JSON.stringify(operation));
}

/** The incarnation that an operation names, and whether it is the current one. */
function lifeOf(
  session: ModelSession,
  life: Life,
): { readonly named: { readonly incarnation?: number }; readonly isPresent: boolean } {
  if (life === 'none') return { named: {}, isPresent: true };
  if (life === 'present') return { named: { incarnation: session.incarnation }, isPresent: true };
  return { named: { incarnation: session.incarnation - 1 }, isPresent: false };
}

function pickFence(session: ModelSession, which: 'none' | 'current' | 'stale' | 'unknown'): number | undefined {
  if (which === 'none') return undefined;
  return (
    (which === 'current' ? session.fences.at(-1) : which === 'stale' ? session.fences.at(-2) : undefined) ?? NO_FENCE
  );
}

/** Runs an operation on store and model, and compares the outcomes. */
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
    case 'acquire':
      return applyAcquire(operation, model, session, store, clock);
    case 'renew': {
      const fence = pickFence(session, operation.fence) ?? NO_FENCE;
      const renewed = session.lease?.fence === fence;
      assert.equal(await store.renewLease(id, fence, 500), renewed);
      const { lease } = session;
      if (renewed && lease) session.lease = { ...lease, expiresAt: clock.now() + 500, renewals: lease.renewals + 1 };
      return;
    }
    case 'release': {
      const fence = pickFence(session, operation.fence) ?? NO_FENCE;
      const place = { none: undefined, end: seq, before: seq + 1 }[operation.seq];
      const isOwn = session.lease?.fence === fence;
      const stays = isOwn && place !== undefined && place !== seq;
      assert.equal(await store.releaseLease(id, fence, place === undefined ? {} : { seq: place }), !stays);
      if (isOwn && !stays) session.lease = undefined;
      return;
    }
    case 'delete': {
      const { named, isPresent } = lifeOf(session, operation.life);
      const outcome = await outcomeOf(store.deleteSession(id, named));
      assertOutcome(outcome, isPresent ? { value: seq > 0 } : { code: 'SESSION_NOT_FOUND' }, operation);
      if (isPresent) deleteFrom(model, id);
      return;
    }
    case 'snapshot':
      return applySnapshot(operation, model, session, store);
    case 'replace':
      return applyReplace(operation, model, session, store);
    case 'draft':
      return applyDraft(operation, session, store);
    case 'fork': {
      const { named, isPresent } = lifeOf(session, operation.life);
      const at = seq - operation.back;
      const events = [note(`fork ${model.counter++}`)];
      const outcome = await outcomeOf(store.forkSession(id, operation.target, { at, events, ...named }));
      const isTaken = sessionOf(model, operation.target).log.length > 0;
      if (!isPresent || seq === 0) assertOutcome(outcome, { code: 'SESSION_NOT_FOUND' }, operation);
      else if (at < 1 || at > seq) assertOutcome(outcome, { code: 'INVALID_ARGUMENT' }, operation);
      else if (isTaken) assertOutcome(outcome, { code: 'SESSION_CONFLICT' }, operation);
      else {
        assertOutcome(outcome, { value: { seq: at + 1 } }, operation);
        forkTo(model, session, operation.target, at, events);
      }
      return;
    }
    default:
      return operation satisfies never;
  }
}

async function applyAppend(
  operation: Extract<Operation, { kind: 'append' }>,
  model: Model,
  session: ModelSession,
  store: Store,
): Promise<void> {
  const end = session.log.length;
  const known = session.appends.filter((append) => append.id !== 'unnamed');
  const again = operation.id === 'fresh' ? undefined : operation.id === 'newest' ? known.at(-1) : known.at(0);
  const fresh = Array.from({ length: operation.count }, () => note(model.counter++));
  const events = again && operation.events === 'same' ? again.events : fresh;
  const places = { end, start: 0, before: Math.max(0, end - 1), beyond: end + 1, own: again?.start ?? end };
  const fence = pickFence(session, operation.fence);
  const options: AppendOptions = {
    id: again?.id ?? `a${model.counter++}`,
    expectedSeq: places[operation.place],
    ...(fence !== undefined && { fence }),
    ...lifeOf(session, operation.life).named,
    contents: operation.contents.map((hash, i) => ({
      event: Math.min(i, events.length - 1),
      hash,
      text: `the text of ${hash}`, // a hash names one text: a store may keep it once, or once for each session
    })),
    ...(operation.call === 'put' && { callContents: { put: [{ call: 'call', text: `${model.counter++}` }] } }),
    ...(operation.call === 'drop' && { callContents: { drop: ['call'] } }),
    endsDrafts: operation.endsDrafts,
  };
  const expected = appendTo(model, session, events, options);
  assertOutcome(await outcomeOf(store.append(operation.session, events, options)), expected, operation);
}

async function applyAcquire(
  operation: Extract<Operation, { kind: 'acquire' }>,
  model: Model,
  session: ModelSession,
  store: Store,
  clock: SuiteClock,
): Promise<void> {
  const { session: id, who, ttlMs } = operation;
  const { lease } = session;
  const fence = pickFence(session, operation.replacing === 'stale' ? 'stale' : 'current') ?? NO_FENCE;
  const renewals = (lease?.renewals ?? 0) + (operation.replacing === 'renewed' ? 1 : 0);
  const outcome = await store.acquireLease(id, {
    holder: holder(who),
    ttlMs,
    ...(operation.replacing !== 'nobody' && { replacing: { fence, renewals } }),
  });
  const isReplaced = operation.replacing !== 'nobody' && fence === lease?.fence && renewals === lease.renewals;
  if (lease && lease.expiresAt > clock.now() && !isReplaced) {
    assert.deepEqual(outcome, { acquired: false, lease });
    return;
  }
  assert.ok(outcome.lease.fence > (model.fences.get(id) ?? 0), 'a fence only increases');
  session.begun = true;
  session.lease = { fence: outcome.lease.fence, holder: holder(who), expiresAt: clock.now() + ttlMs, renewals: 0 };
  assert.deepEqual(outcome, { acquired: true, lease: session.lease });
  session.fences.push(outcome.lease.fence);
  model.fences.set(id, outcome.lease.fence);
}

async function applySnapshot(
  operation: Extract<Operation, { kind: 'snapshot' }>,
  model: Model,
  session: ModelSession,
  store: Store,
): Promise<void> {
  const end = session.log.length;
  const snapshot = { seq: Math.max(0, end - operation.back), data: `{"n":${model.counter++}}` };
  const { named, isPresent } = lifeOf(session, operation.life);
  const fence = pickFence(session, operation.fence);
  const revision = { none: undefined, present: session.revision, older: session.revision - 1 }[operation.revision];
  const outcome = await outcomeOf(
    store.writeSnapshot(operation.session, snapshot, {
      ...named,
      ...(revision !== undefined && { revision }),
      ...(fence !== undefined && { fence }),
    }),
  );
  if (!isPresent) return assertOutcome(outcome, { code: 'SESSION_NOT_FOUND' }, operation);
  if (fence !== undefined && fence !== session.fences.at(-1)) {
    return assertOutcome(outcome, { code: 'SESSION_CONFLICT', detail: 'fence' }, operation);
  }
  if (snapshot.seq > end) return assertOutcome(outcome, { code: 'INVALID_ARGUMENT' }, operation);
  assertOutcome(outcome, { value: undefined }, operation);
  if (revision !== undefined && revision !== session.revision) return;
  // Stores hold no snapshot of an empty log.
  if (snapshot.seq > 0 && snapshot.seq >= (session.snapshot?.seq ?? 0)) session.snapshot = snapshot;
}

async function applyReplace(
  operation: Extract<Operation, { kind: 'replace' }>,
  model: Model,
  session: ModelSession,
  store: Store,
): Promise<void> {
  const target = session.log.length - operation.back;
  const event = note(`erased ${model.counter++}`);
  const { named, isPresent } = lifeOf(session, operation.life);
  const replaced = store.replaceEvent(operation.session, { ...event, seq: target } as SessionEvent, {
    ...named,
    contents: operation.kept,
  });
  const outcome = await outcomeOf(replaced);
  // A seq below 1 is rejected before the store looks up the session.
  if (target < 1) return assertOutcome(outcome, { code: 'INVALID_ARGUMENT' }, operation);
  if (!isPresent) return assertOutcome(outcome, { code: 'SESSION_NOT_FOUND' }, operation);
  assertOutcome(outcome, { value: undefined }, operation);
  session.log[target - 1] = event;
  session.references[target - 1] = (session.references[target - 1] ?? []).filter((hash) =>
    operation.kept.includes(hash),
  );
  dropUnreferred(model);
  session.revision++;
  session.snapshot = undefined;
  // Repeating an append that was erased meanwhile is outside the contract.
  session.appends = session.appends.map((append) =>
    append.start < target && target <= append.start + append.events.length ? { ...append, id: 'unnamed' } : append,
  );
}

async function applyDraft(
  operation: Extract<Operation, { kind: 'draft' }>,
  session: ModelSession,
  store: Store,
): Promise<void> {
  const fence = pickFence(session, operation.fence) ?? NO_FENCE;
  const { named, isPresent } = lifeOf(session, operation.life);
  const own = session.drafts.filter((each) => each.fence === fence);
  const last = own.at(-1)?.n ?? 0;
  const added = chunk(fence, Math.max(1, last + operation.step), { draftId: operation.draftId });
  const outcome = await outcomeOf(store.appendDraft(operation.session, [added], { ...named, fence }));
  if (!isPresent) return assertOutcome(outcome, { code: 'SESSION_NOT_FOUND' }, operation);
  if (fence !== session.fences.at(-1)) {
    return assertOutcome(outcome, { code: 'SESSION_CONFLICT', detail: 'fence' }, operation);
  }
  assertOutcome(outcome, { value: undefined }, operation);
  if (!own.some((each) => each.n === added.n)) session.drafts.push(added);
  session.drafts.sort((a, b) => a.fence - b.fence || a.n - b.n);
}

/** Compares everything that can be read. */
export async function checkAgainstModel(model: Model, store: Store, hashes: readonly string[]): Promise<void> {
  for (const [id, session] of model.sessions) {
    const { incarnation, revision } = session;
    const expected = session.log.map((event, i) => ({ ...event, seq: i + 1 }));
    assert.deepEqual(await readAll(store, id, { incarnation }), expected);
    assert.deepEqual(await store.head(id), { incarnation, seq: session.log.length, revision });
    assert.deepEqual(await store.readLease(id), session.lease);
    assert.deepEqual(await store.readSnapshot(id), session.snapshot);
    assert.deepEqual(await store.readDraft(id), session.drafts);
    assert.equal(await store.readCallContent(id, 'call'), session.callContents.get('call'));
    for (const hash of hashes) {
      const isReferred = session.references.flat().includes(hash);
      assert.equal(await store.readContent(id, hash), isReferred ? model.contents.get(hash) : undefined);
    }
  }
  const listed = (await store.listSessions()).sessions.map((session) => session.id).sort();
  const alive = [...model.sessions].filter(([, session]) => session.log.length > 0).map(([id]) => id);
  assert.deepEqual(listed, alive.sort());
}
