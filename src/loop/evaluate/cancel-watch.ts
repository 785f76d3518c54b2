import type { CancelRequest } from '../../core/fold/evaluations.ts';
import type { AnySession } from '../../session/session.ts';
import type { Aborter } from './aborter.ts';
import { Suspension } from './suspension.ts';

/** How long after a commit the log is read: many commits, most of them of this process, cost one read. */
const READ_AFTER_MS = 100;

/** A reason longer than this is cut in the message of the suspension; the request has all of it. */
const MAX_SHOWN = 500;

/** The suspension that a request to cancel leads to. */
export function cancelled({ by, reason }: CancelRequest): Suspension {
  const who = by === undefined ? '' : ` by ${shown(by)}`;
  const why = reason === undefined ? '' : ` (${shown(reason)})`;
  return new Suspension('CANCELLED', `it was cancelled${who}${why}; resume it to continue`);
}

function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Stops the evaluations that a process runs when the log has a request to cancel them (D73). The store announces commits of every
 * process; the log is then read within `READ_AFTER_MS`. `check` of the aborter, before each request and each effect, also sees what an
 * append has read up.
 *
 *     commit of any process ──▶ timer ──▶ refresh ──▶ look ──▶ the aborter of the named evaluation aborts
 *     check() before an effect ──────────────────────▶ look
 */
export class CancelWatch {
  /** The last seq whose requests do not count: they are overruled by the resume of this run, or obeyed when it begins. */
  readonly since: number;
  readonly #session: AnySession;
  readonly #running = new Map<string, (reason: Suspension) => void>();
  readonly #unwatch: () => void;
  #looked: number;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  /** Begins to watch, and reads what was committed since the session was read up. */
  constructor(session: AnySession) {
    this.#session = session;
    this.since = session.seq;
    this.#looked = session.seq;
    this.#unwatch = session.store.watch(session.id, () => this.#readSoon());
    this.#readSoon();
  }

  /** The aborter of an evaluation that runs here. A child's aborts with its parent's, and may abort alone. */
  aborterOf(evaluationId: string, aborter: Aborter, { isChild }: { readonly isChild: boolean }): Aborter {
    if (!isChild) {
      this.#running.set(evaluationId, aborter.abort);
      return { ...aborter, check: () => this.#check(aborter.signal) };
    }
    const controller = new AbortController();
    const signal = AbortSignal.any([aborter.signal, controller.signal]);
    this.#running.set(evaluationId, (reason) => controller.abort(reason));
    return { ...aborter, signal, check: () => this.#check(signal) };
  }

  /** The evaluation has ended or is suspended. */
  forget(evaluationId: string): void {
    this.#running.delete(evaluationId);
  }

  stop(): void {
    this.#stopped = true;
    this.#unwatch();
    this.#cancelTimer?.();
  }

  #check(signal: AbortSignal): void {
    this.#look();
    signal.throwIfAborted();
  }

  /** Looks at what is folded. Costs nothing while nothing was appended, and the evaluations that run here otherwise. */
  #look(): void {
    const { seq, state } = this.#session;
    if (seq === this.#looked) return;
    this.#looked = seq;
    for (const [evaluationId, stop] of this.#running) {
      const request = state.record.evaluations.get(evaluationId)?.cancelRequest;
      if (request && request.seq > this.since) stop(cancelled(request));
    }
  }

  #readSoon(): void {
    if (this.#stopped) return;
    this.#cancelTimer ??= this.#session.clock.after(READ_AFTER_MS, () => void this.#read(), { background: true });
  }

  async #read(): Promise<void> {
    this.#cancelTimer = undefined;
    try {
      await this.#session.refresh();
      this.#look();
    } catch {
      this.#readSoon(); // the store is busy for the moment, or the run is about to end
    }
  }
}
