import { messageOf } from '../../core/errors.ts';
import { evaluationSummaries } from '../../core/fold/evaluation-messages.ts';
import type { SummaryRequest } from '../../history/history-manager.ts';
import { PlanChanged } from '../calls/call-guards.ts';
import { currentEvaluation, type Run } from '../evaluate/run.ts';
import { makeSummary } from './make-summary.ts';

/**
 * The summaries of one run: those that a request waits for, and those that are made in the background before a request needs them
 * (D56). Each is made by one model request at a time, and none is recorded once the end of the evaluation may be in the log.
 *
 *     begin ──▶ in the background ──▶ recorded
 *                 ▲ │ fails, or is aborted at the end of the run
 *     make ──waits┘ └──▶ made by the request that needs it, in this run or another
 */
export class RunSummaries {
  readonly #making = new Map<string, Promise<void>>();
  /** Keys that failed in the background: only a request that needs one tries again. */
  readonly #failed = new Set<string>();
  readonly #end = new AbortController();
  #signal: AbortSignal | undefined;
  #problems: string[] = [];

  /**
   * Makes what the next request needs. A summary that is being made in the background is waited for and not made twice. Returns early
   * when a message was erased since `erasedSeq`: what is needed is then to be chosen again.
   */
  async make(run: Run, needs: readonly SummaryRequest[], erasedSeq: number | undefined): Promise<void> {
    for (const need of needs) {
      const { key } = need;
      await this.#making.get(key);
      if (run.session.state.erasedSeq !== erasedSeq) return;
      if (evaluationSummaries(run.session.state.record, currentEvaluation(run))(key) === undefined) {
        const problem = await problemOf(makeSummary(run, need, { signal: run.aborter.signal, erasedSeq }));
        if (problem !== undefined) this.#problems.push(`summary-failed: ${problem}; the request was made without it`);
      }
      run.aborter.check(); // a provider's failure is not worth stopping for; a deadline or another holder is
    }
  }

  /** Begins summaries that a later request will need. Returns at once; a failure is reported by `takeProblems`. */
  begin(run: Run, needs: readonly SummaryRequest[], erasedSeq: number | undefined): void {
    for (const need of needs) {
      const { key } = need;
      if (this.#end.signal.aborted || this.#making.has(key) || this.#failed.has(key)) continue;
      this.#signal ??= AbortSignal.any([run.aborter.signal, this.#end.signal]);
      const making = makeSummary(run, need, { signal: this.#signal, erasedSeq, background: true });
      this.#making.set(key, this.#finish(key, making));
    }
  }

  /** What went wrong since the last call, as lines of the `history/curated` event. */
  takeProblems(): readonly string[] {
    const problems = this.#problems;
    if (problems.length > 0) this.#problems = [];
    return problems;
  }

  /**
   * Aborts what is still being made. Call it before the end of the evaluation is appended: from then on nothing is recorded but what
   * was on its way into the log. Resolves when that is done.
   */
  async close(): Promise<void> {
    this.#end.abort();
    if (this.#making.size > 0) await Promise.all(this.#making.values());
  }

  async #finish(key: string, making: Promise<void>): Promise<void> {
    const problem = await problemOf(making);
    this.#making.delete(key);
    if (problem === undefined || this.#signal?.aborted) return;
    this.#failed.add(key);
    this.#problems.push(`summary-failed: ${problem}; it is made when a request needs it`);
  }
}

/** Why a summary was not made; undefined when it was, or when the log no longer wants it. */
async function problemOf(making: Promise<void>): Promise<string | undefined> {
  try {
    await making;
    return undefined;
  } catch (error) {
    return error instanceof PlanChanged ? undefined : messageOf(error);
  }
}
