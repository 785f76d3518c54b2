import { hostname } from 'node:os';
import { HoldfastError } from '../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { AgentListener } from '../loop/agent/agent.ts';
import { type Agents, checkAgents } from '../loop/agent/choose-agent.ts';
import type { Clock } from '../ports/clock.ts';
import type { Doorbell } from '../ports/doorbell.ts';
import type { Store } from '../ports/store.ts';
import { contextReporter } from '../session/report-errors.ts';
import { type OpenSessionOptions, openSession } from '../session/session.ts';
import { systemClock } from '../stores/system-clock.ts';
import { healthOf } from './health.ts';
import { SessionWorker } from './session-worker.ts';
import type { Concurrency } from './waiting-sessions.ts';
import type { RunnerStatus, WorkerStats } from './worker-stats.ts';

/** Options of `createWorker`. */
export interface WorkerOptions {
  readonly store: Store;
  /** What runs sessions: `{ name: agent }`, or a function that chooses one; `undefined` leaves the session to other workers. */
  readonly agents: Agents;
  /** How many sessions may run at a time: a number for this worker (10 unless given), or limits in total and for tags. */
  readonly concurrency?: number | (Omit<Concurrency, 'worker'> & { readonly worker?: number });
  /** Notifies the worker that a session may have work. The store's own watch unless given. */
  readonly doorbell?: Doorbell;
  /** Milliseconds between two searches for what no doorbell rings for: due timers and dead workers; 1,000. */
  readonly pollMs?: number;
  /** After so many failed runs in a row the session is suspended with its error, for a person; 5. */
  readonly maxAttempts?: number;
  /** Milliseconds without an event, a streamed word or progress after which a run counts as stuck; 600,000. */
  readonly stuckAfterMs?: number;
  /** Called once for a run that is stuck. Returning `'stop'` interrupts it and leaves it suspended, for a person. By default a process warning. */
  readonly onStuck?: (stuck: { readonly sessionId: string; readonly since: string }) => unknown;
  /** Milliseconds that `stop` waits for running sessions before it interrupts them; 30,000. */
  readonly drainMs?: number;
  /** How the worker opens sessions: `slices`, `redact`, `upcasters` and so on. */
  readonly session?: Omit<OpenSessionOptions, 'store' | 'id' | 'readOnly' | 'onError'>;
  /** Names the worker in the log and in statistics; host and process id unless given. */
  readonly id?: string;
  /** Called with every event of every session that this worker runs, as it happens. */
  readonly onEvent?: AgentListener;
  /** Receives errors that no promise can carry; `sessionId` if a run of that session failed. By default a process warning. */
  readonly onError?: (error: unknown, context: { readonly sessionId?: string }) => void;
  readonly clock?: Clock;
}

const KNOWN: KnownOptions<WorkerOptions> = {
  store: true,
  agents: true,
  concurrency: true,
  doorbell: true,
  pollMs: true,
  maxAttempts: true,
  stuckAfterMs: true,
  onStuck: true,
  drainMs: true,
  session: true,
  id: true,
  onEvent: true,
  onError: true,
  clock: true,
};

/**
 * Runs sessions that have work.
 *
 * Contract: a session is run by one process at a time, whatever workers believe: its lease decides. Nothing that is sent while a session
 * runs is missed. `stop` starts nothing more, waits for running sessions up to `drainMs`, interrupts the rest so that another worker
 * continues them, and leaves the store open.
 */
export interface Worker {
  /** Begins to look for work, and keeps the process alive until `stop`. */
  start(): void;
  /** A session may have work: runs it if there is a place. */
  wake(sessionId: string): void;
  /** What this worker does with a session; undefined if nothing. */
  status(sessionId: string): RunnerStatus | undefined;
  stats(): WorkerStats;
  /** Handles `GET /health`, `/ready` and `/stats`: 200, or 503 when the worker should be restarted, or gets no new work. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  stop(options?: { readonly drainMs?: number }): Promise<void>;
  /** Drains when the process receives one of these signals: SIGTERM and SIGINT unless given. Resolves when the worker has stopped. */
  stopOn(signals?: readonly ('SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT' | 'SIGBREAK')[]): Promise<void>;
}

const LONG_MS = 2 ** 30;

