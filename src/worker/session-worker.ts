/**
 * Runs the sessions of a store that have work: one runner for each (D61). Pure functions decide (`chooseNext`, `judgeSession`,
 * `judgeFailure`, `countDiedRuns`); this class carries it out.
 *
 *     ring, wake ─▶ waiting ─▶ running ─▶ adapter.run ─┬▶ idle, suspended, failed, busy: ended
 *                     ▲          ▲                     └▶ it threw: tried again later, in the end suspended (D79)
 *     search ─────────┘          └── rung since the last look at the log: once more
 */
import { planRun } from '../core/plan/run-plan.ts';
import type { AgentListener } from '../loop/agent/agent.ts';
import { type Agents, chooseAgent, notChosen } from '../loop/agent/choose-agent.ts';
import { runLeft } from '../loop/agent/run-agent.ts';
import type { Clock } from '../ports/clock.ts';
import type { Doorbell } from '../ports/doorbell.ts';
import type { SessionInfo, Store } from '../ports/store.ts';
import type { AnySession } from '../session/session.ts';
import { judgeFailure, retryDelay, shownError } from './back-off.ts';
import { findDiedRuns, RunnersDied } from './died-runs.ts';
import { leaveForNext, suspendSession } from './leave-session.ts';
import { SearchLoop } from './search-loop.ts';
import {
  type Concurrency,
  countTags,
  type Waiting,
  type WaitingSession,
  WaitingSessions,
  wasTaken,
} from './waiting-sessions.ts';
import { type SessionElsewhere, WorkSearch } from './work-search.ts';
import type { RunnerStatus, WorkerStats } from './worker-stats.ts';

export interface SessionWorkerOptions {
  readonly id: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly agents: Agents;
  readonly onEvent: AgentListener | undefined;
  /** Opens a session for the time of one call, read up. */
  readonly use: <T>(id: string, body: (session: AnySession) => Promise<T>) => Promise<T>;
  readonly concurrency: Concurrency;
  /** The store's own watch unless given. */
  readonly doorbell?: Doorbell | undefined;
  /** 0: no searches after the first. */
  readonly pollMs: number;
  /** Searches do not keep the process alive. */
  readonly isBackground: boolean;
  /** After so many failures in a row the session is suspended. */
  readonly maxAttempts: number;
  readonly stuckAfterMs: number;
  readonly onStuck: (stuck: { readonly sessionId: string; readonly since: string }) => unknown;
  readonly report: (error: unknown, sessionId?: string) => void;
}

interface Running extends WaitingSession {
  /** How it waited. */
  readonly from: Waiting;
  readonly stop: AbortController;
  readonly since: number;
  ended: Promise<void>;
  activeAt: number;
  isStuck: boolean;
  /** Rung since the session's log was last looked at. */
  isRung: boolean;
  /** The last seq that the current attempt has seen. */
  seq: number;
}

interface Failure {
  readonly error: unknown;
  readonly count: number;
  readonly retryAt: number;
  readonly cancelRetry: () => void;
}

/** How many sessions wait for each place while other workers run the same backlog. */
const ROOM = 5;

/** How long runners that were interrupted may take to end. */
const STOP_MS = 5000;

/** The sessions that a process runs. */
export class SessionWorker {
  readonly #options: SessionWorkerOptions;
  readonly #search: WorkSearch;
  readonly #searches: SearchLoop;
  readonly #running = new Map<string, Running>();
  readonly #waiting: WaitingSessions;
  readonly #failures = new Map<string, Failure>();
  /** The seq at which a session was left as it is, and when: nothing can be done until it changes, or until its time comes. */
  readonly #left = new Map<string, { readonly seq: number; readonly at: number }>();
  readonly #counts = { runs: 0, failures: 0, suspended: 0, rings: 0, searches: 0 };
  #elsewhere: readonly SessionElsewhere[] = [];
  #state: WorkerStats['state'] = 'new';
  #startedAt = 0;
  #doorbell: Promise<(() => unknown) | undefined> | undefined;

