/**
 * Runs the sessions of a store that have work: one runner for each. Wake-ups come from requests to this server, and from a search for
 * work that other processes made or left behind.
 *
 *     wake ─▶ waiting ─▶ running ─▶ adapter.run ─┬▶ idle, suspended, failed, busy: ended
 *                ▲          ▲                    └▶ it threw: reported, tried again after a pause
 *     poll ──────┘          └── woken meanwhile: once more, also if it threw
 */
import { HoldfastError, isHoldfastError } from '../core/errors.ts';
import type { Prompt } from '../loop/define-prompt.ts';
import { resumeEvaluation } from '../loop/evaluation-decisions.ts';
import type { ProviderAdapter, RunOptions, RunResult } from '../loop/provider-adapter.ts';
import type { Lease, SessionInfo, Store } from '../ports/store.ts';
import { isDead } from '../session/process-identity.ts';
import type { AnySession } from '../session/session.ts';
import type { SessionPool } from './session-pool.ts';

/** What runs a session: an adapter, a prompt, and options of `run`. */
export interface AgentRun extends Omit<RunOptions, 'session' | 'signal' | 'wait'> {
  readonly adapter: ProviderAdapter;
  readonly prompt: Prompt<unknown>;
}

/** Chooses what runs a session; `undefined` leaves it to other processes. */
export type Agents = (session: AnySession) => AgentRun | undefined | Promise<AgentRun | undefined>;

/** What the runner of a session does, or why it failed. */
export interface RunnerStatus {
  readonly state: 'waiting' | 'running' | 'failed';
  /** The error of the last try, if it threw. A failed evaluation is in the log and not here. */
  readonly error?: { readonly code: string; readonly message: string };
  /** When a failed runner is tried again, unless something wakes it before. */
  readonly retryAt?: string;
}

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  isWokenAgain: boolean;
}

interface Failure {
  readonly error: unknown;
  readonly count: number;
  readonly retryAt: number;
  /** Wakes the runner at that time. */
  readonly timer: NodeJS.Timeout;
}