/** Creates a worker: call `start`. */
export function createWorker(options: WorkerOptions): Worker {
  const settings = checkOptions(options);
  const { store, agents, clock = systemClock, drainMs = 30_000, doorbell } = options;
  const { pollMs, maxAttempts, stuckAfterMs, concurrency } = settings;
  const id = options.id ?? `${hostname()}:${process.pid}`;
  const report = contextReporter(options.onError);
  const onStuck = options.onStuck ?? warnStuck;
  const worker = new SessionWorker({
    ...{
      id,
      store,
      clock,
      agents,
      onEvent: options.onEvent,
      concurrency,
      doorbell,
      pollMs,
      maxAttempts,
      stuckAfterMs,
      onStuck,
      report,
    },
    isBackground: false,
    async use(sessionId, body) {
      const session = await openSession({
        clock,
        ...options.session,
        store,
        id: sessionId,
        onError: (error) => report(error, sessionId),
      });
      try {
        if (session.seq === 0) throw new HoldfastError('SESSION_NOT_FOUND', `there is no session ${sessionId}`);
        return await body(session);
      } finally {
        await session.close();
      }
    },
  });
  let stopping: Promise<void> | undefined;
  let keepAlive: NodeJS.Timeout | undefined;
  const stop = (given: { readonly drainMs?: number } = {}): Promise<void> => {
    stopping ??= worker.close(given.drainMs ?? drainMs).finally(() => clearInterval(keepAlive));
    return stopping;
  };
  return {
    start() {
      // A store that waits for its database has no open connection that would keep the process alive.
      if (!stopping) keepAlive ??= setInterval(() => {}, LONG_MS);
      worker.start();
    },
    wake: (sessionId) => worker.wake(sessionId),
    status: (sessionId) => worker.status(sessionId),
    stats: () => worker.stats(),
    fetch: async (request) => healthOf(request, worker.stats(), { now: clock.now(), pollMs }),
    stop,
    stopOn(signals = ['SIGTERM', 'SIGINT']) {
      return new Promise((resolve, reject) => {
        // A second signal ends the process as usual.
        const received = (): void => {
          for (const signal of signals) process.removeListener(signal, received);
          stop().then(resolve, reject);
        };
        for (const signal of signals) process.once(signal, received);
      });
    },
  };
}

interface Settings {
  readonly concurrency: Concurrency;
  readonly pollMs: number;
  readonly maxAttempts: number;
  readonly stuckAfterMs: number;
}

function checkOptions(options: WorkerOptions): Settings {
  refuseUnknownOptions('createWorker', options, KNOWN);
  if (typeof options?.store?.append !== 'function')
    refuse('createWorker needs a store: memoryStore, sqliteStore or postgresStore make one');
  checkAgents('createWorker', options.agents);
  const { concurrency: given = {}, pollMs = 1000, maxAttempts = 5, stuckAfterMs = 600_000, drainMs = 0 } = options;
  const { worker = 10, ...others } = typeof given === 'number' ? { worker: given } : given;
  const total = 'total' in others && { total: Number(others.total) };
  checkNumbers('createWorker', { concurrency: worker, pollMs, maxAttempts, stuckAfterMs, ...total });
  if (!(drainMs >= 0)) refuse('drainMs of createWorker is a number of milliseconds');
  return { concurrency: { worker, ...others }, pollMs, maxAttempts, stuckAfterMs };
}

/** Throws `INVALID_ARGUMENT` for a number below 1, or below the given minimum. */
export function checkNumbers<Numbers extends Readonly<Record<string, number>>>(
  what: string,
  numbers: Numbers,
  minimums: Readonly<Record<string, number>> = {},
): Numbers {
  for (const [name, value] of Object.entries(numbers)) {
    const least = minimums[name] ?? 1;
    if (!Number.isSafeInteger(value) || value < least)
      refuse(`${name} of ${what} is a whole number of at least ${least}`);
  }
  return numbers;
}

function refuse(why: string): never {
  throw new HoldfastError('INVALID_ARGUMENT', why);
}

function warnStuck({ sessionId, since }: { readonly sessionId: string; readonly since: string }): void {
  process.emitWarning(`the run of session ${sessionId} has been silent since ${since}`, 'HoldfastWarning');
}