  constructor(options: SessionWorkerOptions) {
    this.#options = options;
    const { store, clock, concurrency } = options;
    this.#waiting = new WaitingSessions(ROOM * concurrency.worker);
    this.#search = new WorkSearch(store, clock, { isWhole: countsElsewhere(concurrency) });
    this.#searches = new SearchLoop({ ...options, search: (isFirst) => this.#findWork(isFirst) });
  }

  /** Runs everything that was left behind, and looks for work from now on. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    this.#startedAt = this.#options.clock.now();
    this.#listen();
    this.#searches.start();
  }

  /** Something was appended that the session's runner acts on. */
  wake(id: string): void {
    if (this.#isClosed) return;
    this.#counts.rings++;
    this.#forgetFailure(id);
    this.#left.delete(id);
    this.#waiting.rung(id);
    const running = this.#running.get(id);
    if (running) running.isRung = true;
    else if (countsElsewhere(this.#options.concurrency)) this.#searches.ring();
    else this.#enqueue({ id, tags: [] });
  }

  status(id: string): RunnerStatus | undefined {
    const failure = this.#failures.get(id);
    const error = failure && { error: shownError(failure.error) };
    if (this.#running.has(id)) return { state: 'running', ...error };
    if (this.#waiting.has(id)) return { state: 'waiting', ...error };
    return failure && { state: 'failed', ...error, retryAt: iso(failure.retryAt) };
  }

  stats(): WorkerStats {
    const { at, error } = this.#searches.last ?? {};
    return {
      id: this.#options.id,
      state: this.#state,
      ...(this.#startedAt > 0 && { startedAt: iso(this.#startedAt) }),
      running: Array.from(this.#running.values(), ({ id, since, activeAt, isStuck }) => ({
        sessionId: id,
        since: iso(since),
        activeAt: iso(activeAt),
        ...(isStuck && { isStuck: true as const }),
      })),
      waiting: this.#waiting.size,
      failures: Array.from(this.#failures, ([sessionId, failure]) => ({
        sessionId,
        attempts: failure.count,
        retryAt: iso(failure.retryAt),
        error: shownError(failure.error),
      })),
      elsewhere: this.#elsewhere.map(({ sessionId, lease }) => ({ sessionId, lease })),
      counts: { ...this.#counts },
      ...(at !== undefined && { search: { at: iso(at), ...(error !== undefined && { error: shownError(error) }) } }),
    };
  }

  /**
   * Starts nothing more and waits for those that run. After `graceMs` they are interrupted: the evaluation is suspended, with a request to
   * resume it, so that the next runner continues it. A tool that ignores its signal is not waited for any longer.
   */
  async close(graceMs: number): Promise<void> {
    this.#state = 'draining';
    this.#waiting.clear();
    for (const id of [...this.#failures.keys()]) this.#forgetFailure(id);
    const stopListening = await this.#doorbell;
    await stopListening?.();
    await this.#searches.stop();
    const ended = Promise.all(Array.from(this.#running.values(), (running) => running.ended));
    if (!(await this.#endsWithin(ended, graceMs))) {
      for (const { stop } of this.#running.values()) stop.abort();
      await this.#endsWithin(ended, STOP_MS);
    }
    this.#state = 'stopped';
  }

  get #isClosed(): boolean {
    return this.#state === 'draining' || this.#state === 'stopped';
  }

  #listen(): void {
    const { doorbell, store, report } = this.#options;
    const ring = (sessionId?: string): void => {
      if (sessionId === undefined) this.#searches.ring();
      else this.wake(sessionId);
    };
    // Without a doorbell the store's own watch rings; what that misses, searches find.
    const listen = async () => (doorbell ? doorbell.listen({ ring, onError: report }) : store.watchWork?.(ring));
    this.#doorbell = listen().catch((error: unknown) => void report(error));
  }

  async #findWork(isFirst: boolean): Promise<void> {
    this.#counts.searches++;
    const found = await this.#search.next((id) => this.#running.has(id), { takesHeld: isFirst });
    this.#elsewhere = found.elsewhere;
    // Listings begin with the newest activity; the session that has waited longest is started first.
    this.#waiting.addFound(found.ready.toReversed().filter((session) => this.#isNews(session)));
    this.#startWaiting();
    this.#watchStuck();
  }

  /** Whether a run could do something: no failure is being waited for, and the session has changed since it was left as it is. */
  #isNews({ id, seq, wakeAt }: SessionInfo): boolean {
    if (this.#waiting.has(id) || this.#running.has(id)) return false;
    const now = this.#options.clock.now();
    if ((this.#failures.get(id)?.retryAt ?? 0) > now) return false;
    const left = this.#left.get(id);
    const isDue = wakeAt !== undefined && Date.parse(wakeAt) <= now;
    return left?.seq !== seq || (isDue && Date.parse(wakeAt) > left.at);
  }

  #leave({ id, seq }: AnySession, at: number): void {
    this.#left.set(id, { seq, at });
  }

  #enqueue(session: WaitingSession): void {
    if (this.#isClosed || this.#running.has(session.id)) return;
    this.#waiting.add(session);
    this.#startWaiting();
  }

  #startWaiting(): void {
    const { concurrency, clock } = this.#options;
    while (!this.#isClosed) {
      const tags = countTags([...this.#running.values(), ...this.#elsewhere]);
      const load = { here: this.#running.size, elsewhere: this.#elsewhere.length, tags };
      const next = this.#waiting.take(load, concurrency);
      if (this.#waiting.hasLetGo && this.#waiting.size < concurrency.worker) this.#searches.ring();
      if (!next) return;
      const now = clock.now();
      const running: Running = {
        id: next.id,
        tags: next.tags,
        from: next,
        stop: new AbortController(),
        since: now,
        activeAt: now,
        isStuck: false,
        isRung: false,
        seq: 0,
        ended: Promise.resolve(),
      };
      this.#running.set(next.id, running);
      // Begins with the next turn of the event loop: `ended` must be known before it ends.
      running.ended = Promise.resolve().then(() => this.#runToEnd(running));
    }
  }

  /** Runs a session until nothing rings for it any more. Never rejects. */
  async #runToEnd(running: Running): Promise<void> {
    const { id } = running;
    try {
      const isTaken = await wasTaken(this.#options.store, running.from);
      if (isTaken) this.#waiting.contested();
      for (let isAgain = !isTaken || running.isRung; isAgain; ) {
        running.isRung = false;
        isAgain = (await this.#run(running)) || (await this.#hasNews(running));
      }
    } catch (error) {
      await this.#failed(running, error);
    } finally {
      this.#running.delete(id);
      if (running.isRung) this.#enqueue({ id, tags: running.tags }); // since the last look
      this.#startWaiting();
    }
  }

  /** One call of `run`. Returns true if the session has work again: something was appended when `run` had let go of it. */
  async #run(running: Running): Promise<boolean> {
    const { use, agents, onEvent, clock, store } = this.#options;
    const { id, stop } = running;
    return use(id, async (session) => {
      running.seq = session.seq;
      const at = clock.now(); // whatever becomes due from here on may have been missed
      // Workers have given up on it, or nothing is to be done yet: what comes next may be for another agent.
      const isIdle = planRun(session.state, { now: at, tried: new Set() }).do === 'idle';
      const agent = session.summary?.suspended || isIdle ? undefined : await chooseAgent(agents, session);
      if (!agent) {
        this.#forgetFailure(id);
        this.#leave(session, at);
        return false;
      }
      await this.#refuseDied(session);
      const unwatch = store.watch(id, () => {
        running.activeAt = clock.now();
        running.isStuck = false;
      });
      const result = await runLeft(agent, { session, signal: stop.signal }, onEvent).finally(unwatch);
      this.#counts.runs++;
      this.#forgetFailure(id);
      if (result.status === 'busy') {
        this.#waiting.contested();
        return false;
      }
      running.isRung = false; // rings up to here are about what is read now
      await session.refresh();
      if (result.status === 'left' && session.seq === running.seq) throw notChosen(session, agent);
      if (stop.signal.aborted && this.#isClosed) await leaveForNext(session, result);
      const { work, wakeAt } = session.summary ?? {};
      const hasWork = work !== undefined && session.seq !== running.seq && !stop.signal.aborted;
      running.seq = session.seq;
      if (work !== undefined || wakeAt !== undefined) this.#leave(session, at);
      else this.#left.delete(id);
      return hasWork;
    });
  }

  /** Throws if runners of the session died one after the other and it has not rested since. */
  async #refuseDied(session: AnySession): Promise<void> {
    const { store, clock, maxAttempts } = this.#options;
    const rested = this.#failures.get(session.id)?.error;
    const died = await findDiedRuns(store, session, { now: clock.now(), maxAttempts });
    const hasRested = rested instanceof RunnersDied && rested.seq === session.seq;
    if (died && (died.count >= maxAttempts || !hasRested)) throw died;
  }

  async #failed(running: Running, error: unknown): Promise<void> {
    const { clock, report, maxAttempts } = this.#options;
    const { id } = running;
    this.#counts.failures++;
    const verdict = judgeFailure(error);
    if (verdict === 'forget') {
      this.#forgetFailure(id);
      this.#left.delete(id);
      return;
    }
    report(error, id);
    if (this.#isClosed) return;
    if (await this.#hasNews(running).catch(() => false)) {
      this.#waiting.add({ id, tags: running.tags }); // what was sent while it failed is a reason to try again at once
      return;
    }
    const count = error instanceof RunnersDied ? error.count : (this.#failures.get(id)?.count ?? 0) + 1;
    if (verdict === 'count' && count >= maxAttempts && (await this.#giveUp(running, error, count))) return;
    this.#forgetFailure(id);
    const delay = retryDelay(error instanceof RunnersDied ? count - 1 : count);
    const again = { id, tags: running.tags };
    const cancelRetry = clock.after(delay, () => this.#enqueue(again), { background: true });
    this.#failures.set(id, { error, count, retryAt: clock.now() + delay, cancelRetry });
  }

  /** Whether the session was rung for, and its log has grown since this runner looked at it: rings come late and twice. */
  async #hasNews(running: Running): Promise<boolean> {
    if (!running.isRung || this.#isClosed) return false;
    running.isRung = false;
    return (await this.#options.store.head(running.id)).seq > running.seq;
  }

  /** Suspends the session, unless something has happened since. */
  async #giveUp({ id, seq }: Running, error: unknown, attempts: number): Promise<boolean> {
    const { use, report, id: by } = this.#options;
    try {
      const isSuspended = await use(id, (session) => suspendSession(session, { error, attempts, seq, by }));
      if (!isSuspended) return false;
      this.#forgetFailure(id);
      this.#counts.suspended++;
      return true;
    } catch (problem) {
      report(problem, id);
      return false;
    }
  }

  #forgetFailure(id: string): void {
    this.#failures.get(id)?.cancelRetry();
    this.#failures.delete(id);
  }

  /** Reports sessions that have been silent for too long. */
  #watchStuck(): void {
    const { clock, stuckAfterMs, onStuck } = this.#options;
    const now = clock.now();
    for (const running of this.#running.values()) {
      if (running.isStuck || now - running.activeAt < stuckAfterMs) continue;
      running.isStuck = true;
      if (onStuck({ sessionId: running.id, since: iso(running.activeAt) }) === 'stop') running.stop.abort();
    }
  }

  async #endsWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
    let cancel: () => void = () => {};
    const late = new Promise<false>((resolve) => {
      cancel = this.#options.clock.after(ms, () => resolve(false));
    });
    const isEnded = await Promise.race([ended.then(() => true), late]);
    cancel();
    return isEnded;
  }
}

/** Whether a limit holds for all workers: then every start needs to know what the others run. */
function countsElsewhere({ total, tags }: Concurrency): boolean {
  return total !== undefined || tags !== undefined;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
