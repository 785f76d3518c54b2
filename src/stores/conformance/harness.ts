import assert from 'node:assert/strict';
import { type ConflictDetail, type ErrorCode, HoldfastError } from '../../core/errors.ts';
import type { MessageRecorded, NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { Usage } from '../../core/log/usage.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  DraftChunk,
  Lease,
  LeaseHolder,
  ReadOptions,
  SearchHit,
  SearchOptions,
  Store,
} from '../../ports/store.ts';
import { witnessedStore } from './witnessed-store.ts';

/** A clock that a case advances. */
export interface SuiteClock extends Clock {
  advance(ms: number): void;
  /** How many timers have neither run nor been cancelled. */
  readonly pending: number;
}

/** The parts of a clock that leases need. `holdfast/testing` has a complete one, but imports the stores. */
function suiteClock(): SuiteClock {
  let now = Date.UTC(2026, 0, 1);
  const timers = new Map<() => void, number>();
  return {
    now: () => now,
    after(ms, callback) {
      const run = () => callback();
      timers.set(run, now + ms);
      return () => {
        timers.delete(run);
      };
    },
    advance(ms) {
      now += ms;
      for (const [run, due] of [...timers]) if (due <= now && timers.delete(run)) run();
    },
    get pending() {
      return timers.size;
    },
  };
}

/** What a case receives: an empty store, its clock, and further handles on the same data if the store supports them. */
export interface Harness {
  readonly store: Store;
  readonly clock: SuiteClock;
  /** Opens another handle on the same data; absent when the store supports only one. */
  readonly reopen?: (() => Promise<Store>) | undefined;
  /** Removes a text without the store; absent when the suite cannot damage the store. */
  readonly loseContent?: ((hash: string) => Promise<void>) | undefined;
  /** Makes the data unreachable; absent when the suite cannot. */
  readonly makeUnreachable?: (() => Promise<void>) | undefined;
}

export interface HarnessOptions {
  create(options: { readonly clock: Clock }): Promise<Store>;
  reopen?(store: Store, options: { readonly clock: Clock }): Promise<Store>;
  loseContent?(store: Store, hash: string): Promise<void>;
  makeUnreachable?(store: Store): Promise<void>;
}

/** What a rule needs besides a store: an option of the suite, or a method that is optional. */
export type Need = 'reopen' | 'loseContent' | 'makeUnreachable' | 'search' | 'watchWork';

/** One rule of the contract. */
export interface Case {
  readonly name: string;
  /** The rule is skipped when one of these is missing. */
  readonly needs?: readonly Need[];
  check(harness: Harness): Promise<void>;
}

/**
 * Runs `work` on a new store and closes every handle afterwards. Rejects also when a handle threw or rejected with an error that the
 * contract does not allow.
 */
export async function withStore(options: HarnessOptions, work: (harness: Harness) => Promise<void>): Promise<void> {
  const clock = suiteClock();
  const created = await options.create({ clock });
  const broken: string[] = [];
  const store = witnessedStore(created, broken);
  const handles = [store];
  const { reopen, loseContent, makeUnreachable } = options;
  try {
    await work({
      store,
      clock,
      reopen:
        reopen &&
        (async () => {
          const handle = witnessedStore(await reopen(created, { clock }), broken);
          handles.push(handle);
          return handle;
        }),
      loseContent: loseContent && ((hash) => loseContent(created, hash)),
      makeUnreachable: makeUnreachable && (() => makeUnreachable(created)),
    });
  } finally {
    for (const handle of handles.reverse()) await handle.close();
  }
  assert.deepEqual(broken, [], 'every error of a store is a HoldfastError, and promises reject');
}

/** A user's own event. */
export function note(text: unknown, at = '2026-01-01T00:00:00.000Z'): NewEvent {
  return { type: 'note/added', at, text };
}

/** A recorded message with this text. */
export function message(text: string, role: 'user' | 'assistant' = 'user', at = '2026-01-01T00:00:00.000Z'): NewEvent {
  return {
    type: 'message/recorded',
    at,
    message: {
      id: `m-${text.slice(0, 8)}`,
      role,
      content: [{ type: 'text', text }],
      evaluationId: 'e1',
      conversationId: 'main',
      sequence: 0,
      turn: 0,
      promptNs: 'conformance',
      promptKey: 'chat',
      createdAt: at,
    },
  };
}

/** A recorded response of a model, with its usage if it reported one. */
export function response(usage: Usage | undefined, text = 'said'): NewEvent {
  const { message: recorded, ...event } = message(text, 'assistant') as MessageRecorded;
  return { ...event, message: { ...recorded, turn: 1 }, ...(usage && { usage }) } as NewEvent;
}

export function holder(id: string): LeaseHolder {
  return { id, host: 'host', pid: 1, startedAt: '0' };
}

/** Acquires a lease and expects that it is free. */
export async function leaseOn(store: Store, sessionId: string, who = 'one', ttlMs = 60_000): Promise<Lease> {
  const outcome = await store.acquireLease(sessionId, { holder: holder(who), ttlMs });
  assert.ok(outcome.acquired, `${who} should get the lease of ${sessionId}`);
  return outcome.lease;
}

/** A piece of a streamed response. */
export function chunk(fence: number, n: number, fields: Partial<DraftChunk> = {}): DraftChunk {
  return {
    fence,
    n,
    draftId: 'e',
    evaluationId: 'e',
    turn: 1,
    attempt: 1,
    blockId: 'b',
    delta: `${fence}.${n}`,
    ...fields,
  };
}

/** The hits of a store, or none when it has no search. */
export async function searchIn(store: Store, query: string, options?: SearchOptions): Promise<readonly SearchHit[]> {
  return (await store.search?.(query, options)) ?? [];
}

/** Expects a number of hits, if the store has search. */
export async function assertHits(store: Store, query: string, count: number): Promise<void> {
  if (store.search) assert.equal((await store.search(query, { limit: 1000 })).length, count, `hits of ${query}`);
}

/** All events of a session that match the options. */
export async function readAll(store: Store, sessionId: string, options?: ReadOptions): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of store.read(sessionId, options)) events.push(event);
  return events;
}

/** The texts of a session's notes, in order; expects gapless seqs from 1. */
export async function readNotes(store: Store, sessionId: string): Promise<readonly unknown[]> {
  const events = await readAll(store, sessionId);
  assert.deepEqual(
    events.map((event) => event.seq),
    events.map((_, i) => i + 1),
    'sequences are gapless from 1',
  );
  assert.equal((await store.head(sessionId)).seq, events.length, 'head is the last seq');
  return events.map((event) => ('text' in event ? event.text : undefined));
}

/** Expects a `HoldfastError` with this code. */
export async function refused(operation: Promise<unknown>, code: ErrorCode, detail?: ConflictDetail): Promise<void> {
  const error = await operation.then(
    (value) => assert.fail(`expected ${code}, but it resolved with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof HoldfastError)) throw error;
  assert.equal(error.code, code, error.message);
  if (detail !== undefined) assert.equal(error.detail, detail, error.message);
  assert.notEqual(error.message, '', 'an error has a message');
}