interface RunnersOptions {
  readonly store: Store;
  readonly pool: SessionPool;
  readonly agents: Agents;
  readonly maxRunners: number;
  readonly pollMs: number;
  readonly report: (error: unknown, sessionId?: string) => void;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
const PAGE = 100;
/** How long runners that were interrupted may take to end. */
const STOP_MS = 5000;

/** The runners of a server. */
export class Runners {
  readonly #options: RunnersOptions;
  readonly #running = new Map<string, Running>();
  readonly #waiting = new Set<string>();
  readonly #failures = new Map<string, Failure>();
  /** The seq after which a session was left as it is: nothing can be done until it changes. */
  readonly #left = new Map<string, number>();
  #polling: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Runs everything that was left behind, and looks for work from now on. */
  start(): void {
    if (this.#polling || this.#isClosed) return;
    this.#poll(true);
  }

  /** Something was appended that the session's runner acts on. */
  wake(id: string): void {
    if (this.#isClosed) return;
    this.#forgetFailure(id);
    this.#left.delete(id);
    const running = this.#running.get(id);
    if (running) running.isWokenAgain = true;
    else this.#enqueue(id);
  }

  status(id: string): RunnerStatus | undefined {
    const failure = this.#failures.get(id);
    const error = failure && { error: shownError(failure.error) };
    if (this.#running.has(id)) return { state: 'running', ...error };
    if (this.#waiting.has(id)) return { state: 'waiting', ...error };
    return failure && { state: 'failed', ...error, retryAt: new Date(failure.retryAt).toISOString() };
  }

  /**
   * Starts nothing more and waits for those that run. After `graceMs` they are interrupted: the evaluation is suspended, with a request to
   * resume it, so that the next runner continues it. A tool that ignores its signal is not waited for any longer.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const { timer } of this.#failures.values()) clearTimeout(timer);
    this.#waiting.clear();
    await this.#polling;
    const ended = Promise.all(Array.from(this.#running.values(), (running) => running.ended));
    if (await endsWithin(ended, graceMs)) return;
    for (const { stop } of this.#running.values()) stop.abort();
    await endsWithin(ended, STOP_MS);
  }

  #poll(isFirst: boolean): void {
    const { pollMs, report } = this.#options;
    this.#polling = this.#wakeSessionsWithWork(isFirst)
      .catch((error: unknown) => {
        if (!this.#isClosed) report(error);
      })
      .then(() => {
        if (this.#isClosed || pollMs === 0) return;
        this.#timer = setTimeout(() => this.#poll(false), pollMs);
        this.#timer.unref();
      });
  }

  async #wakeSessionsWithWork(isFirst: boolean): Promise<void> {
    const { store } = this.#options;
    let cursor: string | undefined;
    do {
      const page = await store.listSessions({ work: true, limit: PAGE, ...(cursor !== undefined && { cursor }) });
      for (const session of page.sessions) if (this.#isWorth(session, isFirst)) this.#enqueue(session.id);
      cursor = page.next;
    } while (cursor !== undefined && !this.#isClosed);
  }

  /** Whether a run could do something: no process runs the session, and it has changed since the last try. */
  #isWorth({ id, seq, work, wakeAt, lease }: SessionInfo, isFirst: boolean): boolean {
    const now = Date.now();
    if (this.#running.has(id) || (this.#failures.get(id)?.retryAt ?? 0) > now) return false;
    const isDue = wakeAt !== undefined && Date.parse(wakeAt) <= now;
    if (work === undefined && !isDue) return false;
    if (this.#left.get(id) === seq && !isDue) return false;
    return isFirst || !isLive(lease, now);
  }

  #enqueue(id: string): void {
    if (this.#isClosed || this.#running.has(id)) return;
    this.#waiting.add(id);
    this.#startWaiting();
  }

  #startWaiting(): void {
    for (const id of this.#waiting) {
      if (this.#running.size >= this.#options.maxRunners) return;
      this.#waiting.delete(id);
      const stop = new AbortController();
      // Begins with the next turn of the event loop: `ended` must be known before it ends.
      const ended = Promise.resolve().then(() => this.#runToEnd(id, stop.signal));
      this.#running.set(id, { stop, ended, isWokenAgain: false });
    }
  }

  /** Runs a session until nothing wakes it any more. Never rejects. */
  async #runToEnd(id: string, signal: AbortSignal): Promise<void> {
    const running = this.#running.get(id);
    do {
      if (running) running.isWokenAgain = false;
      try {
        await this.#run(id, signal);
      } catch (error) {
        this.#failed(id, error);
      }
    } while (running?.isWokenAgain && !this.#isClosed);
    this.#running.delete(id);
    this.#startWaiting();
  }

  async #run(id: string, signal: AbortSignal): Promise<void> {
    const { pool, agents } = this.#options;
    await pool.use(id, {}, async (session) => {
      const agent = await agents(session);
      if (!agent) {
        this.#forgetFailure(id);
        this.#left.set(id, session.seq);
        return;
      }
      const { adapter, prompt, ...options } = agent;
      const result = await adapter.run(prompt, { ...options, session, signal });
      this.#forgetFailure(id);
      if (result.status === 'busy') return;
      await session.refresh();
      if (signal.aborted) await leaveForNext(session, result);
      const isListed = session.summary?.work !== undefined || session.summary?.wakeAt !== undefined;
      if (isListed) this.#left.set(id, session.seq);
      else this.#left.delete(id);
    });
  }

  #failed(id: string, error: unknown): void {
    const before = this.#forgetFailure(id);
    if (isHoldfastError(error, 'SESSION_NOT_FOUND')) {
      // It was deleted: there is nothing left to run.
      this.#left.delete(id);
      return;
    }
    this.#options.report(error, id);
    if (this.#isClosed) return;
    const count = (before?.count ?? 0) + 1;
    const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (count - 1));
    const timer = setTimeout(() => this.#enqueue(id), delay);
    timer.unref();
    this.#failures.set(id, { error, count, retryAt: Date.now() + delay, timer });
  }

  #forgetFailure(id: string): Failure | undefined {
    const failure = this.#failures.get(id);
    clearTimeout(failure?.timer);
    this.#failures.delete(id);
    return failure;
  }
}

/** An evaluation that this server interrupted, and no person, is to be continued. */
async function leaveForNext(session: AnySession, { responses }: RunResult<unknown>): Promise<void> {
  const last = responses.at(-1);
  if (last?.reason !== 'CANCELLED') return;
  const evaluation = session.state.record.evaluations.get(last.evaluationId);
  if (evaluation?.status !== 'suspended' || evaluation.cancelRequest) return;
  await resumeEvaluation(session, { evaluationId: evaluation.id, by: 'holdfast/server' });
}

async function endsWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const isEnded = await Promise.race([ended.then(() => true), late]);
  clearTimeout(timer);
  return isEnded;
}

function isLive(lease: Lease | undefined, now: number): boolean {
  return lease !== undefined && lease.expiresAt > now && !isDead(lease.holder);
}

/** The text of any other error may hold paths and keys of this machine: `onError` has it. */
function shownError(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof HoldfastError) return { code: error.code, message: error.message };
  return {
    code: 'INTERNAL',
    message: 'the runner of this session failed; the server has reported the error to onError',
  };
}
