import { AsyncLocalStorage } from 'node:async_hooks';
import { HoldfastError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';

/**
 * Isolated transactions. A body runs on the state that it began with and commits only if nothing was appended since; otherwise it runs
 * again on the newer state.
 *
 *     run ──▶ commit ──▶ done
 *               │ something was appended meanwhile
 *               ▼
 *     wait for the turn ──▶ run ──▶ commit ──▶ done        (no other transaction of this process commits meanwhile)
 *
 * Bodies run side by side the first time. One that must run again waits for its turn, in order of arrival, and the others of this
 * process wait with their commits until it is done: each body runs about twice, however many there are.
 */

/** The error of a commit whose transaction read an older state. It never leaves `runTransaction`. */
export class StaleTransaction extends Error {}

/** Only writers that are not transactions of this process can use this up: each time one of them made progress. */
const MAX_RUNS = 1_000;

/**
 * Calls `attempt`, which runs the body and commits, until it does not reject with `StaleTransaction`. The attempt awaits `beforeCommit`
 * between the two.
 */
export async function runTransaction<T>(
  store: Store,
  sessionId: string,
  attempt: (beforeCommit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const lane = laneOf(store, sessionId);
  const outer = running.getStore();
  if (outer?.lanes.includes(lane)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `a transaction of session ${sessionId} cannot begin inside another one; dispatch to the transaction that is open`,
    );
  }
  const scope: Scope = { lanes: [...(outer?.lanes ?? []), lane], appends: 0 };
  lane.users++;
  try {
    const first = await tryOnce(scope, () => attempt(() => lane.others()));
    if (first.ok) return first.value;
    return await lane.inTurn(async () => {
      for (let runs = 1; runs < MAX_RUNS && scope.appends < 2; runs++) {
        const again = await tryOnce(scope, () => attempt(async () => {}));
        if (again.ok) return again.value;
      }
      throw conflict(sessionId, scope);
    });
  } finally {
    if (--lane.users === 0) lanes.get(store)?.delete(sessionId);
  }
}

/** Marks the open transaction when its own body appends to the session: that append makes it run again. */
export function noteAppend(store: Store, sessionId: string): void {
  const lane = lanes.get(store)?.get(sessionId);
  if (!lane) return; // as almost always: no transaction is open
  const scope = running.getStore();
  if (scope?.lanes.includes(lane)) scope.hasAppended = true;
}

/** The transactions of one session in this process, whichever handle they began on. */
class Lane {
  users = 0;
  /** Resolves when every transaction that waits for its turn so far has had it. */
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Waits for those that have the turn or wait for it. */
  async others(): Promise<void> {
    while (this.#waiting > 0) await this.#turn;
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {}).finally(() => this.#waiting--);
    return mine;
  }
}

const lanes = new WeakMap<Store, Map<string, Lane>>();

function laneOf(store: Store, sessionId: string): Lane {
  const ofStore = lanes.get(store) ?? new Map<string, Lane>();
  lanes.set(store, ofStore);
  const lane = ofStore.get(sessionId) ?? new Lane();
  ofStore.set(sessionId, lane);
  return lane;
}

interface Scope {
  /** Those whose bodies are being run: a transaction that waited for itself would wait for ever. */
  readonly lanes: readonly Lane[];
  /** How many runs were stale after the body itself had appended to the session. */
  appends: number;
  hasAppended?: boolean;
}

const running = new AsyncLocalStorage<Scope>();

async function tryOnce<T>(
  scope: Scope,
  attempt: () => Promise<T>,
): Promise<{ readonly ok: true; readonly value: T } | { readonly ok: false }> {
  scope.hasAppended = false;
  try {
    return { ok: true, value: await running.run(scope, attempt) };
  } catch (error) {
    if (!(error instanceof StaleTransaction)) throw error;
    if (scope.hasAppended) scope.appends++;
    return { ok: false };
  }
}

function conflict(sessionId: string, { appends }: Scope): HoldfastError {
  const why =
    appends > 0
      ? 'its body appends to the session each time it runs; dispatch to the transaction instead'
      : `the session was appended to during each of ${MAX_RUNS} runs; keep the body short, or try again`;
  return new HoldfastError('SESSION_CONFLICT', `this transaction of session ${sessionId} cannot commit: ${why}`, {
    detail: 'sequence',
  });
}
