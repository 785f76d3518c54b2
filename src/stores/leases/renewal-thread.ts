import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../ports/clock.ts';
import type { KeepLeaseOptions, LeaseKeeper } from '../../ports/store.ts';
import { lateModule } from '../late-module.ts';
import { DEFAULT_MAX_BLOCKED_MS } from './keep-lease.ts';
import { type LeaseTerm, remainingForHolder } from './lease-rules.ts';
import { RENEWAL_LOOP } from './renewal-loop.ts';

/** Where in the shared memory of a lease is what: its end by both clocks, and when the event loop last ran. */
const CELLS = { expiresAt: 0, deadline: 1, checkedIn: 2 } as const;

/** The part of the thread that belongs to one kind of store: plain JavaScript that `renewal-loop.ts` describes, and its data. */
export interface RenewalPart {
  readonly source: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The environment of the thread; empty unless given. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A lease as its store renews it in the main thread. */
export interface ThreadedLease {
  readonly sessionId: string;
  readonly fence: number;
  /** When it ends now; undefined when it is another's. */
  readonly term: LeaseTerm | undefined;
  /** Renews it; undefined when it is another's. */
  renew(): Promise<LeaseTerm | undefined>;
}

/**
 * Renews the leases of a store in a thread with a connection of its own, so that a tool that blocks the event loop does not lose
 * its session (D76). Started with the first lease, and does not keep the process alive.
 *
 *     main thread                                shared memory of each lease          thread
 *     timer ──"the event loop runs"─────────────▶ checkedIn ──────────────────────────▶ stale: the process hangs, renews no more
 *     before an effect: is time left? ◀────────── expiresAt, deadline ◀──────────────── every third of the ttl: UPDATE sessions
 *
 * The main thread's timer also renews when the thread has not: a runtime may allow no threads.
 */
export class RenewalThread {
  readonly #part: RenewalPart;
  readonly #clock: Clock;
  readonly #keepers = new Map<number, { readonly lost: () => void; readonly stop: () => void }>();
  #worker: Worker | undefined;
  #hasStarted = false;
  #lastId = 0;

  constructor(part: RenewalPart, clock: Clock) {
    this.#part = part;
    this.#clock = clock;
  }

  keep(lease: ThreadedLease, options: KeepLeaseOptions): LeaseKeeper {
    const { ttlMs, maxBlockedMs = DEFAULT_MAX_BLOCKED_MS, onLost } = options;
    const clock = this.#clock;
    const id = ++this.#lastId;
    const shared = new BigInt64Array(new SharedArrayBuffer(Object.keys(CELLS).length * 8));
    const put = (cell: number, ms: number): bigint => Atomics.store(shared, cell, BigInt(Math.floor(ms)));
    const get = (cell: number): number => Number(Atomics.load(shared, cell));
    let known: LeaseTerm = ENDED;
    const publish = (term: LeaseTerm): void => {
      const { expiresAt, deadline = expiresAt } = term;
      known = { expiresAt, deadline };
      put(CELLS.expiresAt, expiresAt);
      put(CELLS.deadline, deadline);
    };
    const checkIn = (): void => void put(CELLS.checkedIn, clock.monotonic?.() ?? 0);
    /** A lease that is renewed ends later than was known: the shared memory is read when what is known runs out. */
    const remainingMs = (): number => {
      const left = remainingForHolder(known, clock);
      if (left > ttlMs / 2) return left;
      known = { expiresAt: get(CELLS.expiresAt), deadline: get(CELLS.deadline) };
      return remainingForHolder(known, clock);
    };
    let cancel: () => void = () => {};
    const stop = (): void => {
      cancel();
      if (this.#keepers.delete(id)) this.#worker?.postMessage({ stop: id });
    };
    const lost = (): void => {
      if (!this.#keepers.has(id)) return;
      stop();
      publish(ENDED);
      onLost();
    };
    const renew = async (): Promise<boolean> => {
      const term = await lease.renew();
      if (term) publish(term);
      else lost();
      return term !== undefined;
    };
    const schedule = (): void => {
      cancel = clock.after(Math.min(ttlMs, maxBlockedMs) / 3, look, { background: true });
    };
    const look = (): void => {
      checkIn();
      schedule();
      if (remainingMs() < ttlMs / 2) renew().catch(() => {}); // the thread is late; a store that cannot be reached may be later
    };

    publish(lease.term ?? ENDED);
    checkIn();
    schedule();
    this.#keepers.set(id, { lost, stop });
    const { sessionId, fence } = lease;
    this.#start()?.postMessage({ keep: { id, sessionId, fence, ttlMs, maxBlockedMs, shared } });
    return { remainingMs, renew, stop };
  }

  /** Ends the thread and closes its connection. */
  async close(): Promise<void> {
    for (const { stop } of [...this.#keepers.values()]) stop();
    const worker = this.#worker;
    if (!worker) return;
    worker.ref();
    const ended = new Promise((end) => worker.once('exit', end));
    worker.postMessage({ close: true });
    await ended;
  }

  #start(): Worker | undefined {
    if (this.#hasStarted) return this.#worker;
    this.#hasStarted = true;
    try {
      const { source, data, env = {} } = this.#part;
      // Nothing of the process's own options: a loader that they name would have to load in the thread, too.
      const options = { eval: true, execArgv: [], env: { ...env }, workerData: { ...data, cells: CELLS } };
      const threads = lateModule('node:worker_threads');
      this.#worker = new threads.Worker(source + RENEWAL_LOOP, options);
    } catch {
      return undefined; // the runtime allows no threads: the timers renew
    }
    this.#worker.on('message', ({ lost }: { readonly lost: number }) => this.#keepers.get(lost)?.lost());
    const gone = (): void => {
      this.#worker = undefined;
    };
    this.#worker.on('error', gone).on('exit', gone);
    this.#worker.unref(); // after the listeners: they would make the process wait for messages
    return this.#worker;
  }
}

/** The term of a lease that is not held. */
const ENDED: LeaseTerm = { expiresAt: 0, deadline: 0 };
